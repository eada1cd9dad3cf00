// What of wgmma is in flight: registers from issue until a wait covers the group (PTX ISA,
// "Asynchronous Warpgroup Level Matrix Instructions", async proxy, wgmma.fence), and that the four
// warps of a warpgroup execute the same ops in the same order. Nothing orders the warps of a
// warpgroup: each waits for the groups that it issued itself.
// SPDX-License-Identifier: MIT
#include "emu/wgmma.h"

#include <string.h>

enum { GROUP_WARPS = 4 };

static void watch(EKernel *k, EBuf *b) {
  if (!b || b->scope != SC_LOCAL || b->wgmma) return;
  b->wgmma = k->wgmma_regs + 1;
  k->wgmma_regs += b->elems;
}

void wgmma_compile(EKernel *k) {
  for (int i = 0; i < k->ncode; i++) {
    const Instr *in = &k->code[i];
    if (in->code != IN_OP || in->op != OP_WGMMA) continue;
    watch(k, in->r[0].buf);
    watch(k, in->r[2].buf);
  }
}

static WgWarp *state_of(Emu *e, Warp *w) {
  Arena *a = e->c.arena;
  if (!w->wg) w->wg = NEW(a, WgWarp);
  WgWarp *s = w->wg;
  if (s->kernel == e->k && s->block == e->block) return s;
  if (s->kernel != e->k) s->reg = NEWN(a, WgReg, e->k->wgmma_regs + 1);
  else memset(s->reg, 0, sizeof *s->reg * (size_t)e->k->wgmma_regs);
  s->kernel = e->k;
  s->block = e->block;
  s->fences = s->committed = s->complete = 0;
  s->steps = s->log.len = 0;
  return s;
}

WgWarp *wgmma_warp(Emu *e) { return state_of(e, e->w); }

/* registers */

static bool flying(const WgWarp *s, uint32_t group) { return group > s->complete; }

static void report_flight(Emu *e, const EBuf *b, int64_t at, bool write, bool writer) {
  EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_FLIGHT, e->at->span, e->w->number,
           write ? "writes" : "reads", b->buf->name, (long long)at, writer ? "writes" : "reads");
}

void wgmma_touch(Emu *e, const EBuf *b, int64_t at, int count, bool write) {
  if (!e->checks) return;
  WgWarp *s = wgmma_warp(e);
  WgReg *r = &s->reg[b->wgmma - 1 + at];
  for (int i = 0; i < count; i++) {
    bool writer = flying(s, r[i].writer), reader = write && flying(s, r[i].reader);
    if (writer || reader) report_flight(e, b, at + i, write, writer);
    else if (r[i].result)
      EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_NAMED, e->at->span, e->w->number,
               write ? "writes" : "reads", b->buf->name, (long long)at + i);
    r[i].touched = s->fences + 1;
    r[i].written |= write;
  }
}

void wgmma_settled(Emu *e, const ERegion *r) {
  if (!r->buf || !r->buf->wgmma || !e->checks) return;
  WgWarp *s = wgmma_warp(e);
  int64_t at = emu_eval_int(&e->m, r->min);
  for (int i = 0; i < r->count && at >= 0 && at + i < r->buf->elems; i++) {
    WgReg *x = &s->reg[r->buf->wgmma - 1 + at + i];
    bool writer = flying(s, x->writer);
    if (writer || flying(s, x->reader)) report_flight(e, r->buf, at + i, true, writer);
    if (x->written) x->touched = s->fences + 1; // it may be as late as here
    x->written = x->result = false;
  }
}

static void need_fence(Emu *e, const EBuf *b, int64_t at, const WgWarp *s, const WgReg *r) {
  bool first = !s->fences;
  if (!first && r->touched != s->fences + 1 && !r->written) return;
  const char *why = first ? "before any fence"
                    : r->touched == s->fences + 1
                        ? "after other code accessed it"
                        : "after other code wrote it, and no fence names it";
  EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_FENCE, e->at->span, e->w->number, b->buf->name,
           (long long)at, why);
}

static void use_d(Emu *e, const EBuf *b, int64_t at, const WgWarp *s, WgReg *r, uint32_t shape) {
  if (flying(s, r->reader)) report_flight(e, b, at, true, false);
  if (flying(s, r->writer) && r->shape != shape)
    EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_SHAPE, e->at->span, b->buf->name, (long long)at);
  r->writer = s->committed + 1;
  r->shape = shape;
  r->result = true;
}

static void use_a(Emu *e, const EBuf *b, int64_t at, const WgWarp *s, WgReg *r) {
  if (flying(s, r->writer)) report_flight(e, b, at, false, true);
  r->reader = s->committed + 1;
}

uint8_t *wgmma_use(Emu *e, const ERegion *r, int count, bool write, uint32_t shape) {
  const EBuf *b = r->buf;
  int64_t at = emu_eval_int(&e->m, r->min);
  if (at < 0 || at + count > b->elems) {
    EMU_FAIL(&e->m, e->at, DIAG_EMU_REGISTER, e->at->span, b->buf->name, (long long)b->elems,
             (long long)(at < 0 ? at : at + count - 1));
    return NULL;
  }
  WgWarp *s = wgmma_warp(e);
  WgReg *x = &s->reg[b->wgmma - 1 + at];
  for (int i = 0; i < count && e->checks; i++) {
    need_fence(e, b, at + i, s, &x[i]);
    if (write) use_d(e, b, at + i, s, &x[i], shape);
    else use_a(e, b, at + i, s, &x[i]);
  }
  return e->w->regs + b->base + at * b->size * LANES;
}

/* the four warps */

static const char *op_name(const Instr *in) { return op_info(in->op)->name; }

static bool same_words(const WgStep *x, const WgStep *y) {
  return x->a_lo == y->a_lo && x->b_lo == y->b_lo && x->scale == y->scale;
}

void wgmma_step(Emu *e, WgStep step) {
  WgWarp *s = wgmma_warp(e);
  Warp *first = e->w - e->w->number % GROUP_WARPS;
  WgWarp *group = state_of(e, first);
  step.at = (int)(e->at - e->k->code);
  int i = s->steps++;
  if (!e->checks) return;
  if (i >= group->log.len) {
    vec_push(e->c.arena, &group->log, step);
    return;
  }
  const WgStep *other = &group->log.data[i];
  if (other->at != step.at) {
    EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_ORDER, e->at->span, first->number, e->w->number,
             op_name(e->at));
  } else if (!same_words(other, &step)) {
    const char *what = other->scale != step.scale ? "scale_d" : "a descriptor";
    EMU_FAIL(&e->m, e->at, DIAG_EMU_WGMMA_UNIFORM, e->at->span, what, "warps of one warpgroup");
  }
}

// A warp that ends has done as much as those of its warpgroup that ended before it.
void wgmma_end(Emu *e) {
  if (!e->k->wgmma_regs || !e->checks) return;
  Warp *first = e->w - e->w->number % GROUP_WARPS;
  const WgWarp *group = state_of(e, first), *s = wgmma_warp(e);
  for (int i = 0; i < GROUP_WARPS && first + i < e->warps + e->nwarps; i++) {
    int other = state_of(e, first + i)->steps;
    int least = other < s->steps ? other : s->steps;
    if (first[i].state != WARP_DONE || other == s->steps) continue;
    const Instr *at = &e->k->code[group->log.data[least].at];
    EMU_FAIL(&e->m, at, DIAG_EMU_WGMMA_ORDER, at->span, first[i].number, e->w->number, op_name(at));
  }
}

/* groups and shared memory */

void wgmma_wait(Emu *e, int64_t pending) {
  WgWarp *s = wgmma_warp(e);
  if (s->committed < pending) return;
  uint32_t done = s->committed - (uint32_t)pending;
  if (done <= s->complete) return;
  s->complete = done;
  if (e->hb) hb_progress(e, DONE_WGMMA, hb_thread(e, 0), done);
}

uint32_t wgmma_issue(Emu *e) {
  if (!e->hb) return 0;
  AsyncOp op = {.kind = ASYNC_WGMMA, .thread = hb_thread(e, 0)};
  op.number = wgmma_warp(e)->committed + 1;
  op.at = (int)(e->at - e->k->code);
  hb_meet(e);
  return hb_op(e, op);
}
