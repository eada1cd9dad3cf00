// What a launcher refuses: sizes, pointers, facts, grids.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

static void refuse_sizes(Cg *c) {
  for (int i = 0; i < c->p->sizes.len; i++) {
    const char *n = names_of(c->names, c->p->sizes.data[i])->text;
    cg_line(c, "if (%s < 0 || %s > INT32_MAX) return \"%s must be in 0 .. 2147483647\";", n, n, n);
  }
}

// Names the bytes that each tensor of symbolic shape spans.
static void declare_bytes(Cg *c) {
  for (int i = 0; i < c->p->params.len; i++) {
    const Param *p = &c->p->params.data[i];
    int64_t bytes;
    if (p->kind != PARAM_TENSOR || cg_constant_bytes(cg_shape(c, i), &bytes)) continue;
    const char *wish = arena_printf(c->arena, "%s_bytes", cg_param_name(c, p));
    cg_begin(c);
    cg_text(c, "const int64_t %s = ", names_declare(c->names, p, wish));
    cg_buffer_bytes(c, cg_shape(c, i));
    cg_text(c, ";");
    cg_end(c);
  }
}

// The name, or the constant.
static const char *bytes_of(Cg *c, int i) {
  const Param *p = &c->p->params.data[i];
  int64_t bytes;
  if (!cg_constant_bytes(cg_shape(c, i), &bytes)) return names_of(c->names, p)->text;
  return arena_printf(c->arena, "%lld%s", (long long)bytes, bytes > INT32_MAX ? "LL" : "");
}

static void refuse_pointer(Cg *c, int i) {
  const Param *p = &c->p->params.data[i];
  const Buffer *b = cg_shape(c, i);
  const char *n = cg_param_name(c, p), *size = bytes_of(c, i);
  int64_t bytes = 0;
  bool constant = cg_constant_bytes(b, &bytes);
  int align = cg_align(b);
  if (!constant) {
    cg_line(c, "if (%s < 0) return \"%s has more bytes than 64 bits count\";", size, n);
    cg_line(c, "if (!%s && %s > 0) return \"%s is a null pointer\";", n, size, n);
  } else if (bytes > 0) {
    cg_line(c, "if (!%s) return \"%s is a null pointer\";", n, n);
  }
  if (align > 1) {
    needs_add(c->needs, "misaligned");
    cg_line(c, "if (tlc_misaligned(%s, %d)) return \"%s must be aligned to %d bytes\";", n, align,
            n, align);
  }
}

// A tensor that is written shares no byte with another: the kernel's pointers are __restrict__.
static void refuse_overlap(Cg *c, int i, int j) {
  const Param *p = &c->p->params.data[i], *q = &c->p->params.data[j];
  if (p->kind != PARAM_TENSOR || q->kind != PARAM_TENSOR) return;
  if (!cg_is_written(p) && !cg_is_written(q)) return;
  needs_add(c->needs, "overlap");
  cg_begin(c);
  cg_text(c, "if (tlc_overlap(%s, %s, %s, %s))", cg_param_name(c, p), bytes_of(c, i),
          cg_param_name(c, q), bytes_of(c, j));
  cg_text(c, " return \"%s and %s must not overlap\";", cg_param_name(c, p), cg_param_name(c, q));
  cg_end(c);
}

static void refuse_fact(Cg *c, const Fact *f) {
  if (f->on_device) return;
  const char *place = cg_place(c, f->span), *text = cg_expr_text(c, f->cond);
  cg_begin(c);
  cg_text(c, "if (!(%s)) return \"%s does not hold", text, text);
  if (f->why || place) {
    cg_text(c, " (%s%s%s)", f->why ? cg_escape(c->arena, f->why) : "T.assume", place ? ", " : "",
            place ? place : "");
  }
  cg_text(c, "\";");
  cg_end(c);
}

typedef VEC(Expr *) Divisors;

// Divisors that are evaluated whenever x is, each once: what stands behind a condition is guarded.
static void find_divisors(Cg *c, Expr *x, Divisors *out) {
  switch (x->kind) {
  case EX_UNARY: find_divisors(c, x->u.un.a, out); return;
  case EX_CAST: find_divisors(c, x->u.cast, out); return;
  case EX_SELECT: find_divisors(c, x->u.sel.cond, out); return;
  case EX_BINARY: break;
  default: return;
  }
  BinOp op = x->u.bin.op;
  Expr *b = x->u.bin.b;
  int64_t n;
  find_divisors(c, x->u.bin.a, out);
  if (op == BIN_AND || op == BIN_OR) return;
  find_divisors(c, b, out);
  if ((op != BIN_FLOORDIV && op != BIN_FLOORMOD) || ex_const(b, &n)) return;
  for (int i = 0; i < out->len; i++) {
    if (ex_equal(out->data[i], b)) return;
  }
  vec_push(c->arena, out, b);
}

static void find_all_divisors(Cg *c, Divisors *all) {
  const Program *p = c->p;
  for (int i = 0; i < p->params.len; i++) {
    const Buffer *b = p->params.data[i].kind == PARAM_TENSOR ? cg_shape(c, i) : NULL;
    for (int d = 0; b && d < b->ndim; d++) find_divisors(c, b->shape[d], all);
    for (int d = 0; b && b->strides && d < b->ndim; d++) find_divisors(c, b->strides[d], all);
  }
  for (int i = 0; i < p->facts.len; i++) {
    if (!p->facts.data[i].on_device) find_divisors(c, p->facts.data[i].cond, all);
  }
  for (int i = 0; i < p->kernels.len; i++) {
    for (int d = 0; d < 3; d++) find_divisors(c, p->kernels.data[i]->grid[d], all);
  }
}

// Before any check divides: a launcher returns an error, it does not trap. With `why` it says so.
void cg_refuse_divisors(Cg *c, bool why) {
  const Program *p = c->p;
  Divisors all = {0};
  for (int i = 0; i < p->workspaces.len; i++) {
    const Buffer *b = cg_workspace_part(c, i);
    for (int d = 0; d < b->ndim; d++) find_divisors(c, b->shape[d], &all);
  }
  if (why) find_all_divisors(c, &all);
  for (int i = 0; i < all.len; i++) {
    cg_begin(c);
    cg_text(c, "if (");
    cg_expr(c, all.data[i], P_LESS);
    cg_text(c, " == 0) return ");
    if (why) cg_text(c, "\"%s must not be 0\";", cg_expr_text(c, all.data[i]));
    else cg_text(c, "0;");
    cg_end(c);
  }
}

static void refuse_grid(Cg *c, const Kernel *k) {
  for (int i = 0; i < 3; i++) {
    int64_t n, most = c->o->target->max_grid[i];
    if (ex_const(k->grid[i], &n) && n <= most) continue;
    cg_begin(c);
    cg_text(c, "if (");
    cg_expr(c, k->grid[i], P_LESS);
    cg_text(c, " > %lld) return \"the grid of %s has over %lld blocks along %c\";", (long long)most,
            k->name, (long long)most, "xyz"[i]);
    cg_end(c);
  }
}

void cg_refuses(Cg *c) {
  const Program *p = c->p;
  cg_blank(c);
  cg_line(c, "// NULL where all that %s relies on holds, else what does not.", p->symbol);
  cg_begin(c);
  cg_text(c, "static const char *%s_refuses(", p->symbol);
  cg_params(c);
  cg_text(c, ") {");
  cg_end(c);
  c->indent++;
  for (int i = 0; i < p->params.len; i++) {
    if (p->params.data[i].kind == PARAM_SCALAR)
      cg_line(c, "(void)%s;", cg_param_name(c, &p->params.data[i]));
  }
  refuse_sizes(c);
  cg_refuse_divisors(c, true);
  declare_bytes(c);
  for (int i = 0; i < p->params.len; i++) {
    if (p->params.data[i].kind == PARAM_TENSOR) refuse_pointer(c, i);
  }
  cg_refuse_workspace(c);
  for (int i = 0; i < p->params.len; i++) {
    for (int j = i + 1; j < p->params.len; j++) refuse_overlap(c, i, j);
    if (p->params.data[i].kind == PARAM_TENSOR)
      cg_refuse_workspace_overlap(c, cg_param_name(c, &p->params.data[i]), bytes_of(c, i));
  }
  for (int i = 0; i < p->facts.len; i++) refuse_fact(c, &p->facts.data[i]);
  for (int i = 0; i < p->kernels.len; i++) refuse_grid(c, p->kernels.data[i]);
  for (int i = 0; i < p->kernels.len; i++) cg_refuse_maps(c, p->kernels.data[i]);
  cg_line(c, "return nullptr;");
  cg_close(c, "}");
}
