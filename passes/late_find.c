// Which stores of a tile may wait until the next tile's products are under way: those at the end of
// a loop over tiles which touch nothing that the rest of the loop does but accumulators, and order
// nothing but themselves.
// SPDX-License-Identifier: MIT
#include "passes/late.h"

static bool find_tiles(Late *l) {
  Stmt *roles = walk_roles(l->k);
  if (!roles || !l->k->workers || roles->u.branch.yes->kind != ST_BLOCK) return false;
  l->around = roles->u.branch.yes;
  for (l->at = 0; l->at < l->around->u.block.len; l->at++) {
    l->tiles = l->around->u.block.data[l->at];
    if (l->tiles->kind != ST_FOR || l->tiles->u.loop.loop != LOOP_SERIAL) continue;
    if (!persist_walks(l->k, l->tiles)) continue;
    if (l->tiles->u.loop.cond || l->tiles->u.loop.body->kind != ST_BLOCK) continue;
    l->body = &l->tiles->u.loop.body->u.block;
    return ex_is(l->tiles->u.loop.min[0], 0);
  }
  return false;
}

// The one loop that multiplies, of a known number of iterations, and the place in it where its
// products have been issued and are not yet waited for.
static bool find_products(Late *l) {
  l->products = -1;
  for (int i = 0; i < l->body->len; i++) {
    if (!st_has_op(l->body->data[i], OP_WGMMA)) continue;
    if (l->products >= 0) return false;
    l->products = i;
  }
  if (l->products < 0) return false;
  Stmt *loop = l->body->data[l->products];
  if (loop->kind != ST_FOR || loop->u.loop.loop != LOOP_SERIAL || loop->u.loop.cond) return false;
  if (!ex_is(loop->u.loop.min[0], 0) || !ex_const(loop->u.loop.extent[0], &l->trips)) return false;
  Stmt *body = loop->u.loop.body;
  if (body->kind != ST_BLOCK || l->trips < 1 || st_count_op(body, OP_WGMMA_COMMIT) != 1)
    return false;
  for (l->hook = 1; l->hook < body->u.block.len; l->hook++)
    if (st_is_op(body->u.block.data[l->hook - 1], OP_WGMMA_COMMIT)) break;
  return l->hook < body->u.block.len && st_is_op(body->u.block.data[l->hook], OP_WGMMA_WAIT);
}

static bool goes_late(Stmt *s) {
  static const OpCode ops[] = {OP_BULK_WAIT, OP_BAR_SYNC, OP_STMATRIX, OP_TMA_STORE,
                               OP_FENCE_PROXY};
  for (size_t i = 0; i < LEN(ops); i++)
    if (st_has_op(s, ops[i])) return true;
  return false;
}

typedef struct {
  const Late *l;
  bool bad;
} Look;

static bool is_of_products(OpCode op) {
  switch (op) {
  case OP_WGMMA:
  case OP_WGMMA_FENCE:
  case OP_WGMMA_COMMIT:
  case OP_WGMMA_WAIT:
  case OP_MBAR_WAIT:
  case OP_MBAR_ARRIVE:
  case OP_MBAR_ARRIVE_REMOTE:
  case OP_SYNC_WARP: return true;
  default: return false;
  }
}

// What stays may order threads by the channels' barriers only, and touch registers and tensors that
// it reads.
static void stay_access(void *ctx, const Access *x) {
  Look *look = ctx;
  Scope s = x->region.buf->scope;
  if (s == SC_SHARED || s == SC_MAP || (s == SC_GLOBAL && x->mode != ACC_READ)) look->bad = true;
}

static void look_stay(void *ctx, Stmt *s) {
  Look *look = ctx;
  if (s->kind == ST_OP) {
    if (is_of_products(s->u.op.op)) return;
    if (op_info(s->u.op.op)->sync != SYNC_NONE || goes_late(s)) look->bad = true;
  }
  st_accesses(look->l->a, s, stay_access, look);
}

// What goes late reads registers in nests and by stmatrix only, which leave them to late.c.
static void late_access(void *ctx, const Access *x) {
  Look *look = ctx;
  if (x->region.buf->scope == SC_LOCAL) look->bad = true;
}

static void look_late(void *ctx, Stmt *s) {
  Look *look = ctx;
  switch (s->kind) {
  case ST_BLOCK:
  case ST_FOR:
  case ST_ASSUME:
  case ST_IF: break;
  case ST_OP:
    if (!goes_late(s) && !st_is_op(s, OP_BULK_COMMIT)) look->bad = true;
    break;
  default: look->bad = true;
  }
  st_accesses(look->l->a, s, late_access, look);
}

typedef struct {
  Arena *a;
  VEC(const Buffer *) list;
} Tiles;

static void note_tile(void *ctx, const Access *x) {
  Tiles *t = ctx;
  if (x->region.buf->scope == SC_SHARED) vec_push(t->a, &t->list, x->region.buf);
}

static void note_tiles(void *ctx, Stmt *s) {
  Tiles *t = ctx;
  st_accesses(t->a, s, note_tile, t);
}

static bool share_bytes(const Buffer *x, const Buffer *y) {
  return buf_root(x) == buf_root(y) ||
         (x->offset < y->offset + buf_bytes(y) && y->offset < x->offset + buf_bytes(x));
}

// Does nothing but what goes late touch the bytes of its tiles?
static bool has_own_tiles(Late *l) {
  Tiles late = {.a = l->a}, all = {.a = l->a};
  for (int i = l->from; i < l->body->len; i++) st_walk(l->body->data[i], note_tiles, &late);
  StmtVec kept = *l->body;
  l->body->len = l->from;
  st_walk(l->k->body, note_tiles, &all);
  *l->body = kept;
  for (int i = 0; i < late.list.len; i++)
    for (int j = 0; j < all.list.len; j++)
      if (share_bytes(late.list.data[i], all.list.data[j])) return false;
  return late.list.len > 0;
}

// Registers that one stmatrix stores and what follows the products alone has filled.
static bool waits_as_it_is(Late *l, const Stmt *put) {
  const Buffer *src = put->u.op.arg[op_arg(OP_STMATRIX, "src")].region->buf;
  for (int i = 0; i <= l->products; i++)
    if (walk_touches_beside(l->a, l->body->data[i], NULL, src)) return false;
  l->kept += buf_bytes(src) / 4;
  return true;
}

static bool store_waits(Late *l, Stmt *s) {
  LateNest nest;
  Look look = {l, false};
  if (st_is_op(s, OP_STMATRIX)) return waits_as_it_is(l, s);
  if (s->kind != ST_FOR || !late_nest(l, s, &nest)) {
    st_walk(s, look_late, &look);
    return !look.bad;
  }
  l->kept += nest.count * buf_bytes(nest.scratch) / 4;
  return !walk_touches_beside(l->a, l->k->body, nest.fills, nest.scratch);
}

static bool find_stores(Late *l) {
  l->from = l->products + 1;
  while (l->from < l->body->len && !goes_late(l->body->data[l->from])) l->from++;
  Look look = {l, false};
  for (int i = 0; i < l->from; i++) st_walk(l->body->data[i], look_stay, &look);
  if (look.bad) return false;
  for (int i = l->from; i < l->body->len; i++)
    if (!store_waits(l, l->body->data[i])) return false;
  return has_own_tiles(l);
}

typedef struct {
  Arena *a;
  VEC(const Buffer *) list;
  int words;
} Accumulators;

static bool is_accumulator(const Accumulators *x, const Buffer *b) {
  for (int i = 0; i < x->list.len; i++)
    if (x->list.data[i] == b) return true;
  return false;
}

static void add_accumulator(void *ctx, Stmt *s) {
  Accumulators *x = ctx;
  if (!st_is_op(s, OP_WGMMA)) return;
  const Buffer *d = s->u.op.arg[op_arg(OP_WGMMA, "d")].region->buf;
  if (is_accumulator(x, d)) return;
  vec_push(x->a, &x->list, d);
  x->words += (int)(buf_bytes(d) / 4);
}

static bool touched(const Late *l, const StmtVec *all, int from, int to, const Buffer *b) {
  bool found = false;
  for (int i = from; i < to && !found; i++) found = walk_touches(l->a, all->data[i], b, false);
  return found;
}

// Registers of arrays that hold something while the products run, and are not theirs.
static int64_t held_beside(const Late *l, const Accumulators *x) {
  int64_t n = 0;
  const StmtVec *body = l->body;
  for (int i = 0; i < l->k->buffers.len; i++) {
    const Buffer *b = l->k->buffers.data[i];
    if (b->scope != SC_LOCAL || buf_elems(b) == 1 || is_accumulator(x, b)) continue;
    bool before =
        touched(l, body, 0, l->products, b) || touched(l, &l->around->u.block, 0, l->at, b);
    bool after = touched(l, body, l->products + 1, l->from, b);
    bool in = touched(l, body, l->products, l->products + 1, b);
    if (in || (before && after)) n += buf_bytes(b) / 4;
  }
  return n;
}

bool late_find(Late *l) {
  if (!find_tiles(l) || !find_products(l) || !find_stores(l)) return false;
  Accumulators x = {.a = l->a};
  st_walk(l->body->data[l->products], add_accumulator, &x);
  l->accumulators = x.words;
  l->others = held_beside(l, &x);
  return true;
}

/* nests */

typedef struct {
  const Buffer *scratch;
  bool bad;
} Fill;

static void fill_access(void *ctx, const Access *x) {
  Fill *f = ctx;
  bool own = x->region.buf == f->scratch;
  if (own != (x->mode != ACC_READ) || x->region.buf->scope != SC_LOCAL) f->bad = true;
}

typedef struct {
  Arena *a;
  Fill fill;
} Filling;

static void look_fill(void *ctx, Stmt *s) {
  Filling *f = ctx;
  if (s->kind == ST_OP || s->kind == ST_IF || s->kind == ST_LET) f->fill.bad = true;
  st_accesses(f->a, s, fill_access, &f->fill);
}

static bool unrolled(const Stmt *s, int64_t *n) {
  return s->kind == ST_FOR && s->u.loop.loop == LOOP_UNROLL && !s->u.loop.cond &&
         ex_is(s->u.loop.min[0], 0) && ex_const(s->u.loop.extent[0], n);
}

bool late_nest(const Late *l, Stmt *s, LateNest *nest) {
  int64_t n;
  nest->count = 1;
  while (unrolled(s, &n)) {
    nest->count *= n;
    s = s->u.loop.body;
    if (s->kind != ST_BLOCK || !s->u.block.len) return false;
    if (s->u.block.len == 1 && s->u.block.data[0]->kind == ST_FOR) s = s->u.block.data[0];
  }
  if (s->kind != ST_BLOCK) return false;
  Stmt *last = s->u.block.data[s->u.block.len - 1];
  if (!st_is_op(last, OP_STMATRIX)) return false;
  nest->fills = s;
  nest->scratch = last->u.op.arg[op_arg(OP_STMATRIX, "src")].region->buf;
  Filling f = {l->a, {nest->scratch, false}};
  for (int i = 0; i + 1 < s->u.block.len; i++) st_walk(s->u.block.data[i], look_fill, &f);
  return !f.fill.bad && nest->scratch->scope == SC_LOCAL;
}
