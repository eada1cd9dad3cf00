// One-dimensional bulk copies and reductions, and bulk groups.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/tma.h"

static bool run_ok(Emu *e, const ERegion *r, int64_t at, int lane) {
  int64_t places[LANES];
  uint32_t mask = UINT32_C(1) << lane;
  places[lane] = at;
  return mem_in_range(e, r->buf, places, r->count, mask) &&
         mem_aligned(e, r->buf, places, 16, mask);
}

static int64_t bytes_of(const ERegion *r) { return (int64_t)r->count * dt_bits(r->buf->type) / 8; }

static int64_t byte_at(const ERegion *r, int64_t at) { return at * dt_bits(r->buf->type) / 8; }

static void count(Emu *e, int64_t bytes) {
  e->report->global_sectors += (uint64_t)(bytes + 31) / 32;
  e->report->global_min += (uint64_t)(bytes + 31) / 32;
}

static void load(Emu *e, const Instr *in, const int64_t *at, int64_t blocks, int lane) {
  const ERegion *src = &in->r[0], *dst = &in->r[1];
  uint32_t targets = tma_targets(e, in, lane, blocks);
  for (int r = 0; r < e->nblocks; r++) {
    if (!(targets >> r & 1)) continue;
    const Block *to = &e->blocks[r];
    MBar *bar;
    uint32_t op = 0;
    if (!tma_begin_load(e, to, in, at[2], lane, &bar, &op)) continue;
    if (e->hb) hb_async_in(e, to, dst->buf, at[1], dst->count, lane, op, TOUCH_WRITE);
    if (e->hb && shadow_tracked(src->buf))
      hb_async(e, src->buf, at[0], src->count, lane, op, TOUCH_READ);
    memcpy(to->smem + dst->buf->base + byte_at(dst, at[1]), src->buf->raw + byte_at(src, at[0]),
           (size_t)bytes_of(src));
    count(e, bytes_of(src));
    mbar_complete_tx(e, bar, bytes_of(src));
  }
}

static void store(Emu *e, const Instr *in, const int64_t *at, int lane) {
  const ERegion *src = &in->r[0], *dst = &in->r[1];
  bool reduce = in->op == OP_BULK_REDUCE;
  uint32_t op = tma_begin_store(e, lane);
  DType t = dst->buf->type;
  if (e->hb) hb_async(e, src->buf, at[0], src->count, lane, op, TOUCH_READ);
  if (e->hb && shadow_tracked(dst->buf))
    hb_async(e, dst->buf, at[1], dst->count, lane, op, reduce ? TOUCH_ATOMIC : TOUCH_WRITE);
  if (!reduce)
    memcpy(dst->buf->raw + byte_at(dst, at[1]), src->buf->raw + byte_at(src, at[0]),
           (size_t)bytes_of(src));
  for (int k = 0; reduce && k < src->count; k++) {
    Val old = emu_read(t, dst->buf->raw, at[1] + k), v = emu_read(t, src->buf->raw, at[0] + k);
    emu_write(t, dst->buf->raw, at[1] + k, emu_atomic(t, (AtomicFn)in->i[0], old, v));
  }
  if (dst->buf->written) memset(dst->buf->written + at[1], 1, (size_t)dst->count);
  count(e, bytes_of(src));
}

void warp_bulk(Emu *e, const Instr *in) {
  bool is_load = in->op == OP_BULK_LOAD;
  uint32_t mask = e->w->mask;
  int64_t at[3][LANES] = {{0}}, blocks[LANES] = {0};
  for (int k = 0; k < 2 + is_load; k++) mem_lanes(e, in->r[k].min, mask, at[k]);
  if (in->e[0]) mem_lanes(e, in->e[0], mask, blocks);
  for (int i = 0; i < LANES; i++) {
    if (!(mask >> i & 1)) continue;
    const int64_t places[3] = {at[0][i], at[1][i], at[2][i]};
    if (!run_ok(e, &in->r[0], places[0], i) || !run_ok(e, &in->r[1], places[1], i)) continue;
    if (is_load) load(e, in, places, blocks[i], i);
    else store(e, in, places, i);
  }
}

/* groups, each of one thread */

void warp_bulk_commit(Emu *e) {
  for (int i = 0; e->hb && i < LANES; i++)
    if (e->w->mask >> i & 1) e->hb->issued[DONE_BULK][hb_thread(e, i)]++;
}

void warp_bulk_wait(Emu *e, const Instr *in) {
  for (int i = 0; e->hb && i < LANES; i++) {
    if (!(e->w->mask >> i & 1)) continue;
    int thread = hb_thread(e, i);
    int64_t done = (int64_t)e->hb->issued[DONE_BULK][thread] - 1 - in->i[0];
    if (done < 1) continue;
    hb_progress(e, DONE_BULK_READ, thread, (uint32_t)done);
    if (!in->i[1]) hb_progress(e, DONE_BULK, thread, (uint32_t)done);
  }
}
