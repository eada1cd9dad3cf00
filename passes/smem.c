// smem: shared buffers get byte offsets; buffers whose lifetimes do not meet share bytes. A
// lifetime is the interval of program positions from the first to the last access, stretched over
// the outermost loop around each: what a loop leaves in a tile may be read in its next iteration.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

#include <stdlib.h>

typedef struct {
  Buffer *buf;
  int64_t bytes;
  int align;
  int first, last; // program positions; first > last: never accessed
  bool filled;     // by the producers, who run beside the program, for its next use
  bool all_along;  // whatever the positions: used by the producers otherwise, or an mbarrier
} Life;

typedef struct {
  Arena *arena;
  VEC(Life) lives;
  int position;
  int outer_begin; // position where the outermost loop around here began; -1 outside loops
  bool producers;  // inside their branch: what they touch lives all along
  bool alone;      // inside a branch of some threads that wait at mbarriers: the same
  Uniform *uniform;
} Scan;

static void touch(void *ctx, const Access *acc) {
  Scan *s = ctx;
  for (int i = 0; i < s->lives.len; i++) {
    Life *l = &s->lives.data[i];
    if (l->buf != acc->region.buf) continue;
    int at = s->outer_begin >= 0 ? s->outer_begin : s->position;
    if (s->producers) {
      if (acc->async && acc->mode == ACC_WRITE) l->filled = true;
      else l->all_along = true;
      continue;
    }
    l->all_along |= s->alone;
    if (l->first > l->last) l->first = at;
    l->last = s->position; // all tiles of a loop meet at its beginning, which is enough
  }
}

// An mbarrier is nothing else as long as the block lives.
static void keep_barrier(Scan *s, const Stmt *x) {
  if (x->kind != ST_OP || x->u.op.op != OP_MBAR_INIT) return;
  for (int i = 0; i < s->lives.len; i++)
    s->lives.data[i].all_along |= s->lives.data[i].buf == x->u.op.arg[0].region->buf;
}

// A branch whose threads run beside the others', ordered by mbarriers alone (sync_by_hand)?
static bool by_hand(const Scan *s, Stmt *x) {
  if (x->kind != ST_IF || x->u.branch.roles || !st_has_op(x, OP_MBAR_WAIT)) return false;
  return !uniform_expr(s->uniform, x->u.branch.cond);
}

static void scan(Scan *s, Stmt *x) {
  if (!x) return;
  s->position++;
  keep_barrier(s, x);
  bool outermost = x->kind == ST_FOR && s->outer_begin < 0;
  st_accesses(s->arena, x, touch, s);
  if (outermost) s->outer_begin = s->position;
  if (x->kind == ST_BLOCK)
    for (int i = 0; i < x->u.block.len; i++) scan(s, x->u.block.data[i]);
  if (x->kind == ST_FOR) scan(s, x->u.loop.body);
  if (x->kind == ST_IF) {
    bool was = s->producers, alone = s->alone;
    s->alone = alone || by_hand(s, x);
    scan(s, x->u.branch.yes);
    s->producers = was || x->u.branch.roles;
    scan(s, x->u.branch.no);
    s->producers = was;
    s->alone = alone;
  }
  if (outermost) s->outer_begin = -1;
}

static int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

static int by_size(const void *pa, const void *pb) {
  const Life *a = *(Life *const *)pa, *b = *(Life *const *)pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return a < b ? -1 : a > b;
}

// A producer fills a tile early, maybe from the first statement on, and never more often than the
// consumers use it: after their last use of it nothing arrives there.
static bool meet(const Life *a, const Life *b, bool close) {
  if (a->all_along || b->all_along || (!close && (a->filled || b->filled))) return true;
  return (a->filled || a->first <= b->last) && (b->filled || b->first <= a->last);
}

// The lowest aligned offset where l meets none of the placed lives in both time and space.
static int64_t place(Life **placed, int n, const Life *l, bool close) {
  int64_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < n; i++) {
      const Life *o = placed[i];
      if (!meet(o, l, close) || at + l->bytes <= o->buf->offset || o->buf->offset + o->bytes <= at)
        continue;
      at = round_up(o->buf->offset + o->bytes, l->align);
      moved = true;
    }
  }
  return at;
}

// What would fit: fewer stages, else smaller tiles.
static const char *advice(PassCtx *c, const Kernel *k, const Scan *s, int64_t total) {
  int64_t per_stage = 0, limit = c->target->max_smem_block;
  int stages = 0;
  const Life *largest = NULL;
  for (int i = 0; i < s->lives.len; i++) {
    const Life *l = &s->lives.data[i];
    const PlanBuffer *b = plan_buffer(c->plan, l->buf);
    if (b && b->ring > 1) per_stage += l->bytes / b->ring;
    if (b && b->ring > stages) stages = b->ring;
    if (!largest || l->bytes > largest->bytes) largest = l;
  }
  const char *asked = pass_flag(c, NULL, "stages", 0) ? "-fstages"
                      : pass_flag(c, k, "stages", 0)  ? "stages"
                                                      : "num_stages";
  for (int n = stages - 1; n >= 1; n--) {
    int64_t bytes = total - per_stage * (stages - n);
    if (bytes <= limit)
      return arena_printf(c->arena, "%s=%d instead of %d takes %lld", asked, n, stages,
                          (long long)bytes);
  }
  return arena_printf(c->arena, "use smaller tiles: %s alone takes %lld", largest->buf->name,
                      (long long)largest->bytes);
}

enum { MAX_TILES = 3 };

// The largest tiles, with what a pipeline makes of them.
static void note_tiles(const Program *p, PassCtx *c, Life **order, int n) {
  for (int i = 0; i < n && i < MAX_TILES; i++) {
    const Life *l = order[i];
    const PlanBuffer *b = plan_buffer(c->plan, l->buf);
    const char *stages = b && b->ring > 1 ? arena_printf(c->arena, " in %d stages", b->ring) : "";
    diag_note(c->diags, l->buf->span, "%s takes %lld bytes%s%s", l->buf->name, (long long)l->bytes,
              stages, note_values(c, p, l->buf->span));
  }
}

// Offsets for all of them; close: in the bytes of tiles that the producers have filled too. That
// takes barriers, so only where the tiles do not fit otherwise. Returns the bytes in use.
static int64_t place_all(Life **order, int n, bool close) {
  int64_t total = 0;
  for (int i = 0; i < n; i++) {
    Life *l = order[i];
    l->buf->offset = place(order, i, l, close);
    int64_t end = l->buf->offset + l->bytes;
    total = end > total ? end : total;
  }
  return total;
}

static void smem_kernel(Program *p, Kernel *k, PassCtx *c) {
  Scan s = {.arena = c->arena, .outer_begin = -1};
  int64_t sum = 0;
  for (int i = 0; i < k->buffers.len; i++) {
    Buffer *b = k->buffers.data[i];
    if (b->scope != SC_SHARED) continue;
    int64_t bytes = buf_bytes(b);
    int align = b->align > 128 ? b->align : bytes >= 1024 ? 1024 : 128;
    bool own = teams_own(c->arena, k, b);
    if (own) bytes = teams_pitch(b) * k->teams;
    vec_push(c->arena, &s.lives, ((Life){b, bytes, align, 1, 0, false, own}));
    sum += bytes;
  }
  s.uniform = uniform_new(c->arena, k);
  scan(&s, k->body);
  Life **order = NEWN(c->arena, Life *, s.lives.len);
  for (int i = 0; i < s.lives.len; i++) order[i] = &s.lives.data[i];
  qsort(order, (size_t)s.lives.len, sizeof *order, by_size);
  int64_t total = place_all(order, s.lives.len, false), limit = c->target->max_smem_block;
  if (total > limit) total = place_all(order, s.lives.len, true);
  k->smem_bytes = total;
  if (total > limit && thrift_more(c, p, k, total)) return;
  if (total > limit) {
    diag_report(c->diags, DIAG_SMEM_LIMIT, k->span, (long long)total,
                (long long)c->target->max_smem_block, c->target->name, advice(c, k, &s, total));
    note_tiles(p, c, order, s.lives.len);
  }
  if (s.lives.len && total < sum)
    diag_remark(c->diags, k->span, "smem", "%lld bytes of shared memory for %lld bytes of tiles",
                (long long)total, (long long)sum);
  else if (s.lives.len)
    diag_remark(c->diags, k->span, "smem", "%lld bytes of shared memory", (long long)total);
}

void pass_smem(Program *p, PassCtx *c) {
  for (int i = 0; i < p->kernels.len; i++) smem_kernel(p, p->kernels.data[i], c);
}
