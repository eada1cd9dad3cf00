// What comes from HBM: the boxes of tensors that blocks which run at once touch, each counted once;
// what the wave before has left in L2 is not fetched again.
// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "tuner/model.h"

enum { MAX_DIMS = 8, MAX_WAVE = 4096 };

// A box of a tensor that some block touches in all of its iterations.
typedef struct {
  uint64_t key; // 0: none
  double bytes;
} Box;

typedef struct {
  Box *slot;
  int cap, len;
} Boxes;

typedef struct {
  MvEnv env;
  Arena *arena;
  const Kernel *kernel;
  Boxes *boxes;
} Look;

/* ------------------------------------------------------------------ sets of boxes */

static Boxes boxes_new(int cap) {
  Boxes b = {calloc((size_t)cap, sizeof(Box)), cap, 0};
  if (!b.slot) fatal("get memory:");
  return b;
}

static Box *find(const Boxes *b, uint64_t key) {
  size_t i = key % (size_t)b->cap;
  while (b->slot[i].key && b->slot[i].key != key) i = (i + 1) % (size_t)b->cap;
  return &b->slot[i];
}

static void add(Boxes *b, uint64_t key, double bytes) {
  Box *slot = find(b, key);
  if (slot->key) return;
  *slot = (Box){key, bytes};
  if (++b->len * 2 < b->cap) return;
  Boxes more = boxes_new(b->cap * 2);
  for (int i = 0; i < b->cap; i++) {
    if (b->slot[i].key) *find(&more, b->slot[i].key) = b->slot[i];
  }
  more.len = b->len;
  free(b->slot);
  *b = more;
}

static double total(const Boxes *b) {
  double sum = 0;
  for (int i = 0; i < b->cap; i++) sum += b->slot[i].bytes;
  return sum;
}

static double not_in(const Boxes *b, const Boxes *before) {
  double sum = 0;
  for (int i = 0; i < b->cap; i++) {
    if (b->slot[i].key && !find(before, b->slot[i].key)->key) sum += b->slot[i].bytes;
  }
  return sum;
}

/* ------------------------------------------------------------------ one block */

static void access(void *ctx, const Access *a) {
  Look *l = ctx;
  const Buffer *b = a->region.buf;
  if (b->scope != SC_GLOBAL || a->region.n > MAX_DIMS) return;
  int64_t box[MAX_DIMS * 2 + 2] = {(int64_t)(uintptr_t)buf_root(b), a->mode != ACC_READ};
  double bytes = dt_bits(b->dtype) / 8.0;
  l->env.sweep = true;
  for (int i = 0; i < a->region.n; i++) {
    MvRange at = mv_eval(&l->env, a->region.min[i]), n = mv_eval(&l->env, a->region.extent[i]);
    int64_t size = mv_eval(&l->env, b->shape[i]).hi, lo = at.lo, hi = at.hi + n.hi;
    if (lo < 0) lo = 0;
    if (hi > size) hi = size;
    if (hi < lo) hi = lo;
    box[2 * i + 2] = lo;
    box[2 * i + 3] = hi;
    bytes *= (double)(hi - lo);
  }
  l->env.sweep = false;
  uint64_t key = hash_bytes(box, sizeof box, 0);
  add(l->boxes, key ? key : 1, a->mode == ACC_ATOMIC ? 2 * bytes : bytes);
}

static void visit(Look *l, Stmt *s) {
  int mark = l->env.cells.len;
  if (s->kind != ST_BLOCK) st_accesses(l->arena, s, access, l);
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) visit(l, s->u.block.data[i]);
    break;
  case ST_FOR:
    for (int i = 0; i < s->u.loop.nvars; i++) {
      l->env.sweep = true;
      MvRange from = mv_eval(&l->env, s->u.loop.min[i]), n = mv_eval(&l->env, s->u.loop.extent[i]);
      l->env.sweep = false;
      if (n.hi <= 0) {
        mv_pop(&l->env, mark);
        return;
      }
      int64_t extent = n.hi > LOOP_ENDLESS / 2 ? 1 : n.hi;
      MvRange all = {from.lo, from.hi + extent - 1};
      vec_push(l->arena, &l->env.cells, (MvCell){.var = s->u.loop.var[i]});
      mv_set(&l->env, s->u.loop.var[i], all, all);
    }
    visit(l, s->u.loop.body);
    break;
  case ST_IF: {
    l->env.guessed = false;
    int t = mv_truth(&l->env, s->u.branch.cond);
    if (t || l->env.guessed) visit(l, s->u.branch.yes);
    if (s->u.branch.no && t != 1 && !l->env.guessed) visit(l, s->u.branch.no);
    break;
  }
  case ST_LET: mv_let(&l->env, s->u.let.var, s->u.let.value); return;
  default: break;
  }
  mv_pop(&l->env, mark);
}

/* ------------------------------------------------------------------ waves */

static int64_t grid(MvEnv *e, const Kernel *k, int axis) {
  int64_t n = mv_point(e, k->grid[axis]);
  return n < 1 ? 1 : n;
}

// The boxes of blocks from .. from + n in launch order.
static Boxes wave_boxes(Arena *a, const Program *p, const Kernel *k, const TnBindings *sizes,
                        int64_t from, int64_t n) {
  Boxes boxes = boxes_new(256);
  Look l = {.env.arena = a, .arena = a, .kernel = k, .boxes = &boxes};
  mv_sizes(&l.env, p, sizes);
  MvRange threads = {0, k->threads - 1};
  mv_set(&l.env, k->thread, threads, threads);
  int64_t gx = grid(&l.env, k, 0), gy = grid(&l.env, k, 1);
  for (int64_t i = from; i < from + n; i++) {
    int64_t at[3] = {i % gx, i / gx % gy, i / gx / gy};
    for (int d = 0; d < 3; d++) {
      if (k->block[d])
        mv_set(&l.env, k->block[d], (MvRange){at[d], at[d]}, (MvRange){at[d], at[d]});
    }
    visit(&l, k->body);
  }
  return boxes;
}

// Once each, whichever block it is.
static double tensor_bytes(Arena *a, const Program *p, const Kernel *k, const TnBindings *sizes) {
  Boxes boxes = boxes_new(256);
  Look l = {.env.arena = a, .arena = a, .kernel = k, .boxes = &boxes};
  mv_sizes(&l.env, p, sizes);
  MvRange threads = {0, k->threads - 1};
  mv_set(&l.env, k->thread, threads, threads);
  for (int d = 0; d < 3; d++) {
    MvRange all = {0, grid(&l.env, k, d) - 1};
    if (k->block[d]) mv_set(&l.env, k->block[d], all, all);
  }
  visit(&l, k->body);
  double sum = total(&boxes);
  free(boxes.slot);
  return sum;
}

MtTraffic mt_traffic(Arena *a, const Program *p, const Kernel *k, const TnBindings *sizes,
                     int64_t wave, double l2_bytes) {
  MtTraffic t = {.tensors = tensor_bytes(a, p, k, sizes)};
  MvEnv env = {.arena = a};
  mv_sizes(&env, p, sizes);
  int64_t blocks = grid(&env, k, 0) * grid(&env, k, 1) * grid(&env, k, 2);
  int64_t n = wave < blocks ? wave : blocks;
  if (n > MAX_WAVE) n = MAX_WAVE;
  double scale = (double)(wave < blocks ? wave : blocks) / (double)n;
  Boxes first = wave_boxes(a, p, k, sizes, 0, n);
  t.first = total(&first);
  int64_t left = blocks - n < n ? blocks - n : n;
  if (left > 0) {
    Boxes next = wave_boxes(a, p, k, sizes, n, left);
    double whole = total(&next);
    t.next = (t.first <= l2_bytes ? not_in(&next, &first) : whole) * (double)n / (double)left;
    free(next.slot);
  }
  free(first.slot);
  t.first *= scale;
  t.next *= scale;
  return t;
}
