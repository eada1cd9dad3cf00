// Tensor copies by TMA: boxes of tensor maps against dense, perhaps swizzled tiles of shared
// memory. From the PTX ISA ("Tensors", cp.async.bulk.tensor) and the CUDA driver's
// cuTensorMapEncodeTiled.
// SPDX-License-Identifier: MIT
#include "emu/tma.h"

#include <math.h>
#include <string.h>

/* maps */

EMap *emu_compile_map(Emu *e, const Buffer *b) {
  EMap *m = NEW(e->c.arena, EMap);
  *m = (EMap){.buf = b, .rank = b->ndim, .swizzle = b->map->swizzle, .nan = b->map->nan};
  m->of = &e->buf[emu_buffer(&e->c, b->map->of)];
  for (int d = 0; d < m->rank; d++) {
    int from = m->rank - 1 - d;
    m->shape[d] = emu_compile(&e->c, b->shape[from]);
    m->stride[d] = b->strides ? emu_compile(&e->c, b->strides[from]) : NULL;
    m->box[d] = b->map->box[from];
    m->step[d] = b->map->step[from];
    m->tile[d] = (m->box[d] + m->step[d] - 1) / m->step[d];
  }
  return m;
}

static const char *map_fault(Emu *e, const EMap *m) {
  Arena *a = e->m.arena;
  int64_t last = 0, size = dt_bytes(m->buf->dtype);
  for (int d = 0; d < m->rank; d++) {
    if (m->dim[d] < 1 || m->dim[d] > INT64_C(1) << 32)
      return arena_printf(a, "extent %lld is not within 1..2^32", (long long)m->dim[d]);
    if (d > 0 &&
        (m->pitch[d] * size % 16 || m->pitch[d] < 0 || m->pitch[d] * size >= INT64_C(1) << 40))
      return arena_printf(a, "a stride of %lld bytes is no multiple of 16 below 2^40",
                          (long long)(m->pitch[d] * size));
    last += (m->dim[d] - 1) * m->pitch[d];
  }
  if (last < m->of->elems) return NULL;
  return arena_printf(a, "its last element is number %lld of a tensor of %lld", (long long)last,
                      (long long)m->of->elems);
}

void tma_begin_kernel(Emu *e) {
  const Kernel *k = e->k->kernel;
  for (int i = 0; i < k->buffers.len; i++) {
    if (k->buffers.data[i]->scope != SC_MAP) continue;
    EMap *m = e->buf[emu_buffer(&e->c, k->buffers.data[i])].map;
    int64_t dense = 1;
    for (int d = 0; d < m->rank; d++) {
      m->dim[d] = emu_eval_int(&e->m, m->shape[d]);
      m->pitch[d] = m->stride[d] ? emu_eval_int(&e->m, m->stride[d]) : dense;
      dense *= m->dim[d];
    }
    const char *fault = map_fault(e, m);
    m->ok = !fault || dense == 0; // nothing can be read of an empty tensor
    if (!m->ok) EMU_FAIL(&e->m, m, DIAG_EMU_MAP, m->buf->span, m->buf->name, fault);
  }
}

/* boxes */

// One copy between a box and shared memory, by one lane.
typedef struct {
  Emu *e;
  const EMap *m;
  int64_t coord[MAP_RANK];
  uint8_t *smem; // of the block
  int64_t byte;  // of the tile in it
  int64_t size;  // of an element
  bool load;
  int reduce; // AtomicFn; -1: none
  int lane;
  uint32_t op;
} Box;

static int64_t swizzled(const EMap *m, int64_t byte) {
  int64_t chunks = m->swizzle / 16 - (m->swizzle > 0);
  return byte ^ (byte >> 7 & chunks) << 4;
}

static void fill(const Box *b, uint8_t *to) {
  if (!b->m->nan) memset(to, 0, (size_t)b->size);
  else emu_write(b->m->buf->dtype, to, 0, emu_float(NAN));
}

static void move(const Box *b, uint8_t *tile, int64_t at) {
  const EBuf *of = b->m->of;
  uint8_t *global = of->raw + at * b->size;
  if (b->load) {
    memcpy(tile, global, (size_t)b->size);
  } else if (b->reduce < 0) {
    memcpy(global, tile, (size_t)b->size);
  } else {
    DType t = b->m->buf->dtype;
    Val old = emu_read(t, global, 0), v = emu_read(t, tile, 0);
    emu_write(t, global, 0, emu_atomic(t, (AtomicFn)b->reduce, old, v));
  }
  if (!b->load && of->written) of->written[at] = 1;
}

// Is there a row at these outer digits, and where does it start?
static bool row_start(const Box *b, const int *digit, int64_t *at) {
  const EMap *m = b->m;
  *at = 0;
  for (int d = 1; d < m->rank; d++) {
    int64_t x = b->coord[d] + digit[d] * m->step[d];
    if (x < 0 || x >= m->dim[d]) return false;
    *at += x * m->pitch[d];
  }
  return true;
}

static void row(const Box *b, int64_t byte, bool inside, int64_t at) {
  const EMap *m = b->m;
  int64_t first = -1, last = -1;
  for (int j = 0; j < m->tile[0]; j++, byte += b->size) {
    int64_t x = b->coord[0] + (int64_t)j * m->step[0];
    uint8_t *tile = b->smem + swizzled(m, byte);
    if (inside && x >= 0 && x < m->dim[0]) {
      if (first < 0) first = x;
      last = x;
      move(b, tile, at + x);
    } else if (b->load) {
      fill(b, tile);
    }
  }
  if (first < 0) return;
  Emu *e = b->e;
  uint64_t sectors = (uint64_t)((last - first + 1) * b->size + 31) / 32;
  e->report->global_sectors += sectors;
  e->report->global_min += sectors;
  if (!e->hb || !shadow_tracked(m->of)) return;
  Touch touch = b->load ? TOUCH_READ : b->reduce < 0 ? TOUCH_WRITE : TOUCH_ATOMIC;
  int run = m->step[0] == 1 ? (int)(last - first + 1) : 1;
  for (int64_t x = first; x <= last; x += run == 1 ? m->step[0] : run)
    hb_async(e, m->of, at + x, run, b->lane, b->op, touch);
}

static void box(Box *b) {
  const EMap *m = b->m;
  int digit[MAP_RANK] = {0};
  int64_t byte = b->byte, pitch = m->tile[0] * b->size;
  for (;;) {
    int64_t at;
    bool inside = row_start(b, digit, &at);
    row(b, byte, inside, at);
    byte += pitch;
    int d = 1;
    while (d < m->rank && ++digit[d] == m->tile[d]) digit[d++] = 0;
    if (d >= m->rank) return;
  }
}

/* operations */

uint32_t tma_targets(Emu *e, const Instr *in, int lane, int64_t blocks) {
  if (!in->e[0]) return UINT32_C(1) << e->w->block;
  if (blocks > 0 && blocks < INT64_C(1) << e->nblocks) return (uint32_t)blocks;
  EMU_FAIL(&e->m, in, DIAG_EMU_RANK, in->span, e->w->number * LANES + lane, (long long)blocks,
           e->nblocks);
  return 0;
}

bool tma_begin_load(Emu *e, const Block *to, const Instr *in, int64_t bar_at, int lane, MBar **bar,
                    uint32_t *op) {
  bool remote = to != emu_block(e);
  *bar = mbar_of(e, to, &in->r[2], bar_at, lane);
  if (!*bar || !mbar_ready(e, *bar, lane, true, remote)) return false;
  if (!e->hb) return true;
  *op = hb_op(e, (AsyncOp){ASYNC_LOAD, hb_thread(e, lane), (*bar)->index, (*bar)->phase,
                           (int)(in - e->k->code)});
  return true;
}

uint32_t tma_begin_store(Emu *e, int lane) {
  Hb *h = e->hb;
  if (!h) return 0;
  int thread = hb_thread(e, lane), at = (int)(e->at - e->k->code);
  h->bulk_last[thread] = h->issued[DONE_BULK][thread];
  h->bulk_at[thread] = (uint16_t)at;
  return hb_op(e, (AsyncOp){ASYNC_BULK, thread, -1, h->bulk_last[thread], at});
}

// Does the lane's tile lie where TMA may put it?
static bool tile_ok(Emu *e, const ERegion *tile, int64_t at, int lane) {
  int64_t places[LANES];
  uint32_t mask = UINT32_C(1) << lane;
  places[lane] = at;
  return mem_in_range(e, tile->buf, places, tile->count, mask) &&
         mem_aligned(e, tile->buf, places, 128, mask);
}

// What is an illegal instruction on an H200 as the start of a box.
static bool may_start(Emu *e, const Box *b, bool load) {
  const EMap *m = b->m;
  for (int d = 0; d < m->rank; d++) {
    const char *why = NULL;
    if (b->coord[d] < 0 && !load) why = "TMA stores none that starts below 0";
    else if (d == 0 && b->coord[0] * b->size % 16)
      why = "TMA takes none whose innermost start is no multiple of 16 bytes";
    if (!why) continue;
    EMU_FAIL(&e->m, e->at, DIAG_EMU_TMA_START, e->at->span, e->w->number * LANES + b->lane,
             m->buf->name, (long long)b->coord[d], m->rank - 1 - d, why);
    return false;
  }
  return true;
}

static void load(Emu *e, const Instr *in, Box *b, int64_t at, int64_t bar_at, int64_t blocks) {
  const ERegion *tile = &in->r[1];
  if (!may_start(e, b, true)) return;
  uint32_t targets = tma_targets(e, in, b->lane, blocks);
  for (int r = 0; r < e->nblocks; r++) {
    if (!(targets >> r & 1)) continue;
    const Block *to = &e->blocks[r];
    MBar *bar;
    if (!tma_begin_load(e, to, in, bar_at, b->lane, &bar, &b->op)) continue;
    if (e->hb) hb_async_in(e, to, tile->buf, at, tile->count, b->lane, b->op, TOUCH_WRITE);
    b->smem = to->smem;
    box(b);
    mbar_complete_tx(e, bar, tile->count * b->size);
  }
}

static void store(Emu *e, Box *b, const ERegion *tile, int64_t at) {
  if (!may_start(e, b, false)) return;
  b->op = tma_begin_store(e, b->lane);
  if (e->hb) hb_async(e, tile->buf, at, tile->count, b->lane, b->op, TOUCH_READ);
  b->smem = emu_block(e)->smem;
  box(b);
}

void warp_tma(Emu *e, const Instr *in) {
  bool is_load = in->op == OP_TMA_LOAD;
  const ERegion *tile = &in->r[is_load], *box_of = &in->r[!is_load];
  const EMap *m = box_of->buf->map;
  uint32_t mask = e->w->mask;
  int64_t coord[MAP_RANK][LANES], at[LANES], bar[LANES] = {0}, blocks[LANES] = {0};
  if (!m->ok) return; // reported
  for (int d = 0; d < m->rank; d++) mem_lanes(e, box_of->coord[d], mask, coord[d]);
  mem_lanes(e, tile->min, mask, at);
  if (is_load) mem_lanes(e, in->r[2].min, mask, bar);
  if (in->e[0]) mem_lanes(e, in->e[0], mask, blocks);
  for (int i = 0; i < LANES; i++) {
    if (!(mask >> i & 1) || !tile_ok(e, tile, at[i], i)) continue;
    Box b = {.e = e, .m = m, .size = dt_bytes(m->buf->dtype), .load = is_load, .lane = i};
    b.byte = tile->buf->base + at[i] * b.size;
    b.reduce = in->op == OP_TMA_REDUCE ? (int)in->i[0] : -1;
    for (int d = 0; d < m->rank; d++) b.coord[d] = coord[d][i];
    if (is_load) load(e, in, &b, at[i], bar[i], blocks[i]);
    else store(e, &b, tile, at[i]);
  }
}
