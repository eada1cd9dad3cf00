// layout: every fragment and parallel loop gets a thread mapping, every shared tile a layout. Gemms
// and annotations fix layouts, loops carry them from fragment to fragment, what stays free becomes
// coalesced. An access that no layout serves goes through shared memory.
// SPDX-License-Identifier: MIT
#include "passes/reduce.h"
#include "passes/crew.h"

#include <string.h>

typedef struct {
  Stmt *stmt;
  FragUses uses;
  int threads;      // who run it
  int width;        // what its global and shared accesses can do along the last variable
  int bytes;        // of its widest element outside memory
  int memory_bytes; // and in memory
  bool memory;      // touches global or shared memory
  bool apart;       // some fragment that it is connected with lacks one of the dimensions
} LoopInfo;

typedef struct {
  PassCtx *c;
  Kernel *kernel;
  Facts *facts;
  VEC(LoopInfo) loops;
  VEC(const Buffer *) reducers;
  Crews *crews;
} Infer;

/* ------------------------------------------------------------------ loops in normal form */

// Directly nested parallel loops are one; variables start at zero.
static void merge_nest(Arena *a, Stmt *s) {
  for (;;) {
    Stmt *body = st_only(s->u.loop.body);
    if (body->kind != ST_FOR || body->u.loop.loop != LOOP_PARALLEL || body->u.loop.layout) return;
    int n = s->u.loop.nvars, m = body->u.loop.nvars;
    if (n + m > LOOP_MAX_DIMS) return;
    for (int i = 0; i < m; i++)
      for (int j = 0; j < n; j++)
        if (ex_uses(body->u.loop.min[i], s->u.loop.var[j]) ||
            ex_uses(body->u.loop.extent[i], s->u.loop.var[j]))
          return;
    Stmt *all = st_for_n(a, LOOP_PARALLEL, n, s->u.loop.var, s->u.loop.min, s->u.loop.extent, NULL,
                         s->span);
    Var **var = NEWN(a, Var *, n + m);
    Expr **min = NEWN(a, Expr *, n + m), **extent = NEWN(a, Expr *, n + m);
    for (int i = 0; i < n + m; i++) {
      const Stmt *from = i < n ? all : body;
      var[i] = from->u.loop.var[i < n ? i : i - n];
      min[i] = from->u.loop.min[i < n ? i : i - n];
      extent[i] = from->u.loop.extent[i < n ? i : i - n];
    }
    s->u.loop.nvars = n + m;
    s->u.loop.var = var;
    s->u.loop.min = min;
    s->u.loop.extent = extent;
    s->u.loop.body = body->u.loop.body;
  }
}

// min becomes 0, a bounded run-time extent its bound and a condition. Unbounded ones stay: such a
// loop has no layout.
static void normal_bounds(Arena *a, Facts *f, Stmt *s) {
  Expr *cond = NULL;
  FragUses uses = frag_uses(a, s);
  for (int i = 0; i < s->u.loop.nvars; i++) {
    Var *v = s->u.loop.var[i];
    int64_t lo, hi;
    if (!ex_is(s->u.loop.min[i], 0)) {
      Subst sub = {.arena = a};
      subst_add(&sub, v, ex_add(a, ex_var(a, v), s->u.loop.min[i]));
      subst_stmt(&sub, s->u.loop.body);
      s->u.loop.min[i] = ex_index(a, 0);
    }
    s->u.loop.extent[i] = facts_simplify(f, s->u.loop.extent[i]);
    if (ex_const(s->u.loop.extent[i], &lo)) continue;
    facts_bounds(f, s->u.loop.extent[i], &lo, &hi);
    for (int k = 0; k < uses.len; k++) // an index of a fragment is below its extent
      for (int d = 0; d < uses.data[k].buf->ndim; d++)
        if (uses.data[k].dim[d] == i && uses.data[k].buf->shape[d]->u.i < hi)
          hi = uses.data[k].buf->shape[d]->u.i;
    if (hi > 1 << 20) continue;
    cond = ex_and(a, cond, ex_lt(a, ex_var(a, v), s->u.loop.extent[i]));
    s->u.loop.extent[i] = ex_index(a, hi < 1 ? 1 : hi);
  }
  if (cond) s->u.loop.body = walk_block(a, st_if(a, cond, s->u.loop.body, NULL, s->span));
}

typedef struct {
  Arena *arena;
  bool inside; // a parallel loop
} Tiles;

static Stmt *expand(Tiles *t, Stmt *s);

static Stmt *expand_block(Tiles *t, Stmt *s) {
  if (!s) return NULL;
  if (s->kind != ST_BLOCK) return expand(t, s);
  Stmt *out = st_block(t->arena, s->span);
  for (int i = 0; i < s->u.block.len; i++) st_add(t->arena, out, expand(t, s->u.block.data[i]));
  s->u.block = out->u.block;
  return s;
}

// Tile ops become loops; a parallel loop inside a parallel iteration is a serial one.
static Stmt *expand(Tiles *t, Stmt *s) {
  if (tile_is_loop(s)) return tile_to_loop(t->arena, s, t->inside);
  if (s->kind == ST_IF) {
    s->u.branch.yes = expand_block(t, s->u.branch.yes);
    s->u.branch.no = expand_block(t, s->u.branch.no);
  }
  if (s->kind == ST_BLOCK) return expand_block(t, s);
  if (s->kind != ST_FOR) return s;
  bool parallel = s->u.loop.loop == LOOP_PARALLEL, was = t->inside;
  if (parallel && !was) merge_nest(t->arena, s);
  t->inside = was || parallel;
  s->u.loop.body = expand_block(t, s->u.loop.body);
  t->inside = was;
  if (!parallel || !was) return s;
  Stmt *body = s->u.loop.body;
  for (int i = s->u.loop.nvars - 1; i >= 0; i--)
    body = st_for(t->arena, LOOP_SERIAL, s->u.loop.var[i], s->u.loop.min[i], s->u.loop.extent[i],
                  walk_block(t->arena, body), s->span);
  return body;
}

/* ------------------------------------------------------------------ inference */

static void loop_memory(void *ctx, const Access *acc) {
  LoopInfo *l = ctx;
  const Buffer *b = acc->region.buf;
  if (b->scope == SC_GLOBAL || b->scope == SC_SHARED) l->memory = true;
  int bytes = (dt_bits(b->dtype) + 7) / 8, *most = &l->bytes;
  if (b->scope == SC_GLOBAL || b->scope == SC_SHARED) most = &l->memory_bytes;
  if (bytes > *most) *most = bytes;
}

typedef struct {
  Arena *arena;
  LoopInfo *loop;
} MemoryScan;

static void scan_memory(void *ctx, Stmt *s) {
  MemoryScan *m = ctx;
  st_accesses(m->arena, s, loop_memory, m->loop);
}

static bool constant_extents(const Stmt *s) {
  int64_t v;
  for (int i = 0; i < s->u.loop.nvars; i++)
    if (!ex_const(s->u.loop.extent[i], &v)) return false;
  return true;
}

static void find_loops(void *ctx, Stmt *s) {
  Infer *in = ctx;
  Arena *a = in->c->arena;
  if (s->kind != ST_FOR || s->u.loop.loop != LOOP_PARALLEL) return;
  normal_bounds(a, in->facts, s);
  if (!constant_extents(s)) return;
  Crew crew = crews_at(in->crews, s);
  LoopInfo l = {.stmt = s, .bytes = 1, .threads = crew.hi - crew.lo};
  MemoryScan m = {a, &l};
  st_walk(s->u.loop.body, scan_memory, &m);
  l.uses = frag_uses(a, s);
  Widths w = {a, in->facts, in->c->target};
  if (l.memory) l.bytes = l.memory_bytes;
  l.width = width_loop(&w, s, 16 / l.bytes);
  for (int i = 0; i < l.uses.len; i++)
    if (l.uses.data[i].update) vec_push(a, &in->reducers, l.uses.data[i].buf);
  vec_push(a, &in->loops, l);
}

static bool is_reducer(const Infer *in, const Buffer *b) {
  for (int i = 0; i < in->reducers.len; i++)
    if (in->reducers.data[i] == b) return true;
  return false;
}

// Does some fragment of the loop lack one of its dimensions?
static bool projects(const LoopInfo *l) {
  for (int v = 0; v < l->stmt->u.loop.nvars; v++) {
    if (ex_is(l->stmt->u.loop.extent[v], 1)) continue;
    for (int i = 0; i < l->uses.len; i++) {
      const FragUse *u = &l->uses.data[i];
      bool used = !u->plain;
      for (int d = 0; d < u->buf->ndim; d++) used = used || u->dim[d] == v;
      if (!used) return true;
    }
  }
  return false;
}

static bool shares_fragment(const LoopInfo *x, const LoopInfo *y) {
  for (int i = 0; i < x->uses.len; i++)
    for (int k = 0; k < y->uses.len; k++)
      if (x->uses.data[i].buf == y->uses.data[k].buf) return true;
  return false;
}

// Loops that are connected by fragments with one that projects keep their dimensions apart.
static void find_apart(Infer *in) {
  LoopInfo *l = in->loops.data;
  int n = in->loops.len;
  for (int i = 0; i < n; i++) l[i].apart = projects(&l[i]);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < n; i++)
      for (int k = 0; !l[i].apart && k < n; k++)
        if (l[k].apart && shares_fragment(&l[i], &l[k])) changed = l[i].apart = true;
  }
}

static Layout *coalesced(Infer *in, const LoopInfo *l) {
  const Stmt *s = l->stmt;
  int64_t shape[LOOP_MAX_DIMS], total = 1;
  for (int i = 0; i < s->u.loop.nvars; i++) {
    shape[i] = s->u.loop.extent[i]->u.i < 1 ? 1 : s->u.loop.extent[i]->u.i;
    total *= shape[i];
  }
  int w = l->memory ? l->width : 16 / l->bytes;
  while (w > 1 && shape[s->u.loop.nvars - 1] % w) w /= 2;
  while (w > 1 && total < (int64_t)l->threads * w && w * l->bytes > 4) w /= 2;
  return (l->apart ? layout_separate : layout_coalesced)(in->c->arena, shape, s->u.loop.nvars, 1,
                                                         l->threads, w);
}

// The layout that the known fragments of a loop ask for; written ones come first.
static Layout *demanded(Arena *a, const LoopInfo *l) {
  Layout *read = NULL, *written = NULL;
  for (int i = 0; i < l->uses.len; i++) {
    const FragUse *u = &l->uses.data[i];
    Layout *d = u->update ? NULL : frag_to_loop(a, u, l->stmt);
    if (!d) continue;
    bool fits = true; // a fragment larger than the loop: handled as a part of it
    for (int v = 0; v < d->ndims; v++) fits = fits && ex_is(l->stmt->u.loop.extent[v], d->shape[v]);
    if (!fits) continue;
    if (u->write) written = d;
    else if (!read || read->nreplicas) read = d;
  }
  for (int i = 0; i < l->uses.len && !written && !read; i++)
    read = frag_part(a, &l->uses.data[i], l->stmt);
  Layout *want = written ? written : read;
  return want ? layout_runs(a, want) : NULL;
}

// b's layout as that of a buffer of another shape which names the same storage.
static Layout *renamed(Arena *a, const Buffer *b, const Buffer *as) {
  int64_t shape[LOOP_MAX_DIMS];
  if (!b->layout || dt_bits(b->dtype) != dt_bits(as->dtype) || as->ndim > LOOP_MAX_DIMS)
    return NULL;
  for (int d = 0; d < as->ndim; d++) ex_const(as->shape[d], &shape[d]);
  return layout_reshape(a, b->layout, shape, as->ndim);
}

static bool propagate_views(Infer *in) {
  Kernel *k = in->kernel;
  bool changed = false;
  for (int i = 0; i < k->buffers.len; i++) {
    Buffer *v = k->buffers.data[i];
    if (v->scope != SC_FRAGMENT || !v->base) continue;
    if (!v->layout && (v->layout = renamed(in->c->arena, v->base, v))) changed = true;
    if (!v->base->layout && (v->base->layout = renamed(in->c->arena, v, v->base))) changed = true;
  }
  return changed;
}

static bool propagate(Infer *in) {
  Arena *a = in->c->arena;
  bool changed = propagate_views(in);
  for (int i = 0; i < in->loops.len; i++) {
    LoopInfo *l = &in->loops.data[i];
    if (!l->stmt->u.loop.layout && (l->stmt->u.loop.layout = demanded(a, l))) changed = true;
    for (int k = 0; l->stmt->u.loop.layout && k < l->uses.len; k++) {
      Buffer *b = l->uses.data[k].buf;
      if (!l->uses.data[k].update && is_reducer(in, b)) continue;
      if (!b->layout && (b->layout = frag_from_loop(a, &l->uses.data[k], l->stmt->u.loop.layout)))
        changed = true;
    }
  }
  return changed;
}

// Is the mapping of the loop that of a reducer, which the loops that update it decide?
static bool follows(const Infer *in, const LoopInfo *l) {
  for (int i = 0; i < l->uses.len; i++) {
    const FragUse *u = &l->uses.data[i];
    if (!u->update && !u->buf->layout && is_reducer(in, u->buf)) return true;
  }
  return false;
}

// The free loop to settle first: one whose accesses say most about a good mapping.
static LoopInfo *next_free(Infer *in) {
  LoopInfo *best = NULL;
  int best_score = -1;
  for (int i = 0; i < in->loops.len; i++) {
    LoopInfo *l = &in->loops.data[i];
    int wide = 0; // dimensions with more than one iteration
    for (int v = 0; v < l->stmt->u.loop.nvars; v++) wide += !ex_is(l->stmt->u.loop.extent[v], 1);
    int score = (wide ? wide : 1) * 100 + l->memory * 50 + l->width;
    if (follows(in, l)) score = 0;
    if (l->stmt->u.loop.layout || score <= best_score) continue;
    best = l;
    best_score = score;
  }
  return best;
}

static void infer(Infer *in) {
  for (;;) {
    if (propagate(in)) continue;
    LoopInfo *l = next_free(in);
    if (!l) break;
    l->stmt->u.loop.layout = coalesced(in, l);
  }
  Kernel *k = in->kernel;
  for (int i = 0; i < k->buffers.len; i++) {
    Buffer *b = k->buffers.data[i];
    if (b->scope != SC_FRAGMENT || b->layout) continue;
    if (views_named(k, b)) {
      diag_report(in->c->diags, DIAG_NOT_LOWERED, b->span,
                  arena_printf(in->c->arena, "fragment %s, which has another name,", b->name),
                  in->c->target->name);
    }
    int64_t shape[LOOP_MAX_DIMS];
    for (int d = 0; d < b->ndim; d++) ex_const(b->shape[d], &shape[d]);
    Crew crew = crews_of(in->crews, b);
    b->layout =
        layout_coalesced(in->c->arena, shape, b->ndim, dt_bits(b->dtype), crew.hi - crew.lo, 1);
  }
}

static void remark_loops(Infer *in) {
  for (int i = 0; i < in->loops.len; i++) {
    Buf b = {0};
    layout_print(in->loops.data[i].stmt->u.loop.layout, &b);
    diag_remark(in->c->diags, in->loops.data[i].stmt->span, "layout", "%s", buf_str(&b));
    buf_free(&b);
  }
}

void pass_layout(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) {
    Kernel *k = p->kernels.data[i];
    expand_tiles(c->arena, k);
    layout_demote_scalars(c, k);
    Tiles t = {c->arena, false};
    k->body = walk_block(c->arena, expand_block(&t, k->body));
    layout_gemm_operands(c, k);
    layout_parts(c, k);
    Infer in = {.c = c, .kernel = k, .facts = facts_new(c->arena, p, k)};
    in.crews = crews_new(c->arena, k);
    walk_facts(c->arena, in.facts, k->body, find_loops, &in);
    find_apart(&in);
    infer(&in);
    remark_loops(&in);
    layout_stage_misfits(c, k);
    layout_carry_sums(c, k);
    layout_shared_tiles(c, k);
  }
}
