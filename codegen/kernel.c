// One __global__ function: its parameters, what it declares, its body.
// SPDX-License-Identifier: MIT
#include "codegen/internal.h"

/* ------------------------------------------------------------------ uses */

static void use_expr(void *ctx, Expr *x) {
  Cg *c = ctx;
  if (x->kind == EX_VAR) names_of(c->names, x->u.var)->used = true;
  if (x->kind == EX_LOAD) names_of(c->names, x->u.load.buf)->used = true;
}

static void use_slot(void *ctx, Expr **slot) { ex_walk(*slot, use_expr, ctx); }

// What a foreign function gives is used where something reads it.
static const Buffer *given(const Stmt *s) {
  if (s->kind != ST_OP || s->u.op.op != OP_EXTERN) return NULL;
  const Region *r = s->u.op.arg[op_arg(OP_EXTERN, "result")].region;
  return r ? r->buf : NULL;
}

typedef struct {
  Cg *c;
  const Stmt *s;
} Using;

static void use_access(void *ctx, const Access *a) {
  const Using *u = ctx;
  Cg *c = u->c;
  if (a->region.buf == given(u->s)) return;
  Name *name = names_of(c->names, a->region.buf);
  name->used = true;
  if (a->mode != ACC_READ) name->written = true;
}

// Buffers whose addresses an op takes.
static void use_places(Cg *c, const Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  for (int i = 0; i < info->nargs; i++)
    if (info->arg[i].kind == ARG_PLACE) names_of(c->names, s->u.op.arg[i].region->buf)->used = true;
}

typedef struct {
  Cg *c;
  VEC(Stmt *) lets;
} Uses;

static void use_stmt(void *ctx, Stmt *s) {
  Uses *u = ctx;
  if (s->kind == ST_LET) {
    vec_push(u->c->arena, &u->lets, s);
    return;
  }
  if (s->kind == ST_ASSUME && (s->known || !u->c->o->debug)) return;
  st_exprs(s, use_slot, u->c);
  Using using = {u->c, s};
  st_accesses(u->c->arena, s, use_access, &using);
  if (s->kind == ST_OP) use_places(u->c, s);
}

// A let counts as a use of its operands only when it is used itself; later ones are looked at
// first.
void cg_uses(Cg *c, const Kernel *k) {
  Uses u = {.c = c};
  st_walk(k->body, use_stmt, &u);
  for (int i = u.lets.len; i-- > 0;) {
    if (names_of(c->names, u.lets.data[i]->u.let.var)->used) st_exprs(u.lets.data[i], use_slot, c);
  }
}

/* ------------------------------------------------------------------ parameters */

static void separator(Cg *c, bool *first) {
  if (!*first) cg_text(c, ", ");
  *first = false;
}

static void kernel_param(Cg *c, const Param *p, bool *first) {
  const void *object = p->kind == PARAM_TENSOR ? (const void *)p->buf : p->var;
  Name *name = names_of(c->names, object);
  if (!name->used) return;
  names_declare(c->names, object, p->name);
  separator(c, first);
  if (p->kind == PARAM_SCALAR) {
    cg_text(c, "%s %s", cg_type(p->var->type), name->text);
  } else {
    cg_text(c, "%s%s *__restrict__ %s", name->written ? "" : "const ", cg_type(p->buf->dtype),
            name->text);
  }
}

static void kernel_workspace(Cg *c, const Buffer *b, bool *first) {
  Name *name = names_of(c->names, b);
  if (!name->used) return;
  names_declare(c->names, b, b->name);
  separator(c, first);
  cg_text(c, "%s%s *__restrict__ %s", name->written ? "" : "const ", cg_type(b->dtype), name->text);
}

static void kernel_params(Cg *c) {
  bool first = true;
  for (int i = 0; i < c->p->params.len; i++) kernel_param(c, &c->p->params.data[i], &first);
  for (int i = 0; i < c->p->sizes.len; i++) {
    const Var *v = c->p->sizes.data[i];
    Name *name = names_of(c->names, v);
    if (!name->used) continue;
    name->bits = 32; // the launcher checks the range
    names_declare(c->names, v, v->name);
    separator(c, &first);
    cg_text(c, "int %s", name->text);
  }
  for (int i = 0; i < c->p->workspaces.len; i++)
    kernel_workspace(c, c->p->workspaces.data[i], &first);
  cg_map_params(c, &first);
}

/* ------------------------------------------------------------------ declarations */

static void hardware_index(Cg *c, const Var *v, const char *from) {
  if (!v || !names_of(c->names, v)->used) return;
  names_of(c->names, v)->bits = 32;
  cg_line(c, "const int %s = %s;", names_declare(c->names, v, v->name), from);
}

static void declare_shared(Cg *c, const Buffer *b) {
  if (b->offset < 0) die("%s has no place in shared memory", b->name);
  needs_add(c->needs, "smem");
  const char *name = names_declare(c->names, b, b->name), *type = cg_type(b->dtype);
  cg_line(c, "%s *const %s = reinterpret_cast<%s *>(tlc_smem + %lld);", type, name, type,
          (long long)b->offset);
}

static void declare_local(Cg *c, const Buffer *b) {
  int64_t n = buf_elems(b);
  const char *name = names_declare(c->names, b, b->name);
  names_of(c->names, b)->scalar = n == 1;
  if (n == 1) cg_line(c, "%s %s;", cg_type(b->dtype), name);
  else cg_line(c, "alignas(16) %s %s[%lld];", cg_type(b->dtype), name, (long long)n);
}

static void declare_buffers(Cg *c, Scope scope) {
  for (int i = 0; i < c->k->buffers.len; i++) {
    const Buffer *b = c->k->buffers.data[i];
    if (b->scope == SC_FRAGMENT) die("fragment %s at THREAD level", b->name);
    if (b->scope != scope || !names_of(c->names, b)->used) continue;
    if (scope == SC_SHARED) declare_shared(c, b);
    else declare_local(c, b);
  }
}

void cg_kernel(Cg *c, const Kernel *k) {
  static const char *const axes[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
  cg_uses(c, k);
  names_reserve(c->names, k->name);
  names_reserve(c->names, c->p->symbol);
  cg_begin(c);
  cg_text(c, "static __global__ void __launch_bounds__(%s", cg_bound_threads(c, k));
  if (k->min_blocks) cg_text(c, ", %d", k->min_blocks);
  cg_text(c, ") %s(", k->name);
  kernel_params(c);
  cg_text(c, ") {");
  cg_end(c);
  c->indent++;
  cg_open_body(c);
  declare_buffers(c, SC_SHARED);
  hardware_index(c, k->thread, "threadIdx.x");
  for (int i = 0; i < 3; i++) hardware_index(c, k->block[i], axes[i]);
  hardware_index(c, k->workers, "gridDim.x");
  declare_buffers(c, SC_LOCAL);
  cg_stmt(c, k->body);
  cg_close_body(c);
  cg_close(c, "}");
}
