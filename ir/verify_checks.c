// Checks of the IR that hold at both levels: structure, types, names.
// SPDX-License-Identifier: MIT
#include "ir/verify.h"

#include <string.h>

/* structure: nothing missing, counts agree */

static void need_list(Verify *v, Expr **list, int n, const char *what) {
  for (int i = 0; i < n; i++) {
    if (!list || !list[i]) verify_fail(v, "%s %d is missing", what, i);
  }
}

static void structure_region(Verify *v, const Region *r) {
  if (!r->buf) {
    verify_fail(v, "a region without a buffer");
  } else if (r->n != r->buf->ndim) {
    verify_fail(v, "a region of %d dimensions of %s, which has %d", r->n, r->buf->name,
                r->buf->ndim);
  }
  need_list(v, r->min, r->n, "region minimum");
  need_list(v, r->extent, r->n, "region extent");
}

static void structure_op(Verify *v, Stmt *s) {
  if ((unsigned)s->u.op.op >= OP_COUNT) {
    verify_fail(v, "op number %d", (int)s->u.op.op);
    return;
  }
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++) {
    ArgKind kind = info->arg[i].kind;
    const Arg *arg = &s->u.op.arg[i];
    if (kind == ARG_INT) continue;
    bool given = kind == ARG_EXPR   ? arg->expr != NULL
                 : kind == ARG_TEXT ? arg->text != NULL
                                    : arg->region != NULL;
    if (!given && !info->arg[i].optional)
      verify_fail(v, "%s without its operand %s", info->name, info->arg[i].name);
    if (given && arg_is_region(kind)) structure_region(v, arg->region);
  }
}

static void structure_loop(Verify *v, Stmt *s) {
  int n = s->u.loop.nvars;
  if (s->u.loop.loop == LOOP_WHILE) {
    if (n || !s->u.loop.cond) verify_fail(v, "a while loop without condition, or with variables");
  } else if (n < 1 || (n > 1 && s->u.loop.loop != LOOP_PARALLEL))
    verify_fail(v, "a loop of %d variables", n);
  bool counted = s->u.loop.loop == LOOP_SERIAL || s->u.loop.loop == LOOP_UNROLL ||
                 s->u.loop.loop == LOOP_PIPELINED;
  if (s->u.loop.cond && s->u.loop.loop != LOOP_WHILE && !counted)
    verify_fail(v, "a %s loop with a condition", loop_words[s->u.loop.loop]);
  for (int i = 0; i < n; i++) {
    if (!s->u.loop.var[i]) verify_fail(v, "loop variable %d is missing", i);
  }
  need_list(v, s->u.loop.min, n, "loop minimum");
  need_list(v, s->u.loop.extent, n, "loop extent");
  if (!s->u.loop.body) verify_fail(v, "a loop without a body");
}

void check_structure(Verify *v, Stmt *s) {
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) {
      if (!s->u.block.data[i]) verify_fail(v, "a missing statement in a block");
    }
    break;
  case ST_FOR: structure_loop(v, s); break;
  case ST_IF:
    if (!s->u.branch.cond || !s->u.branch.yes) verify_fail(v, "an if without condition or body");
    break;
  case ST_LET:
    if (!s->u.let.var || !s->u.let.value) verify_fail(v, "a let without variable or value");
    break;
  case ST_STORE:
    if (!s->u.store.buf || s->u.store.n != s->u.store.buf->ndim || !s->u.store.value)
      verify_fail(v, "a store without buffer or value, or with the wrong number of indices");
    need_list(v, s->u.store.idx, s->u.store.n, "index");
    break;
  case ST_OP: structure_op(v, s); break;
  case ST_ASSUME:
    if (!s->u.assume) verify_fail(v, "an assume without condition");
    break;
  default: verify_fail(v, "statement kind %d", (int)s->kind);
  }
}

void check_structure_expr(Verify *v, Expr *x) {
  if (x->kind == EX_LOAD && x->u.load.n != x->u.load.buf->ndim)
    verify_fail(v, "%d indices for %s, which has %d dimensions", x->u.load.n, x->u.load.buf->name,
                x->u.load.buf->ndim);
}

static void structure_view(Verify *v, const Buffer *b) {
  if (b->base->base) verify_fail(v, "%s is a view of the view %s", b->name, b->base->name);
  if (b->base->scope != b->scope) verify_fail(v, "%s is in another memory than its base", b->name);
  if (!ptrmap_get(v->known, b->base))
    verify_fail(v, "%s is a view of %s, which is not declared here", b->name, b->base->name);
}

void check_structure_kernel(Verify *v) {
  const Kernel *k = v->kernel;
  if (!k->body || k->body->kind != ST_BLOCK) verify_fail(v, "the body is no block");
  if (k->level != LEVEL_TILE && k->level != LEVEL_THREAD) verify_fail(v, "level %d", (int)k->level);
  if (k->threads < 1) verify_fail(v, "%d threads", k->threads);
  for (int i = 0; i < 3; i++) {
    if (!k->grid[i] || k->grid[i]->type != DT_INDEX)
      verify_fail(v, "grid extent %d is no index", i);
  }
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    need_list(v, b->shape, b->ndim, "extent");
    if (b->base) structure_view(v, b);
    else if (b->scope == SC_GLOBAL)
      verify_fail(v, "%s is global but declared in a kernel", b->name);
    if ((b->scope == SC_MAP) != (b->map != NULL))
      verify_fail(v, "%s: no map, or one too many", b->name);
  }
}

/* program: names, parameters, sizes and facts */

static void own_name(Verify *v, const char *name) {
  if (name && (!sym_identifier(name) || sym_taken(name)))
    verify_fail(v, "'%s' is no name that C and CUDA leave free", name);
}

static void own_names(Verify *v) {
  const Program *p = v->program;
  own_name(v, p->symbol);
  for (int i = 0; i < p->kernels.len; i++) {
    const char *name = p->kernels.data[i]->name;
    own_name(v, name);
    bool twice = name && p->symbol && !strcmp(name, p->symbol);
    for (int k = 0; name && k < i; k++)
      twice |= p->kernels.data[k]->name && !strcmp(name, p->kernels.data[k]->name);
    if (twice) verify_fail(v, "'%s' names two things", name);
    if (p->kernels.data[i]->level != p->kernels.data[0]->level)
      verify_fail(v, "kernels of both levels");
  }
}

static void check_global(Verify *v, const Buffer *b) {
  if (b->safe && b->safe->type != b->dtype)
    verify_fail(v, "the safe value of %s is %s", b->name, dt_name(b->safe->type));
  if (b->align < 1 || (b->align & (b->align - 1)))
    verify_fail(v, "%s is aligned to %d bytes, no power of two", b->name, b->align);
}

static void workspace_node(void *ctx, Expr *x) {
  Verify *v = ctx;
  bool size = x->kind == EX_VAR && x->u.var->kind == VAR_SIZE;
  if ((x->kind == EX_VAR && !size) || x->kind == EX_LOAD)
    verify_fail(v, "a workspace's shape uses more than sizes");
}

// One block of memory holds them all, each at a multiple of WORKSPACE_ALIGN bytes.
static void check_workspace(Verify *v, const Buffer *b) {
  if (b->scope != SC_GLOBAL) verify_fail(v, "workspace %s is not global", b->name);
  if (b->strides) verify_fail(v, "workspace %s has strides", b->name);
  if (dt_bits(b->dtype) < 8) verify_fail(v, "workspace %s is of %s", b->name, dt_name(b->dtype));
  if (b->align > WORKSPACE_ALIGN)
    verify_fail(v, "workspace %s is aligned to %d bytes, at most %d", b->name, b->align,
                WORKSPACE_ALIGN);
  check_global(v, b);
  for (int i = 0; i < b->ndim; i++) ex_walk(b->shape[i], workspace_node, v);
}

static void fact_node(void *ctx, Expr *x) {
  Verify *v = ctx;
  if (x->kind == EX_VAR && !ptrmap_get(v->scope, x->u.var))
    verify_fail(v, "a fact for the launcher uses %s, which only the kernel knows", x->u.var->name);
  if (x->kind == EX_LOAD) verify_fail(v, "a fact for the launcher reads %s", x->u.load.buf->name);
}

void check_program(Verify *v) {
  const Program *p = v->program;
  own_names(v);
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (!q->name) verify_fail(v, "parameter %d has no name", i);
    if (q->kind == PARAM_TENSOR && (!q->buf || q->buf->scope != SC_GLOBAL))
      verify_fail(v, "tensor parameter %d has no global buffer", i);
    if (q->kind == PARAM_SCALAR && (!q->var || q->var->kind != VAR_SCALAR))
      verify_fail(v, "scalar parameter %d has no variable", i);
    if (q->kind == PARAM_TENSOR && q->buf) check_global(v, q->buf);
  }
  for (int i = 0; i < p->workspaces.len; i++) check_workspace(v, p->workspaces.data[i]);
  for (int i = 0; i < p->sizes.len; i++) {
    const Var *size = p->sizes.data[i];
    if (size->kind != VAR_SIZE || size->type != DT_INDEX)
      verify_fail(v, "size %s is no index size", size->name);
  }
  for (int i = 0; i < p->facts.len; i++) {
    const Fact *f = &p->facts.data[i];
    if (!f->cond || f->cond->type != DT_BOOL) verify_fail(v, "fact %d is no condition", i);
    else if (!f->on_device) ex_walk(f->cond, fact_node, v);
  }
}

/* types */

static void want(Verify *v, const Expr *x, DType t, const char *what) {
  if (x->type != t) verify_fail(v, "%s is %s, not %s", what, dt_name(x->type), dt_name(t));
}

static void want_index(Verify *v, Expr **list, int n, const char *what) {
  for (int i = 0; i < n; i++) want(v, list[i], DT_INDEX, what);
}

// Attributes that choose: by name, the largest choice.
static const struct {
  const char *name;
  int64_t most;
} choices[] = {{"async", 1},          {"transa", 1}, {"transb", 1}, {"transe", 1},
               {"policy", POLICY_FULL_COL}, {"fn", ATOMIC_SET}, {"trans", 1},
               {"nan", 1},            {"reverse", 1}, {"all", 1},
               {"order", ORDER_SEQ_CST}};

static void type_choice(Verify *v, const char *name, int64_t i) {
  for (size_t k = 0; k < LEN(choices); k++) {
    if (!strcmp(choices[k].name, name) && (i < 0 || i > choices[k].most))
      verify_fail(v, "%s is %lld, not one of 0..%lld", name, (long long)i,
                  (long long)choices[k].most);
  }
}

static void type_copy(Verify *v, const Stmt *s) {
  const Buffer *src = s->u.op.arg[op_arg(OP_COPY, "src")].region->buf;
  const Buffer *dst = s->u.op.arg[op_arg(OP_COPY, "dst")].region->buf;
  if (!s->u.op.arg[op_arg(OP_COPY, "async")].i) return;
  if (src->scope != SC_GLOBAL || dst->scope != SC_SHARED || src->dtype != dst->dtype)
    verify_fail(v, "an asynchronous copy goes from a tensor to a shared tile of its type");
}

static void type_op(Verify *v, Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  if (s->u.op.op == OP_COPY) type_copy(v, s);
  for (int i = 0; i < info->nargs; i++) {
    const Arg *arg = &s->u.op.arg[i];
    ArgKind kind = info->arg[i].kind;
    if (kind == ARG_INT) type_choice(v, info->arg[i].name, arg->i);
    if (kind == ARG_INT || kind == ARG_TEXT || (kind == ARG_EXPR ? !arg->expr : !arg->region))
      continue;
    if (kind == ARG_EXPR) {
      if (s->u.op.op == OP_GEMM || s->u.op.op == OP_GEMM_SP) want(v, arg->expr, DT_BOOL, "clear");
      if (s->u.op.op == OP_CP_ASYNC) want(v, arg->expr, DT_INDEX, "valid");
    } else {
      want_index(v, arg->region->min, arg->region->n, "a region's minimum");
      want_index(v, arg->region->extent, arg->region->n, "a region's extent");
    }
  }
}

void check_types(Verify *v, Stmt *s) {
  switch (s->kind) {
  case ST_FOR:
    want_index(v, s->u.loop.min, s->u.loop.nvars, "a loop's minimum");
    want_index(v, s->u.loop.extent, s->u.loop.nvars, "a loop's extent");
    if (s->u.loop.cond) want(v, s->u.loop.cond, DT_BOOL, "the condition");
    for (int i = 0; i < s->u.loop.nvars; i++) {
      if (!dt_is_int(s->u.loop.var[i]->type))
        verify_fail(v, "loop variable %s is %s", s->u.loop.var[i]->name,
                    dt_name(s->u.loop.var[i]->type));
    }
    break;
  case ST_IF: want(v, s->u.branch.cond, DT_BOOL, "the condition"); break;
  case ST_LET: want(v, s->u.let.value, s->u.let.var->type, "the value"); break;
  case ST_STORE:
    want_index(v, s->u.store.idx, s->u.store.n, "an index");
    want(v, s->u.store.value, s->u.store.buf->dtype, "the value");
    break;
  case ST_OP: type_op(v, s); break;
  case ST_ASSUME: want(v, s->u.assume, DT_BOOL, "the assumption"); break;
  default: break;
  }
}

static void type_binary(Verify *v, Expr *x) {
  BinOp op = x->u.bin.op;
  DType t = x->u.bin.a->type;
  const char *name = word_binary(op);
  if (x->u.bin.b->type != t)
    verify_fail(v, "%s of %s and %s", name, dt_name(t), dt_name(x->u.bin.b->type));
  if (x->type != (bin_is_compare(op) ? DT_BOOL : t))
    verify_fail(v, "%s of %s gives %s", name, dt_name(t), dt_name(x->type));
  bool fits;
  switch (op) {
  case BIN_ADD: case BIN_SUB: case BIN_MUL: fits = t != DT_BOOL; break;
  case BIN_DIV: fits = dt_is_float(t); break;
  case BIN_FLOORDIV: case BIN_FLOORMOD: case BIN_SHL: case BIN_SHR: fits = dt_is_int(t); break;
  case BIN_AND: case BIN_OR: fits = t == DT_BOOL; break;
  case BIN_BITAND: case BIN_BITOR: case BIN_BITXOR: fits = !dt_is_float(t); break;
  default: fits = true;
  }
  if (!fits) verify_fail(v, "%s is not defined on %s", name, dt_name(t));
}

static void type_unary(Verify *v, Expr *x) {
  DType t = x->u.un.a->type;
  bool fits = x->u.un.op == UN_NOT      ? t == DT_BOOL
              : x->u.un.op == UN_BITNOT ? !dt_is_float(t)
                                        : t != DT_BOOL;
  if (!fits || x->type != t) verify_fail(v, "%s of %s", word_unary(x->u.un.op), dt_name(t));
}

static void type_math(Verify *v, Expr *x) {
  int arity;
  const char *name = word_math(x->u.math.fn, &arity);
  if (x->u.math.n != arity) {
    verify_fail(v, "%s of %d operands", name, x->u.math.n);
    return;
  }
  DType t = x->u.math.arg[0]->type;
  bool test = x->u.math.fn == MATH_ISNAN || x->u.math.fn == MATH_ISINF;
  for (int i = 1; i < arity; i++) want(v, x->u.math.arg[i], t, name);
  if (!dt_is_float(t) && x->u.math.fn != MATH_ABS) verify_fail(v, "%s of %s", name, dt_name(t));
  want(v, x, test ? DT_BOOL : t, name);
}

void check_type_expr(Verify *v, Expr *x) {
  switch (x->kind) {
  case EX_INT:
    if (dt_is_float(x->type)) verify_fail(v, "an integer constant of type %s", dt_name(x->type));
    break;
  case EX_FLOAT:
    if (!dt_is_float(x->type)) verify_fail(v, "a float constant of type %s", dt_name(x->type));
    break;
  case EX_VAR: want(v, x, x->u.var->type, x->u.var->name); break;
  case EX_LOAD:
    want(v, x, x->u.load.buf->dtype, x->u.load.buf->name);
    want_index(v, x->u.load.idx, x->u.load.n, "an index");
    break;
  case EX_UNARY: type_unary(v, x); break;
  case EX_BINARY: type_binary(v, x); break;
  case EX_CAST: break;
  case EX_BITCAST:
    if (dt_bits(x->type) != dt_bits(x->u.cast->type))
      verify_fail(v, "bits of %s as %s", dt_name(x->u.cast->type), dt_name(x->type));
    break;
  case EX_SELECT:
    want(v, x->u.sel.cond, DT_BOOL, "a selection's condition");
    want(v, x->u.sel.yes, x->type, "a selection's side");
    want(v, x->u.sel.no, x->type, "a selection's side");
    break;
  case EX_MATH: type_math(v, x); break;
  }
}

/* names: bound before use and in scope; buffers declared */

static void known_buffer(Verify *v, const Buffer *b) {
  if (!ptrmap_get(v->known, b)) verify_fail(v, "buffer %s is not declared here", b->name);
}

static void fresh(Verify *v, const Var *var) {
  if (ptrmap_get(v->scope, var)) verify_fail(v, "%s is bound inside its own scope", var->name);
}

void check_names(Verify *v, Stmt *s) {
  if (s->kind == ST_FOR) {
    for (int i = 0; i < s->u.loop.nvars; i++) fresh(v, s->u.loop.var[i]);
  } else if (s->kind == ST_LET) {
    fresh(v, s->u.let.var);
  } else if (s->kind == ST_STORE) {
    known_buffer(v, s->u.store.buf);
  } else if (s->kind == ST_OP) {
    const OpInfo *info = op_info(s->u.op.op);
    for (int i = 0; i < info->nargs; i++) {
      ArgKind kind = info->arg[i].kind;
      if (arg_is_region(kind) && s->u.op.arg[i].region)
        known_buffer(v, s->u.op.arg[i].region->buf);
    }
  }
}

void check_name_expr(Verify *v, Expr *x) {
  if (x->kind == EX_VAR && !ptrmap_get(v->scope, x->u.var))
    verify_fail(v, "%s is used where it is not bound", x->u.var->name);
  if (x->kind == EX_LOAD) known_buffer(v, x->u.load.buf);
}
