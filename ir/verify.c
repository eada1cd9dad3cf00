// The verifier: a table of checks, each run over every kernel by one walk.
// SPDX-License-Identifier: MIT
#include "ir/verify.h"

#include <string.h>

// name, level, what must hold before, and what looks at programs, kernels, statements, expressions
static const VerifyCheck checks[] = {
  {"structure", LEVEL_BOTH, NULL, NULL, check_structure_kernel, check_structure,
   check_structure_expr},
  {"program", LEVEL_BOTH, "structure", check_program, NULL, NULL, NULL},
  {"types", LEVEL_BOTH, "structure", NULL, NULL, check_types, check_type_expr},
  {"names", LEVEL_BOTH, "structure", NULL, NULL, check_names, check_name_expr},
  {"levels", LEVEL_BOTH, "structure", NULL, NULL, check_levels, NULL},
  {"tiles", LEVEL_TILE, "types", NULL, check_tiles, NULL, NULL},
  {"tile ops", LEVEL_TILE, "types", NULL, NULL, check_tile_ops, NULL},
  {"channels", LEVEL_TILE, "types", NULL, check_channels, NULL, NULL},
  {"flat", LEVEL_THREAD, "types", NULL, check_flat, NULL, NULL},
  {"operands", LEVEL_THREAD, "flat", NULL, NULL, check_operands, NULL},
  {"commits", LEVEL_THREAD, "names", NULL, NULL, check_commits, NULL},
  {"warpgroups", LEVEL_THREAD, "names", NULL, NULL, check_warpgroups, NULL},
  {"registers", LEVEL_THREAD, "flat", NULL, NULL, check_fragments, NULL},
  {"shared", LEVEL_THREAD, "flat", NULL, check_shared_memory, NULL, NULL},
  {"launch", LEVEL_BOTH, "structure", NULL, check_launch, NULL, NULL},
  {"maps", LEVEL_BOTH, "types", NULL, check_maps, NULL, NULL},
  {"barriers", LEVEL_THREAD, "operands", NULL, check_barriers, NULL, NULL},
  {"grid_wait", LEVEL_THREAD, "operands", NULL, check_grid_wait, NULL, NULL},
};

void verify_fail(Verify *v, const char *fmt, ...) {
  v->failures++;
  if (v->failures > 50) return; // enough to work on
  va_list ap;
  va_start(ap, fmt);
  buf_printf(v->why, "%s%s%s: ", v->kernel ? v->kernel->name : "program", v->kernel ? ": " : " ",
             v->check);
  buf_vprintf(v->why, fmt, ap);
  buf_putc(v->why, '\n');
  va_end(ap);
  if (!v->stmt || !strcmp(v->check, "structure")) return;
  Buf text = {0};
  ir_print_stmt(v->stmt, 0, &text);
  size_t line = strcspn(buf_str(&text), "\n");
  buf_printf(v->why, "    %.*s\n", (int)line, buf_str(&text));
  buf_free(&text);
}

typedef struct {
  Verify *v;
  bool found;
  bool loads; // a load counts as found
  PtrMap *map;
  bool want; // membership looked for
} Look;

static void look(void *ctx, Expr *x) {
  Look *l = ctx;
  if (x->kind == EX_LOAD && l->loads) l->found = true;
  if (x->kind == EX_VAR && (ptrmap_get(l->map, x->u.var) != NULL) == l->want) l->found = true;
}

bool verify_varies(Verify *v, Expr *x) {
  Look l = {.v = v, .map = v->varying, .want = true};
  ex_walk(x, look, &l);
  return l.found;
}

bool verify_steady(Verify *v, Expr *x) {
  Look l = {.v = v, .map = v->steady, .want = false, .loads = true};
  ex_walk(x, look, &l);
  return !l.found;
}

/* the walk */

typedef struct {
  Verify *v;
  const VerifyCheck *check;
} ExprVisit;

static void visit_node(void *ctx, Expr *x) {
  ExprVisit *e = ctx;
  e->check->expr(e->v, x);
}

static void visit_slot(void *ctx, Expr **slot) {
  ExprVisit *e = ctx;
  if (*slot) ex_walk(*slot, visit_node, e);
}

static void set(PtrMap *m, Var *var, bool on) { ptrmap_set(m, var, on ? var : NULL); }

static void visit(Verify *v, const VerifyCheck *c, Stmt *s);

static void visit_loop(Verify *v, const VerifyCheck *c, Stmt *s) {
  bool varies = false, splits = false;
  bool steady = s->u.loop.loop == LOOP_UNROLL || s->u.loop.loop == LOOP_VECTORIZED;
  for (int i = 0; i < s->u.loop.nvars; i++) {
    varies |= verify_varies(v, s->u.loop.min[i]) || verify_varies(v, s->u.loop.extent[i]);
    splits |= verify_splits(v, s->u.loop.min[i]) || verify_splits(v, s->u.loop.extent[i]);
    steady &= verify_steady(v, s->u.loop.min[i]) && verify_steady(v, s->u.loop.extent[i]);
  }
  for (int i = 0; i < s->u.loop.nvars; i++) {
    set(v->scope, s->u.loop.var[i], true);
    set(v->varying, s->u.loop.var[i], varies || s->u.loop.loop == LOOP_PARALLEL);
    set(v->splitting, s->u.loop.var[i], splits || s->u.loop.loop == LOOP_PARALLEL);
    set(v->steady, s->u.loop.var[i], steady);
  }
  int loops = v->loops, parallel = s->u.loop.loop == LOOP_PARALLEL;
  if (s->u.loop.cond) varies |= verify_varies(v, s->u.loop.cond);
  v->divergent += varies;
  v->loops = parallel ? 0 : loops + 1;
  v->parallel += parallel;
  v->split += splits;
  visit(v, c, s->u.loop.body);
  v->loops = loops;
  v->parallel -= parallel;
  v->divergent -= varies;
  v->split -= splits;
  for (int i = 0; i < s->u.loop.nvars; i++) set(v->scope, s->u.loop.var[i], false);
}

static void visit_block(Verify *v, const VerifyCheck *c, Stmt *s) {
  for (int i = 0; i < s->u.block.len; i++) {
    Stmt *t = s->u.block.data[i];
    visit(v, c, t);
    if (t->kind != ST_LET) continue;
    set(v->scope, t->u.let.var, true);
    set(v->varying, t->u.let.var, verify_varies(v, t->u.let.value));
    set(v->splitting, t->u.let.var, verify_splits(v, t->u.let.value));
    set(v->steady, t->u.let.var, verify_steady(v, t->u.let.value));
  }
  for (int i = 0; i < s->u.block.len; i++) {
    if (s->u.block.data[i]->kind == ST_LET) set(v->scope, s->u.block.data[i]->u.let.var, false);
  }
}

static void visit(Verify *v, const VerifyCheck *c, Stmt *s) {
  ExprVisit e = {v, c};
  int before = v->failures;
  v->stmt = s;
  if (c->stmt) c->stmt(v, s);
  if (v->failures > before && !strcmp(c->name, "structure")) return; // unsafe to go on inside
  if (c->expr) st_exprs(s, visit_slot, &e);
  if (v->failures > before && !strcmp(c->name, "structure")) return;
  switch (s->kind) {
  case ST_BLOCK: visit_block(v, c, s); break;
  case ST_FOR: visit_loop(v, c, s); break;
  case ST_IF: {
    int varies = verify_varies(v, s->u.branch.cond), splits = verify_splits(v, s->u.branch.cond);
    v->split += splits;
    v->divergent += varies && !s->u.branch.roles; // all consumers go the same way
    visit(v, c, s->u.branch.yes);
    v->divergent += varies && s->u.branch.roles;
    if (s->u.branch.no) visit(v, c, s->u.branch.no);
    v->divergent -= varies;
    v->split -= splits;
    break;
  }
  default: break;
  }
  v->stmt = s;
}

static void enter_kernel(Verify *v, const Kernel *k) {
  const Program *p = v->program;
  v->kernel = k;
  v->stmt = NULL;
  PtrMap **maps[] = {&v->scope, &v->known, &v->steady, &v->varying, &v->splitting};
  for (size_t i = 0; i < LEN(maps); i++) {
    if (*maps[i]) ptrmap_clear(*maps[i]);
    else *maps[i] = ptrmap_new(v->arena);
  }
  v->divergent = v->split = v->loops = v->parallel = 0;
  for (int i = 0; i < p->sizes.len; i++) set(v->scope, p->sizes.data[i], true);
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (q->kind == PARAM_SCALAR && q->var) set(v->scope, q->var, true);
    if (q->kind == PARAM_TENSOR && q->buf) ptrmap_set(v->known, q->buf, q->buf);
  }
  for (int i = 0; i < p->workspaces.len; i++)
    ptrmap_set(v->known, p->workspaces.data[i], p->workspaces.data[i]);
  for (int i = 0; k && i < 3; i++)
    if (k->block[i]) set(v->scope, k->block[i], true);
  if (k && k->workers) set(v->scope, k->workers, true);
  if (k && k->team) set(v->scope, k->team, true);
  if (k && k->thread) {
    set(v->scope, k->thread, true);
    set(v->varying, k->thread, true);
    set(v->splitting, k->thread, true);
  }
  for (int i = 0; k && i < k->buffers.len; i++)
    ptrmap_set(v->known, k->buffers.data[i], k->buffers.data[i]);
}

static bool passed(const bool *failed, const char *name) {
  for (size_t i = 0; name && i < LEN(checks); i++) {
    if (!strcmp(checks[i].name, name)) return !failed[i] && passed(failed, checks[i].needs);
  }
  return true;
}

static void verify_kernel(Verify *v, const Kernel *k) {
  bool failed[LEN(checks)] = {0};
  for (size_t i = 0; i < LEN(checks); i++) {
    const VerifyCheck *c = &checks[i];
    int before = v->failures;
    v->check = c->name;
    if (!(c->level & k->level) || !passed(failed, c->needs)) continue;
    enter_kernel(v, k);
    if (c->kernel) c->kernel(v);
    if (v->failures == before && (c->stmt || c->expr)) visit(v, c, k->body);
    failed[i] = v->failures > before;
  }
}

bool ir_verify(const Program *p, Buf *why) {
  Verify v = {.program = p, .arena = arena_new(), .why = why};
  for (int i = 0; i < p->kernels.len; i++) verify_kernel(&v, p->kernels.data[i]);
  int structure = v.failures;
  for (size_t i = 0; i < LEN(checks) && !structure; i++) {
    if (!checks[i].program) continue;
    v.check = checks[i].name;
    enter_kernel(&v, NULL);
    checks[i].program(&v);
  }
  arena_free(v.arena);
  return v.failures == 0;
}
