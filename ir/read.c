// Programs of the text form (docs/ir.md has the grammar): recursive descent, one error at most.
// SPDX-License-Identifier: MIT
#include "ir/read.h"

#include <string.h>

static void buffer_tail(Reader *r, Buffer *b) {
  for (;;) {
    int n;
    Span at = read_here(r);
    if (b->map && read_map_word(r, b)) continue;
    if (read_accept(r, "strides")) {
      b->strides = read_list(r, &n);
      for (int i = 0; i < n; i++) b->strides[i] = ex_cast(r->arena, DT_INDEX, b->strides[i]);
      if (n != b->ndim)
        read_fail(r, DIAG_IR_COUNT, at, b->name,
                  arena_printf(r->arena, "has %d dimensions, but %d strides", b->ndim, n));
    } else if (read_accept(r, "of")) {
      b->base = read_buffer_name(r);
    } else if (read_accept(r, "align")) {
      b->align = (int)read_int(r, 1, 1 << 20);
    } else if (read_accept(r, "safe")) {
      b->safe = ex_cast(r->arena, b->dtype, read_expr(r, PREC_UNARY));
    } else if (read_accept(r, "offset")) {
      b->offset = read_int(r, 0, INT32_MAX);
    } else if (read_accept(r, "places")) {
      b->places = read_places(r);
    } else if (read_is(r, "layout")) {
      b->layout = read_layout(r);
    } else {
      return;
    }
    if (r->failed) return;
  }
}

// type [shape] and what may follow
static Buffer *buffer(Reader *r, const char *name, Scope scope, Span at) {
  DType t = read_type(r);
  int n;
  Expr **shape = read_list(r, &n);
  Buffer *b = buf_new(r->arena, name, t, scope, shape, n, at);
  if (scope == SC_MAP) read_map(r, b);
  buffer_tail(r, b);
  return b;
}

static void param(Reader *r, Program *p) {
  Param q = {.role = ROLE_IN};
  Span at = read_here(r);
  q.name = read_name(r, "a name");
  const char *name = q.name;
  read_expect(r, ":");
  if (read_accept(r, "tensor")) {
    q.kind = PARAM_TENSOR;
    q.buf = buffer(r, name, SC_GLOBAL, at);
  } else {
    q.kind = PARAM_SCALAR;
    q.var = var_new(r->arena, name, read_type(r), VAR_SCALAR, at);
  }
  if (q.kind == PARAM_TENSOR && read_accept(r, "role")) {
    int role = 0;
    while (role <= ROLE_INOUT && !read_is(r, role_words[role])) role++;
    if (role > ROLE_INOUT) read_expected(r, "'in', 'out' or 'inout'");
    else q.role = (ParamRole)role;
    read_next(r);
  }
  if (read_accept(r, "name")) q.name = read_string(r);
  q.span = read_span(r, at);
  read_declare(r, at, name, q.var, q.buf);
  vec_push(r->arena, &p->params, q);
}

static void workspace(Reader *r, Program *p) {
  Span at = read_here(r);
  const char *name = read_name(r, "a name");
  read_expect(r, ":");
  Buffer *b = buffer(r, name, SC_GLOBAL, at);
  b->span = read_span(r, at);
  read_declare(r, at, name, NULL, b);
  vec_push(r->arena, &p->workspaces, b);
}

static void size(Reader *r, Program *p) {
  Span at = read_here(r);
  const char *name = read_name(r, "a name");
  Var *v = var_new(r->arena, name, DT_INDEX, VAR_SIZE, at);
  read_declare(r, at, name, v, NULL);
  vec_push(r->arena, &p->sizes, v);
}

// Facts come after the kernels they speak of: those on the device see every name declared so far.
static void fact(Reader *r, Program *p, uint32_t lo) {
  int mark = r->scope.len;
  for (int i = 0; i < map_len(r->ever); i++) {
    const Binding *b = map_value(r->ever, i);
    if (!read_lookup(r, b->name)) vec_push(r->arena, &r->scope, *b);
  }
  Fact f = {.cond = ex_cast(r->arena, DT_BOOL, read_expr(r, 0))};
  r->scope.len = mark;
  f.on_device = read_accept(r, "device");
  if (read_accept(r, "why")) f.why = read_string(r);
  f.span = read_span(r, read_since(r, lo));
  vec_push(r->arena, &p->facts, f);
}

static Var *kernel_var(Reader *r, VarKind kind, int axis) {
  Span at = read_here(r);
  const char *name = read_name(r, "a name");
  if (!strcmp(name, "_")) return NULL;
  Var *v = var_new(r->arena, name, DT_INDEX, kind, at);
  v->axis = axis;
  read_declare(r, at, name, v, NULL);
  return v;
}

static void grid(Reader *r, Kernel *k) {
  int n;
  Span at = read_here(r);
  Expr **list = read_list(r, &n);
  if (n < 1 || n > 3)
    read_fail(r, DIAG_IR_COUNT, at, "grid",
              arena_printf(r->arena, "has %d extents, not 1 to 3", n));
  for (int i = 0; i < n && i < 3; i++) k->grid[i] = ex_cast(r->arena, DT_INDEX, list[i]);
}

static void raster(Reader *r, Kernel *k) {
  k->raster_panel = (int)read_int(r, 0, INT32_MAX);
  k->raster_column = read_is(r, "column");
  if (!read_accept(r, "column")) read_expect(r, "row");
}

static void hint(Reader *r, Kernel *k) {
  Hint h = {read_string(r), 0};
  h.value = read_int(r, 0, HINT_MOST);
  vec_push(r->arena, &k->hints, h);
}

static void blocks(Reader *r, Kernel *k) {
  read_expect(r, "[");
  for (int i = 0; i < 3; i++) {
    if (i && !read_accept(r, ",")) break;
    k->block[i] = kernel_var(r, VAR_BLOCK, i);
  }
  read_expect(r, "]");
}

static bool kernel_buffer(Reader *r, Kernel *k) {
  for (int s = SC_GLOBAL; s <= SC_MAP; s++) {
    if (!read_accept(r, scope_words[s])) continue;
    Span at = read_here(r);
    const char *name = read_name(r, "a name");
    read_expect(r, ":");
    Buffer *b = buffer(r, name, (Scope)s, at);
    b->span = read_span(r, at);
    read_declare(r, at, name, NULL, b);
    vec_push(r->arena, &k->buffers, b);
    return true;
  }
  return false;
}

static void kernel_items(Reader *r, Kernel *k) {
  while (!r->failed && !k->body) {
    if (kernel_buffer(r, k)) continue;
    if (read_accept(r, "level")) {
      k->level = read_is(r, "thread") ? LEVEL_THREAD : LEVEL_TILE;
      if (!read_accept(r, "thread")) read_expect(r, "tile");
    } else if (read_accept(r, "grid")) {
      grid(r, k);
    } else if (read_accept(r, "threads")) {
      k->threads = (int)read_int(r, 1, 1 << 20);
    } else if (read_accept(r, "block")) {
      blocks(r, k);
    } else if (read_accept(r, "thread")) {
      k->thread = kernel_var(r, VAR_THREAD, 0);
    } else if (read_accept(r, "workers")) {
      k->workers = kernel_var(r, VAR_WORKERS, 0);
    } else if (read_accept(r, "team")) {
      k->team = kernel_var(r, VAR_TEAM, 0);
      read_expect(r, "of");
      k->teams = (int)read_int(r, 2, 8);
    } else if (read_accept(r, "raster")) {
      raster(r, k);
    } else if (read_accept(r, "hint")) {
      hint(r, k);
    } else if (read_accept(r, "smem")) {
      k->smem_bytes = read_int(r, 0, INT32_MAX);
    } else if (read_accept(r, "cluster")) {
      read_ints(r, k->cluster, 3, 1, 16);
    } else if (read_accept(r, "launch")) {
      k->launch_threads = (int)read_int(r, 1, 1 << 20);
      if (read_accept(r, "blocks")) k->min_blocks = (int)read_int(r, 1, 64);
    } else if (read_accept(r, "body")) {
      k->body = read_block(r);
    } else {
      read_expected(r, "a line of a kernel, such as 'threads' or 'body'");
    }
  }
}

static void kernel(Reader *r, Program *p, Span at) {
  int mark = r->scope.len;
  Kernel *k = NEW(r->arena, Kernel);
  k->level = LEVEL_TILE;
  k->threads = 128;
  for (int i = 0; i < 3; i++) k->grid[i] = ex_index(r->arena, 1);
  k->name = read_name(r, "a name");
  read_expect(r, "{");
  kernel_items(r, k);
  if (!k->body) k->body = st_block(r->arena, at);
  if (!k->thread) k->thread = var_new(r->arena, "tid", DT_INDEX, VAR_THREAD, at);
  read_expect(r, "}");
  k->span = read_span(r, at);
  r->scope.len = mark;
  vec_push(r->arena, &p->kernels, k);
}

static void program(Reader *r, Program *p) {
  read_expect(r, "program");
  p->symbol = read_name(r, "the program's name");
  if (read_accept(r, "file")) p->file = read_string(r);
  if (read_accept(r, "bindings")) p->bindings = read_string(r);
  while (!r->failed && r->tok.kind != TOK_END) {
    Span at = read_here(r);
    if (read_accept(r, "size")) size(r, p);
    else if (read_accept(r, "param")) param(r, p);
    else if (read_accept(r, "source")) vec_push(r->arena, &p->sources, read_string(r));
    else if (read_accept(r, "workspace")) workspace(r, p);
    else if (read_accept(r, "kernel")) kernel(r, p, at);
    else if (read_accept(r, "fact")) fact(r, p, at.lo);
    else read_expected(r, "'size', 'param', 'workspace', 'kernel' or 'fact'");
  }
}

Program *ir_read(Arena *a, Diags *d, uint32_t file) {
  const Source *s = src_get(diag_sources(d), file);
  Reader r = {
      .arena = a, .diags = d, .file = file, .text = s->text, .len = s->len, .ever = map_new(a)};
  Program *p = NEW(a, Program);
  read_next(&r);
  program(&r, p);
  return r.failed ? NULL : p;
}
