// The shadow of memory: races, unwritten reads and accesses to what is in flight. See emulator.h.
// SPDX-License-Identifier: MIT
#include "emu/clocks.h"

static const char *const verbs[] = {"reads", "writes", "updates"};

static bool of_block(const Emu *e, uint32_t epoch) { return epoch >= e->block_base; }

// Touched by another block of this kernel?
static bool foreign(const Emu *e, uint32_t epoch, uint16_t who) {
  return epoch >= e->kernel_base && (epoch < e->block_base || who & FOREIGN);
}

static long long element_of(const Emu *e, const EBuf *b, int64_t cell) {
  if (b->scope == SC_SHARED)
    return (long long)((cell * e->k->cell_bytes - b->base) * 8 / dt_bits(b->type));
  return (long long)(dt_bits(b->type) < 8 ? cell * 2 : cell);
}

static void other_place(Emu *e, int at) {
  if (at < e->k->ncode)
    diag_note(e->m.diags, e->k->code[at].span, "the other access is here");
}

static void report_race(Emu *e, const EBuf *b, int64_t cell, int thread, Touch touch, uint16_t who,
                        Touch other, int at) {
  if (!emu_first(&e->m, e->at, (int)DIAG_EMU_RACE - EMU_FIRST_DIAG)) return;
  diag_report(e->m.diags, DIAG_EMU_RACE, e->at->span, b->buf->name, element_of(e, b, cell),
              who & WHO, verbs[other], thread & WHO, verbs[touch]);
  other_place(e, at);
}

static void report_blocks(Emu *e, const EBuf *b, int64_t cell, Touch touch, Touch other, int at) {
  if (!emu_first(&e->m, e->at, (int)DIAG_EMU_RACE_BLOCKS - EMU_FIRST_DIAG)) return;
  diag_report(e->m.diags, DIAG_EMU_RACE_BLOCKS, e->at->span, b->buf->name, element_of(e, b, cell),
              (long long)e->block, verbs[touch], verbs[other]);
  other_place(e, at);
}

/* asynchronous copies */

// True while the group that thread `who` issued the copy in may still be running.
static bool in_flight(const Emu *e, uint16_t who, uint32_t group) {
  const Warp *w = &e->warps[(who & WHO) / LANES];
  return group > w->complete[who % LANES];
}

// The epoch of the wait that completed it: this one, or an earlier one (any will do).
static uint32_t completed_in(const Emu *e, uint16_t who, uint32_t group) {
  const Warp *w = &e->warps[(who & WHO) / LANES];
  return group > w->settled[who % LANES] ? e->epoch : e->epoch - 1;
}

// A cell whose last writer was asynchronous becomes one written at the wait; false while in flight.
static bool settle_writer(Emu *e, const EBuf *b, int64_t i, int thread, Touch touch) {
  Cell *c = &b->shadow->cell[i];
  uint32_t group = b->shadow->group[i];
  if (in_flight(e, c->writer, group)) {
    if (emu_first(&e->m, e->at, (int)DIAG_EMU_IN_FLIGHT - EMU_FIRST_DIAG)) {
      diag_report(e->m.diags, DIAG_EMU_IN_FLIGHT, e->at->span, thread & WHO, verbs[touch],
                  b->buf->name, element_of(e, b, i), c->writer & WHO);
      other_place(e, c->write_at);
    }
    return false;
  }
  c->write_epoch = completed_in(e, c->writer, group);
  c->writer &= (uint16_t)~ASYNC;
  return true;
}

// The same for a source; `touch` tells a write, which must not meet a copy in flight.
static bool settle_reader(Emu *e, const EBuf *b, int64_t i, int thread, Touch touch) {
  Cell *c = &b->shadow->cell[i];
  uint32_t group = b->shadow->group[i];
  if (in_flight(e, c->reader, group)) {
    if (touch != TOUCH_READ && emu_first(&e->m, e->at, (int)DIAG_EMU_SOURCE - EMU_FIRST_DIAG)) {
      diag_report(e->m.diags, DIAG_EMU_SOURCE, e->at->span, thread & WHO, b->buf->name,
                  element_of(e, b, i), c->reader & WHO);
      other_place(e, c->read_at);
    }
    return false;
  }
  c->read_epoch = completed_in(e, c->reader, group);
  c->reader &= (uint16_t)~ASYNC;
  return true;
}

/* cells */

static bool same_thread(uint16_t record, int thread) {
  return (record & WHO) == (thread & WHO) && !((record | thread) & MANY);
}

static void read_cell(Emu *e, const EBuf *b, int64_t i, int thread) {
  Cell *c = &b->shadow->cell[i];
  if (c->writer & ASYNC && of_block(e, c->write_epoch) &&
      !settle_writer(e, b, i, thread, TOUCH_READ))
    return;
  Touch wrote = c->writer & ATOMIC ? TOUCH_ATOMIC : TOUCH_WRITE;
  bool nothing = b->scope == SC_SHARED ? !of_block(e, c->write_epoch)
                                       : b->poison && !c->write_epoch;
  if (nothing) {
    EMU_FAIL(&e->m, e->at, DIAG_EMU_UNWRITTEN, e->at->span, thread & WHO, b->buf->name,
             element_of(e, b, i));
    return;
  }
  if (c->write_epoch == e->epoch && !same_thread(c->writer, thread))
    report_race(e, b, i, thread, TOUCH_READ, c->writer, wrote, c->write_at);
  if (b->scope == SC_GLOBAL && foreign(e, c->write_epoch, c->writer))
    report_blocks(e, b, i, TOUCH_READ, wrote, c->write_at);
}

static void note_reader(Emu *e, const EBuf *b, int64_t i, int thread) {
  Cell *c = &b->shadow->cell[i];
  if (c->reader & ASYNC && of_block(e, c->read_epoch) &&
      !settle_reader(e, b, i, thread, TOUCH_READ)) {
    if (!same_thread(c->reader, thread)) c->reader |= MANY;
    return;
  }
  if (c->read_epoch == e->epoch) {
    if (!same_thread(c->reader, thread)) c->reader |= MANY;
    return;
  }
  uint16_t flags = foreign(e, c->read_epoch, c->reader) ? FOREIGN : 0;
  c->read_epoch = e->epoch;
  c->reader = (uint16_t)(thread | flags);
  c->read_at = (uint16_t)(e->at - e->k->code);
}

// What a write (atomic or not) conflicts with; false when the cell was in flight.
static bool check_write(Emu *e, const EBuf *b, int64_t i, int thread, Touch touch) {
  Cell *c = &b->shadow->cell[i];
  bool global = b->scope == SC_GLOBAL;
  if (c->writer & ASYNC && of_block(e, c->write_epoch) && !settle_writer(e, b, i, thread, touch))
    return false;
  if (c->reader & ASYNC && of_block(e, c->read_epoch) && !settle_reader(e, b, i, thread, touch))
    return false;
  bool both_atomic = touch == TOUCH_ATOMIC && c->writer & ATOMIC;
  Touch wrote = c->writer & ATOMIC ? TOUCH_ATOMIC : TOUCH_WRITE;
  if (c->write_epoch == e->epoch && !both_atomic && !same_thread(c->writer, thread))
    report_race(e, b, i, thread, touch, c->writer, wrote, c->write_at);
  if (c->read_epoch == e->epoch && !same_thread(c->reader, thread))
    report_race(e, b, i, thread, touch, c->reader, TOUCH_READ, c->read_at);
  if (global && (!both_atomic || c->writer & PLAIN) && foreign(e, c->write_epoch, c->writer))
    report_blocks(e, b, i, touch, c->writer & PLAIN ? TOUCH_WRITE : wrote, c->write_at);
  if (global && foreign(e, c->read_epoch, c->reader))
    report_blocks(e, b, i, touch, TOUCH_READ, c->read_at);
  return true;
}

static void note_writer(Emu *e, const EBuf *b, int64_t i, int thread, Touch touch) {
  Cell *c = &b->shadow->cell[i];
  bool now = c->write_epoch == e->epoch, atomic = touch == TOUCH_ATOMIC;
  uint16_t flags = 0;
  if (foreign(e, c->write_epoch, c->writer) && b->scope == SC_GLOBAL) flags |= FOREIGN;
  if (atomic && now && c->writer & ATOMIC && !same_thread(c->writer, thread)) flags |= MANY;
  // An atomic after the same thread's plain write stays a plain write to everyone else.
  if (atomic && (!now || c->writer & ATOMIC)) flags |= ATOMIC;
  bool plain = c->writer & PLAIN || !(c->writer & ATOMIC);
  if (flags & ATOMIC && plain && c->write_epoch >= e->kernel_base && c->write_epoch) flags |= PLAIN;
  c->write_epoch = e->epoch;
  c->writer = (uint16_t)((thread & WHO) | flags);
  c->write_at = (uint16_t)(e->at - e->k->code);
}

/* ranges */

static int64_t first_cell(const Emu *e, const EBuf *b, int64_t at, int count, int64_t *end) {
  int bits = dt_bits(b->type);
  if (b->scope == SC_SHARED) {
    *end = (b->base * 8 + (at + count) * bits + e->k->cell_bytes * 8 - 1) / (e->k->cell_bytes * 8);
    return (b->base * 8 + at * bits) / (e->k->cell_bytes * 8);
  }
  *end = bits < 8 ? (at + count + 1) / 2 : at + count;
  return bits < 8 ? at / 2 : at;
}

void shadow_touch(Emu *e, const EBuf *b, int64_t at, int count, int thread, Touch touch) {
  if (e->hb) {
    hb_touch(e, b, at, count, thread % LANES, touch);
    return;
  }
  if (!b->shadow->cell) return;
  int64_t end, i = first_cell(e, b, at, count, &end);
  for (; i < end; i++) {
    if (touch == TOUCH_READ) {
      read_cell(e, b, i, thread);
      note_reader(e, b, i, thread);
    } else {
      if (touch == TOUCH_ATOMIC && b->scope == SC_SHARED &&
          !of_block(e, b->shadow->cell[i].write_epoch))
        read_cell(e, b, i, thread); // an update reads: unwritten
      if (check_write(e, b, i, thread, touch)) note_writer(e, b, i, thread, touch);
    }
  }
}

void shadow_read_warp(Emu *e, const EBuf *b, int64_t at, int count, int thread) {
  if (e->hb) {
    hb_touch_warp(e, b, at, count);
    return;
  }
  shadow_touch(e, b, at, count, thread | MANY, TOUCH_READ);
}

void shadow_async(Emu *e, const EBuf *b, int64_t at, int count, int thread, bool source) {
  if (e->hb) {
    hb_cp_async(e, b, at, count, thread % LANES, source);
    return;
  }
  Shadow *s = b->shadow;
  if (!s->cell) return;
  uint32_t group = e->warps[thread / LANES].committed[thread % LANES] + 1;
  int64_t end, i = first_cell(e, b, at, count, &end);
  for (; i < end; i++) {
    Cell *c = &s->cell[i];
    if (source) {
      read_cell(e, b, i, thread);
      note_reader(e, b, i, thread);
      if (c->reader & ASYNC && in_flight(e, c->reader, s->group[i])) continue;
      c->reader |= ASYNC;
    } else {
      if (!check_write(e, b, i, thread, TOUCH_WRITE)) continue;
      note_writer(e, b, i, thread, TOUCH_WRITE);
      c->writer |= ASYNC;
    }
    s->group[i] = group;
  }
}
