// The shadow of memory under vector clocks: races, unwritten reads, accesses to what is in flight,
// and plain writes that an asynchronous operation may not see. See clocks.h.
// SPDX-License-Identifier: MIT
#include "emu/clocks.h"

static const char *const verbs[] = {"reads", "writes", "updates"};

// One access, of one thread or of an asynchronous operation that it issued.
typedef struct {
  Emu *e;
  const EBuf *b;
  HCell *cells;
  Touch touch;
  uint32_t op; // 0: the thread's own
  int thread;
  bool warp;             // issued by the whole warp: every lane must be ordered
  const uint32_t *clock; // the thread's, or the warp's meet
  // The writer, time and operation found to be visible last: most of a tile has the same.
  int ok_writer;
  uint32_t ok_time, ok_op;
} Visit;

static Visit visit(Emu *e, const EBuf *b, int lane, uint32_t op, Touch touch) {
  int thread = hb_thread(e, lane);
  return (Visit){.e = e,
                 .b = b,
                 .cells = b->shadow->hcell,
                 .touch = touch,
                 .op = op,
                 .thread = thread,
                 .clock = hb_clock(e, thread),
                 .ok_writer = -1};
}

/* reports */

static int in_block(const Emu *e, int thread) {
  return e->warps[thread / LANES].number * LANES + thread % LANES;
}

static long long element(const Visit *v, int64_t cell) {
  int bits = dt_bits(v->b->type);
  if (v->b->scope == SC_SHARED)
    return (long long)((cell * v->e->k->cell_bytes - v->b->base) * 8 / bits);
  return (long long)(bits < 8 ? cell * 2 : cell);
}

static void other_place(const Visit *v, int at, const char *what) {
  if (at < v->e->k->ncode) diag_note(v->e->m.diags, v->e->k->code[at].span, "%s", what);
}

static bool first(const Visit *v, DiagId id) {
  return emu_first(&v->e->m, v->e->at, (int)id - EMU_FIRST_DIAG);
}

static void race(const Visit *v, int64_t i, int thread, Touch other, int at) {
  Emu *e = v->e;
  if (!first(v, DIAG_EMU_RACE)) return;
  diag_report(e->m.diags, DIAG_EMU_RACE, e->at->span, v->b->buf->name, element(v, i),
              in_block(e, thread), verbs[other], in_block(e, v->thread), verbs[v->touch]);
  other_place(v, at, "the other access is here");
}

static void unseen_write(const Visit *v, int64_t i, const AsyncOp *op) {
  Emu *e = v->e;
  if (!first(v, DIAG_EMU_IN_FLIGHT)) return;
  diag_report(e->m.diags, DIAG_EMU_IN_FLIGHT, e->at->span, in_block(e, v->thread), verbs[v->touch],
              v->b->buf->name, element(v, i), in_block(e, op->thread));
  other_place(v, op->at, "the copy is issued here");
}

static void unseen_read(const Visit *v, int64_t i, const AsyncOp *op) {
  Emu *e = v->e;
  if (!first(v, DIAG_EMU_SOURCE)) return;
  diag_report(e->m.diags, DIAG_EMU_SOURCE, e->at->span, in_block(e, v->thread), v->b->buf->name,
              element(v, i), in_block(e, op->thread));
  other_place(v, op->at, "it is issued here");
}

static void unfenced(const Visit *v, int64_t i, int thread, int at) {
  Emu *e = v->e;
  if (!first(v, DIAG_EMU_PROXY)) return;
  diag_report(e->m.diags, DIAG_EMU_PROXY, e->at->span, op_info(e->at->op)->name, verbs[v->touch],
              v->b->buf->name, element(v, i), in_block(e, thread));
  other_place(v, at, "it is written here");
}

static void between_blocks(const Visit *v, int64_t i, Touch other) {
  Emu *e = v->e;
  if (!first(v, DIAG_EMU_RACE_BLOCKS)) return;
  diag_report(e->m.diags, DIAG_EMU_RACE_BLOCKS, e->at->span, v->b->buf->name, element(v, i),
              (long long)e->block, verbs[v->touch], verbs[other]);
}

/* what came before in this cluster */

static bool proxy_sees(const Visit *v, int thread, uint32_t time) {
  int space = v->b->scope == SC_SHARED ? 1 : 2;
  return v->clock[space * v->e->hb->nthreads + thread] >= time;
}

// A plain access of another thread at that time; writes must also be fenced for an operation.
static void against(Visit *v, int64_t i, int thread, uint32_t time, Touch other, int at) {
  if ((v->warp || thread != v->thread) && v->clock[thread] < time) race(v, i, thread, other, at);
  else if (v->op && other != TOUCH_READ && !proxy_sees(v, thread, time)) unfenced(v, i, thread, at);
}

// A finished cp_async is a plain write at its wait.
static void settle(Visit *v, HCell *c) {
  const AsyncOp *op = &v->e->hb->ops.data[c->op];
  uint32_t time;
  if (op->kind != ASYNC_CP || !hb_done_at(v->e, DONE_CP, op->thread, op->number, &time)) return;
  c->op = 0;
  c->time = time;
}

static bool op_done(const Visit *v, uint32_t op) {
  for (int l = 0; l < (v->warp ? LANES : 1); l++)
    if (!hb_op_done(v->e, op, v->thread + l, false)) return false;
  return true;
}

static void against_write(Visit *v, HCell *c, int64_t i) {
  if (!c->written) return;
  if (c->op) {
    if (c->op == v->ok_op) return;
    if (!op_done(v, c->op)) {
      const AsyncOp *op = &v->e->hb->ops.data[c->op];
      uint32_t time;
      if (op->kind == ASYNC_CP && hb_done_at(v->e, DONE_CP, op->thread, op->number, &time))
        race(v, i, op->thread, TOUCH_WRITE, op->at); // waited for, but by its thread alone
      else unseen_write(v, i, op);
      return;
    }
    settle(v, c);
    v->ok_op = c->op;
    if (c->op) return;
  }
  if (c->writer == v->ok_writer && c->time <= v->ok_time) return;
  against(v, i, c->writer, c->time, TOUCH_WRITE, c->at);
  v->ok_writer = c->writer;
  v->ok_time = c->time;
}

static void against_seen(Visit *v, const HCell *c, int64_t i) {
  Hb *h = v->e->hb;
  for (uint32_t at = c->seen; at; at = h->seen.data[at].next) {
    const Seen *s = &h->seen.data[at];
    if (v->touch == (s->atomic ? TOUCH_ATOMIC : TOUCH_READ)) continue;
    Touch other = s->atomic ? TOUCH_ATOMIC : TOUCH_READ;
    if (s->op) {
      if (hb_op_done(v->e, s->op, v->thread, v->b->scope == SC_SHARED)) continue;
      if (s->atomic) unseen_write(v, i, &h->ops.data[s->op]);
      else unseen_read(v, i, &h->ops.data[s->op]);
      continue;
    }
    for (uint32_t left = s->mask; left; left &= left - 1)
      against(v, i, s->warp * LANES + __builtin_ctz(left), s->time, other, s->at);
  }
}

/* what came before the cluster */

// Makes the cell speak of the running cluster.
static void renew(Visit *v, HCell *c) {
  Hb *h = v->e->hb;
  if (c->run == h->run) return;
  uint8_t ever = c->before & BEFORE_EVER;
  if (c->run < h->kernel_run) {
    c->before = ever;
  } else {
    if (c->written) c->before |= BEFORE_WROTE;
    c->before |= c->now;
  }
  c->run = h->run;
  c->written = false;
  c->now = 0;
  c->seen = c->op = 0;
}

static void against_before(Visit *v, const HCell *c, int64_t i) {
  int before = v->b->scope == SC_GLOBAL ? c->before : 0;
  if (before & BEFORE_WROTE) between_blocks(v, i, TOUCH_WRITE);
  else if (before & BEFORE_ATOMIC && v->touch != TOUCH_ATOMIC) between_blocks(v, i, TOUCH_ATOMIC);
  else if (before & BEFORE_READ && v->touch != TOUCH_READ) between_blocks(v, i, TOUCH_READ);
}

static bool unwritten(const Visit *v, const HCell *c) {
  if (c->written || c->now & BEFORE_ATOMIC) return false;
  return v->b->scope == SC_SHARED
             ? v->touch != TOUCH_WRITE
             : v->b->poison && v->touch == TOUCH_READ && !(c->before & BEFORE_EVER);
}

/* keeping records */

static uint32_t new_seen(Emu *e) {
  Hb *h = e->hb;
  if (h->seen_free) {
    uint32_t at = h->seen_free;
    h->seen_free = h->seen.data[at].next;
    return at;
  }
  if (h->seen.len == 0) vec_push(e->c.arena, &h->seen, (Seen){0});
  vec_push(e->c.arena, &h->seen, (Seen){0});
  return (uint32_t)h->seen.len - 1;
}

static void drop_seen(Emu *e, HCell *c) {
  Hb *h = e->hb;
  uint32_t last = c->seen;
  if (!last) return;
  while (h->seen.data[last].next) last = h->seen.data[last].next;
  h->seen.data[last].next = h->seen_free;
  h->seen_free = c->seen;
  c->seen = 0;
}

// Does the older record say nothing that the newer one does not?
static bool covers(const Emu *e, const Seen *newer, const Seen *older) {
  if (newer->warp != older->warp || newer->atomic != older->atomic || !newer->op != !older->op)
    return false;
  if (!newer->op) return !(older->mask & ~newer->mask);
  const AsyncOp *a = &e->hb->ops.data[newer->op], *b = &e->hb->ops.data[older->op];
  return a->kind == b->kind && a->thread == b->thread && a->kind != ASYNC_LOAD;
}

static void add_seen(Visit *v, HCell *c, uint32_t mask) {
  Emu *e = v->e;
  Hb *h = e->hb;
  Seen s = {.time = h->now[v->thread / LANES], .mask = mask, .op = v->op};
  s.warp = (uint16_t)(v->thread / LANES);
  s.at = (uint16_t)(e->at - e->k->code);
  s.atomic = v->touch == TOUCH_ATOMIC;
  c->now |= s.atomic ? BEFORE_ATOMIC : BEFORE_READ;
  if (s.atomic) c->before |= BEFORE_EVER;
  for (uint32_t at = c->seen; at; at = h->seen.data[at].next) {
    Seen *old = &h->seen.data[at];
    if (!s.op && !old->op && old->warp == s.warp && old->atomic == s.atomic) {
      if (old->time == s.time) {
        old->mask |= mask;
        return;
      }
      old->mask &= ~mask; // each lane's own later access stands for its earlier ones
    }
    if (!covers(e, &s, old) && old->mask | old->op) continue;
    s.next = old->next;
    *old = s;
    return;
  }
  uint32_t at = new_seen(e);
  s.next = c->seen;
  h->seen.data[at] = s;
  c->seen = at;
}

static void keep(Visit *v, HCell *c, uint32_t mask) {
  Emu *e = v->e;
  if (v->touch != TOUCH_WRITE) {
    add_seen(v, c, mask);
    return;
  }
  drop_seen(e, c);
  c->now = 0;
  c->written = true;
  c->before |= BEFORE_EVER;
  c->op = v->op;
  c->writer = (uint16_t)v->thread;
  c->time = e->hb->now[v->thread / LANES];
  c->at = (uint16_t)(e->at - e->k->code);
}

/* ranges */

static void check_cell(Visit *v, int64_t i) {
  HCell *c = &v->cells[i];
  renew(v, c);
  if (unwritten(v, c)) {
    EMU_FAIL(&v->e->m, v->e->at, DIAG_EMU_UNWRITTEN, v->e->at->span, in_block(v->e, v->thread),
             v->b->buf->name, element(v, i));
    return;
  }
  against_before(v, c, i);
  against_write(v, c, i);
  uint8_t same = v->touch == TOUCH_READ     ? BEFORE_READ
                 : v->touch == TOUCH_ATOMIC ? BEFORE_ATOMIC
                                            : 0;
  if (c->now & ~same) against_seen(v, c, i); // what is of one kind does not conflict
}

static int64_t range(const Visit *v, int64_t at, int count, int64_t *end) {
  int64_t bits = dt_bits(v->b->type);
  if (v->b->scope == SC_SHARED) {
    int64_t cell = v->e->k->cell_bytes * 8, base = v->b->base * 8;
    *end = (base + (at + count) * bits + cell - 1) / cell;
    return (base + at * bits) / cell;
  }
  *end = bits < 8 ? (at + count + 1) / 2 : at + count;
  return bits < 8 ? at / 2 : at;
}

static void run(Visit *v, int64_t at, int count) {
  if (!v->cells) return;
  int64_t end, i = range(v, at, count, &end);
  for (; i < end; i++) {
    check_cell(v, i);
    keep(v, &v->cells[i], UINT32_C(1) << v->thread % LANES);
  }
}

void hb_touch(Emu *e, const EBuf *b, int64_t at, int count, int lane, Touch touch) {
  Visit v = visit(e, b, lane, 0, touch);
  run(&v, at, count);
}

void hb_touch_warp(Emu *e, const EBuf *b, int64_t at, int count) {
  uint32_t mask = e->w->mask;
  if (!b->shadow->hcell) return;
  for (uint32_t left = mask; left; left &= left - 1) {
    Visit v = visit(e, b, __builtin_ctz(left), 0, TOUCH_READ);
    int64_t end, i = range(&v, at, count, &end);
    for (; i < end; i++) {
      check_cell(&v, i);
      if (!(left & (left - 1))) keep(&v, &v.cells[i], mask);
    }
  }
}

void hb_async(Emu *e, const EBuf *b, int64_t at, int count, int lane, uint32_t op, Touch touch) {
  Visit v = visit(e, b, lane, op, touch);
  run(&v, at, count);
}

void hb_async_warp(Emu *e, const EBuf *b, int64_t at, int count, uint32_t op) {
  Visit v = visit(e, b, 0, op, TOUCH_READ);
  v.warp = true;
  v.clock = e->hb->meet;
  run(&v, at, count);
}

void hb_async_in(Emu *e, const Block *in, const EBuf *b, int64_t at, int count, int lane,
                 uint32_t op, Touch touch) {
  Visit v = visit(e, b, lane, op, touch);
  v.cells = in->shared.hcell;
  run(&v, at, count);
}

// cp_async reads and writes as its thread does; only its completion is late.
void hb_cp_async(Emu *e, const EBuf *b, int64_t at, int count, int lane, bool source) {
  Visit v = visit(e, b, lane, 0, source ? TOUCH_READ : TOUCH_WRITE);
  if (!v.cells) return;
  int64_t end, i = range(&v, at, count, &end);
  int place = (int)(e->at - e->k->code);
  AsyncOp op = {ASYNC_CP, v.thread, -1, e->hb->issued[DONE_CP][v.thread], place};
  uint32_t handle = hb_op(e, op);
  for (; i < end; i++) {
    v.op = 0;
    check_cell(&v, i);
    v.op = handle;
    keep(&v, &v.cells[i], UINT32_C(1) << lane);
  }
}
