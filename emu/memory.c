// Loads, stores, vector moves, asynchronous copies and atomics of one warp.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/emulator.h"
#include "emu/wgmma.h"

#define EACH_LANE(i, mask)                                                                         \
  for (uint32_t left_ = (mask), i; left_ && (i = (uint32_t)__builtin_ctz(left_), 1);               \
       left_ &= left_ - 1)

static int thread_of(const Emu *e, uint32_t lane) { return e->w->number * LANES + (int)lane; }

static uint8_t *reg_at(const Emu *e, const EBuf *b, int64_t at) {
  return e->w->regs + b->base + at * b->size * LANES;
}

/* checks */

uint32_t mem_in_range(Emu *e, const EBuf *b, const int64_t *at, int count, uint32_t mask) {
  uint32_t ok = mask;
  EACH_LANE(i, mask) {
    if (at[i] >= 0 && at[i] + count <= b->elems) continue;
    ok &= ~(UINT32_C(1) << i);
    EMU_FAIL(&e->m, e->at, DIAG_EMU_RANGE, e->at->span, thread_of(e, i), b->buf->name,
             (long long)at[i], (long long)at[i] + count - 1, (long long)b->elems);
  }
  return ok;
}

uint32_t mem_aligned(Emu *e, const EBuf *b, const int64_t *at, int bytes, uint32_t mask) {
  int bits = dt_bits(b->type);
  bool base_ok = b->scope != SC_GLOBAL || b->buf->align <= 0 || bytes <= b->buf->align;
  uint32_t ok = mask;
  EACH_LANE(i, mask) {
    int64_t byte = (b->scope == SC_SHARED ? b->base : 0) + at[i] * bits / 8;
    if (base_ok && byte % bytes == 0 && at[i] * bits % 8 == 0) continue;
    ok &= ~(UINT32_C(1) << i);
    EMU_FAIL(&e->m, e->at, DIAG_EMU_ALIGN, e->at->span, thread_of(e, i), bytes, b->buf->name,
             (long long)byte, bytes);
  }
  return ok;
}

static bool register_ok(Emu *e, const EBuf *b, int64_t at, int count, bool write) {
  if (at >= 0 && at + count <= b->elems) {
    if (b->wgmma) wgmma_touch(e, b, at, count, write);
    return true;
  }
  EMU_FAIL(&e->m, e->at, DIAG_EMU_REGISTER, e->at->span, b->buf->name, (long long)b->elems,
           (long long)(at < 0 ? at : at + count - 1));
  return false;
}

uint8_t *mem_registers(Emu *e, const ERegion *r, int count) {
  int64_t at = emu_eval_int(&e->m, r->min);
  if (r->buf->scope != SC_LOCAL) die("'%s' should be a register array", r->buf->buf->name);
  return register_ok(e, r->buf, at, count, r->kind != ARG_READ) ? reg_at(e, r->buf, at) : NULL;
}

void mem_lanes(Emu *e, const Node *x, uint32_t mask, int64_t *out) {
  LaneVals v;
  emu_eval(&e->m, x, mask, LANES, v, NULL);
  for (int i = 0; i < LANES; i++) out[i] = v[i].i;
}

static void count_access(Emu *e, const EBuf *b, const int64_t *at, uint32_t mask, int bytes) {
  int64_t byte[LANES];
  int64_t base = b->scope == SC_SHARED ? b->base : 0;
  EACH_LANE(i, mask) byte[i] = base + at[i] * dt_bits(b->type) / 8;
  if (b->scope == SC_SHARED) count_shared(e, byte, mask, bytes);
  else count_global(e, byte, mask, bytes);
}

static int bytes_of(const EBuf *b, int count) {
  int bits = dt_bits(b->type) * count;
  return bits < 8 ? 1 : bits / 8;
}

static void touch_lanes(Emu *e, const EBuf *b, const int64_t *at, int count, uint32_t mask,
                        Touch touch) {
  count_access(e, b, at, mask, bytes_of(b, count));
  if (!e->checks || !shadow_tracked(b)) return;
  EACH_LANE(i, mask) shadow_touch(e, b, at[i], count, thread_of(e, i), touch);
}

static void mark_written(const EBuf *b, int64_t at, int count) {
  if (b->written) memset(b->written + at, 1, (size_t)count);
}

/* element loads and stores */

static void load_local(Emu *e, const EBuf *b, const Node *x, uint32_t mask, int n, Val *out) {
  if (x->uniform || n == 1) {
    int64_t at = emu_eval_int(&e->m, x);
    if (!register_ok(e, b, at, 1, false)) memset(out, 0, sizeof *out * (size_t)n);
    else if (n == LANES) emu_read_run(b->stored, reg_at(e, b, at), LANES, out);
    else out[0] = emu_read(b->stored, reg_at(e, b, at), e->m.pick);
    return;
  }
  int64_t at[LANES];
  mem_lanes(e, x, mask, at);
  memset(out, 0, sizeof *out * LANES);
  EACH_LANE(i, mask)
    if (register_ok(e, b, at[i], 1, false)) out[i] = emu_read(b->stored, reg_at(e, b, at[i]), i);
}

void emu_load(Machine *m, const Node *x, uint32_t mask, int n, Val *out, double *err) {
  Emu *e = (Emu *)m;
  const EBuf *b = &e->buf[x->slot];
  if (b->scope == SC_LOCAL) {
    load_local(e, b, x->idx[0], mask, n, out);
    return;
  }
  int64_t at[LANES];
  if (n == 1) {
    mask = UINT32_C(1) << m->pick;
    at[m->pick] = emu_eval_int(m, x->idx[0]);
  } else {
    mem_lanes(e, x->idx[0], mask, at);
  }
  uint32_t ok = mem_in_range(e, b, at, 1, mask);
  touch_lanes(e, b, at, 1, ok, TOUCH_READ);
  memset(out, 0, sizeof *out * (size_t)n);
  EACH_LANE(i, ok) out[n == 1 ? 0 : i] = emu_read(b->type, b->raw, at[i]);
}

static void store_local(Emu *e, const EBuf *b, const Node *x, uint32_t mask, const Val *v) {
  if (x->uniform) {
    int64_t at = emu_eval_int(&e->m, x);
    if (!register_ok(e, b, at, 1, true)) return;
    if (mask == ALL_LANES) {
      emu_write_run(b->stored, reg_at(e, b, at), LANES, v);
      return;
    }
    EACH_LANE(i, mask) emu_write(b->stored, reg_at(e, b, at), i, v[i]);
    return;
  }
  int64_t at[LANES];
  mem_lanes(e, x, mask, at);
  EACH_LANE(i, mask)
    if (register_ok(e, b, at[i], 1, true)) emu_write(b->stored, reg_at(e, b, at[i]), i, v[i]);
}

void warp_store(Emu *e, const Instr *in) {
  const EBuf *b = in->r[0].buf;
  uint32_t mask = e->w->mask;
  LaneVals v;
  e->m.pick = __builtin_ctz(mask);
  emu_eval(&e->m, in->a, mask, LANES, v, NULL);
  if (in->a->type != b->type) EACH_LANE(i, mask) v[i] = emu_cast(b->type, in->a->type, v[i]);
  if (b->scope == SC_LOCAL) {
    store_local(e, b, in->r[0].min, mask, v);
    return;
  }
  int64_t at[LANES];
  mem_lanes(e, in->r[0].min, mask, at);
  uint32_t ok = mem_in_range(e, b, at, 1, mask);
  touch_lanes(e, b, at, 1, ok, TOUCH_WRITE);
  EACH_LANE(i, ok) {
    emu_write(b->type, b->raw, at[i], v[i]);
    mark_written(b, at[i], 1);
  }
}

/* vector moves */

static void move_lane(Emu *e, const EBuf *mem, int64_t at, const EBuf *local, int64_t reg,
                      int count, uint32_t lane, bool load) {
  if (mem->size == 0) { // 4-bit: packed in memory, a byte each in registers
    for (int k = 0; k < count; k++) {
      uint8_t *r = reg_at(e, local, reg + k);
      if (load) emu_write(local->stored, r, lane, emu_read(mem->type, mem->raw, at + k));
      else emu_write(mem->type, mem->raw, at + k, emu_read(local->stored, r, lane));
    }
    return;
  }
  size_t size = (size_t)mem->size;
  uint8_t *m = mem->raw + at * mem->size, *r = reg_at(e, local, reg) + lane * size;
  for (int k = 0; k < count; k++, m += size, r += size * LANES)
    memcpy(load ? r : m, load ? m : r, size);
}

static void move_registers(Emu *e, const ERegion *src, const ERegion *dst, uint32_t mask) {
  const uint8_t *from = mem_registers(e, src, src->count);
  uint8_t *to = mem_registers(e, dst, src->count);
  size_t size = (size_t)src->buf->size;
  if (!from || !to) return;
  for (size_t k = 0; k < (size_t)src->count; k++) EACH_LANE(i, mask)
  memmove(to + (k * LANES + i) * size, from + (k * LANES + i) * size, size);
}

void warp_vmov(Emu *e, const Instr *in) {
  const ERegion *src = &in->r[0], *dst = &in->r[1];
  uint32_t mask = e->w->mask;
  if (src->buf->type != dst->buf->type)
    die("vmov between '%s' and '%s' of different types", src->buf->buf->name, dst->buf->buf->name);
  if (src->buf->scope == SC_LOCAL && dst->buf->scope == SC_LOCAL) {
    move_registers(e, src, dst, mask);
    return;
  }
  bool load = dst->buf->scope == SC_LOCAL;
  const ERegion *local = load ? dst : src, *mem = load ? src : dst;
  int count = src->count;
  int64_t at[LANES], reg[LANES];
  if (local->buf->scope != SC_LOCAL) die("vmov with no register side");
  mem_lanes(e, local->min, mask, reg);
  mem_lanes(e, mem->min, mask, at);
  uint32_t ok = mem_in_range(e, mem->buf, at, count, mask);
  ok &= mem_aligned(e, mem->buf, at, bytes_of(mem->buf, count), ok);
  touch_lanes(e, mem->buf, at, count, ok, load ? TOUCH_READ : TOUCH_WRITE);
  EACH_LANE(i, ok) {
    if (!register_ok(e, local->buf, reg[i], count, load)) continue;
    move_lane(e, mem->buf, at[i], local->buf, reg[i], count, i, load);
    if (!load) mark_written(mem->buf, at[i], count);
  }
}

/* asynchronous copies: the bytes move at once; the shadow keeps anyone from seeing them early */

// How many elements each lane reads; reports counts that the instruction does not have.
static uint32_t valid_counts(Emu *e, const Instr *in, uint32_t mask, int64_t *valid) {
  int count = in->r[0].count;
  uint32_t reading = 0;
  for (int i = 0; i < LANES; i++) valid[i] = count;
  if (in->e[0]) mem_lanes(e, in->e[0], mask, valid);
  EACH_LANE(i, mask) {
    if (valid[i] < 0 || valid[i] > count) {
      EMU_FAIL(&e->m, in, DIAG_EMU_VALID, in->span, count, (long long)valid[i]);
      valid[i] = valid[i] < 0 ? 0 : count;
    }
    if (valid[i]) reading |= UINT32_C(1) << i;
  }
  return reading;
}

static uint32_t check_source(Emu *e, const Instr *in, const int64_t *from, const int64_t *valid,
                             uint32_t reading) {
  const EBuf *b = in->r[0].buf;
  uint32_t ok = mem_aligned(e, b, from, bytes_of(b, in->r[0].count), reading);
  EACH_LANE(i, reading)
  if (!mem_in_range(e, b, from, (int)valid[i], UINT32_C(1) << i)) ok &= ~(UINT32_C(1) << i);
  count_access(e, b, from, ok, bytes_of(b, in->r[0].count));
  if (e->checks && shadow_tracked(b))
    EACH_LANE(i, ok) shadow_async(e, b, from[i], (int)valid[i], thread_of(e, i), true);
  return ok;
}

void warp_cp_async(Emu *e, const Instr *in) {
  const EBuf *src = in->r[0].buf, *dst = in->r[1].buf;
  int count = in->r[0].count, bytes = bytes_of(src, count);
  uint32_t mask = e->w->mask;
  int64_t from[LANES], to[LANES], valid[LANES];
  if (src->type != dst->type) die("cp_async between different types");
  uint32_t reading = valid_counts(e, in, mask, valid);
  mem_lanes(e, in->r[0].min, mask, from);
  mem_lanes(e, in->r[1].min, mask, to);
  uint32_t ok = mem_in_range(e, dst, to, count, mask);
  ok &= mem_aligned(e, dst, to, bytes, ok);
  uint32_t copied = check_source(e, in, from, valid, reading & ok);
  count_access(e, dst, to, ok, bytes);
  EACH_LANE(i, ok) {
    if (e->checks) shadow_async(e, dst, to[i], count, thread_of(e, i), false);
    int bits = dt_bits(src->type);
    size_t got = copied >> i & 1 ? (size_t)(valid[i] * bits + 7) / 8 : 0;
    uint8_t *d = dst->raw + to[i] * bits / 8;
    if (got) memcpy(d, src->raw + from[i] * bits / 8, got);
    memset(d + got, 0, (size_t)bytes - got);
  }
}

/* atomics */

static Val update(const EBuf *b, int64_t at, AtomicFn fn, Val v) {
  Val old = emu_read(b->type, b->raw, at);
  emu_write(b->type, b->raw, at, emu_atomic(b->type, fn, old, v));
  mark_written(b, at, 1);
  return old;
}

void mem_give(Emu *e, const ERegion *dst, DType from, uint32_t mask, const Val *v) {
  LaneVals out;
  EACH_LANE(i, mask) out[i] = emu_cast(dst->buf->type, from, v[i]);
  store_local(e, dst->buf, dst->min, mask, out);
}

void warp_atomic_load(Emu *e, const Instr *in) {
  const EBuf *b = in->r[0].buf;
  int64_t at[LANES];
  LaneVals v;
  mem_lanes(e, in->r[0].min, e->w->mask, at);
  uint32_t ok = mem_in_range(e, b, at, 1, e->w->mask);
  touch_lanes(e, b, at, 1, ok, TOUCH_ATOMIC);
  EACH_LANE(i, ok) v[i] = emu_read(b->type, b->raw, at[i]);
  mem_give(e, &in->r[1], b->type, ok, v);
}

void warp_atomic(Emu *e, const Instr *in) {
  const EBuf *b = in->r[0].buf;
  uint32_t mask = e->w->mask;
  int64_t at[LANES];
  LaneVals v;
  if (b->scope == SC_LOCAL) die("atomic on register array '%s'", b->buf->name);
  emu_eval(&e->m, in->e[0], mask, LANES, v, NULL);
  mem_lanes(e, in->r[0].min, mask, at);
  uint32_t ok = mem_in_range(e, b, at, 1, mask);
  touch_lanes(e, b, at, 1, ok, TOUCH_ATOMIC);
  EACH_LANE(i, ok)
  v[i] = update(b, at[i], (AtomicFn)in->i[0], emu_cast(b->type, in->e[0]->type, v[i]));
  if (in->r[1].buf) mem_give(e, &in->r[1], b->type, ok, v);
}

void warp_vatomic(Emu *e, const Instr *in) {
  const EBuf *b = in->r[0].buf, *local = in->r[1].buf;
  int count = in->r[0].count;
  uint32_t mask = e->w->mask;
  int64_t at[LANES], reg[LANES];
  mem_lanes(e, in->r[0].min, mask, at);
  mem_lanes(e, in->r[1].min, mask, reg);
  uint32_t ok = mem_in_range(e, b, at, count, mask);
  ok &= mem_aligned(e, b, at, bytes_of(b, count), ok);
  touch_lanes(e, b, at, count, ok, TOUCH_ATOMIC);
  EACH_LANE(i, ok) {
    if (!register_ok(e, local, reg[i], count, false)) continue;
    for (int k = 0; k < count; k++) {
      Val v = emu_read(local->stored, reg_at(e, local, reg[i] + k), i);
      update(b, at[i] + k, (AtomicFn)in->i[0], emu_cast(b->type, local->type, v));
    }
  }
}
