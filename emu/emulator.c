// The emulator: a THREAD-level program block after block, its warps interleaved by a seeded
// schedule.
// SPDX-License-Identifier: MIT
#include "emu/emulator.h"

#include <string.h>

static uint64_t next_random(Emu *e) { // xorshift64*
  e->random ^= e->random >> 12;
  e->random ^= e->random << 25;
  e->random ^= e->random >> 27;
  return e->random * UINT64_C(2685821657736338717);
}

/* arguments */

static EBuf *define_global(Emu *e, const Buffer *b) {
  EBuf *d = &e->buf[emu_buffer(&e->c, b)];
  if (b->ndim != 1) die("'%s' is not flat at thread level", b->name);
  *d = (EBuf){.buf = b, .type = b->dtype, .stored = b->dtype, .scope = SC_GLOBAL};
  d->size = dt_bits(d->type) / 8;
  d->elems_of = emu_compile(&e->c, b->shape[0]);
  d->shadow = &d->own;
  return d;
}

static void define_argument(Emu *e, const Param *q, const EmuArg *arg) {
  EBuf *d = define_global(e, q->buf);
  d->raw = arg->data;
  d->written = arg->written;
  d->poison = q->role == ROLE_OUT;
}

// The bytes that it spans under these sizes.
static size_t place_global(Emu *e, EBuf *d) {
  d->elems = emu_eval_int(&e->m, d->elems_of);
  if (d->elems < 0) d->elems = 0;
  if (e->checks && (d->changed || d->poison)) {
    d->own.n = d->elems;
    d->own.cell = NEWN(e->c.arena, Cell, d->elems + 1);
    d->own.group = NEWN(e->c.arena, uint32_t, d->elems + 1);
  }
  return (size_t)(d->elems * dt_bits(d->type) + 7) / 8;
}

// False when the argument's bytes are too few.
static bool place_argument(Emu *e, const Param *q, const EmuArg *arg) {
  size_t need = place_global(e, &e->buf[emu_buffer(&e->c, q->buf)]);
  if (arg->bytes >= need) return true;
  EMU_FAIL(&e->m, q, DIAG_EMU_ARG_SIZE, q->span, q->name, (long long)arg->bytes, (long long)need);
  return false;
}

static void place_workspace(Emu *e, const Buffer *b) {
  EBuf *d = &e->buf[emu_buffer(&e->c, b)];
  size_t bytes = place_global(e, d);
  d->raw = arena_alloc(e->c.arena, bytes + 16);
  memset(d->raw, 0xff, bytes); // NaN as a float
}

static void set_scalars(Emu *e, const Program *p, const EmuCall *call) {
  for (int i = 0; i < p->sizes.len; i++)
    e->m.uni[emu_bind(&e->c, p->sizes.data[i], true) >> 1].i = call->sizes[i];
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (q->kind != PARAM_SCALAR) continue;
    Val *to = &e->m.uni[emu_bind(&e->c, q->var, true) >> 1];
    if (dt_is_float(q->var->type)) to->f = emu_round(q->var->type, call->args[i].f);
    else to->i = emu_wrap(q->var->type, call->args[i].i);
  }
}

/* one block */

// All warps wait: a new epoch begins.
static void release_barrier(Emu *e) {
  const Warp *first = &e->warps[0];
  for (int i = 0; i < e->nwarps; i++) {
    Warp *w = &e->warps[i];
    if (w->pc != first->pc && e->checks) {
      const Instr *at = &e->k->code[first->pc - 1];
      if (emu_first(&e->m, at, (int)DIAG_EMU_BARRIERS - EMU_FIRST_DIAG)) {
        diag_report(e->m.diags, DIAG_EMU_BARRIERS, at->span, 0, i);
        diag_note(e->m.diags, e->k->code[w->pc - 1].span, "the other barrier is here");
      }
    }
    w->state = WARP_READY;
    memcpy(w->settled, w->complete, sizeof w->settled);
  }
  e->epoch++;
  e->report->barriers++;
}

static void report_deadlock(Emu *e) {
  const Warp *stuck = NULL, *gone = NULL;
  for (int i = 0; i < e->nwarps; i++) {
    if (e->warps[i].state == WARP_AT_BARRIER && !stuck) stuck = &e->warps[i];
    if (e->warps[i].state == WARP_DONE && !gone) gone = &e->warps[i];
  }
  const Instr *at = &e->k->code[stuck->pc - 1];
  const char *why = arena_printf(e->m.arena, "warp %d (threads %d-%d) ended without reaching it",
                                 gone->number, gone->number * LANES,
                                 gone->number * LANES + 31 - __builtin_clz(gone->full));
  EMU_FAIL(&e->m, at, DIAG_EMU_DEADLOCK, at->span, stuck->number, why);
}

static bool stopped(Emu *e) {
  if (e->m.reports >= e->m.max_reports) return true;
  uint64_t limit = e->options->max_steps;
  if (!limit || e->report->steps < limit) return false;
  EMU_FAIL(&e->m, e->k, DIAG_EMU_STEPS, e->at ? e->at->span : e->k->kernel->span,
           (unsigned long long)limit);
  return true;
}

// Runs warps, each for a random while, until all end. False when they cannot go on.
static bool schedule(Emu *e) {
  for (;;) {
    int ready = 0, waiting = 0;
    for (int i = 0; i < e->nwarps; i++) {
      ready += e->warps[i].state == WARP_READY;
      waiting += e->warps[i].state == WARP_AT_BARRIER;
    }
    if (!ready && !waiting) return true;
    if (!ready && waiting < e->nwarps) {
      report_deadlock(e);
      return false;
    }
    if (!ready) {
      release_barrier(e);
      continue;
    }
    uint64_t random = next_random(e) >> 16;
    int pick = (int)(random % (uint64_t)ready), i = 0;
    while (e->warps[i].state != WARP_READY || pick-- > 0) i++;
    warp_enter(e, &e->warps[i]);
    warp_run(e, 1 + (int)(random >> 16 & 63));
    if (stopped(e)) return false;
  }
}

static void fill_poison(uint8_t *p, int64_t n) {
  memset(p, 0xff, (size_t)n); // NaN in every float type, -1 in integers
}

static void begin_block(Emu *e, const Val *scalars, const int64_t *at) {
  const EKernel *k = e->k;
  e->block_base = ++e->epoch;
  fill_poison(e->smem, k->smem_bytes);
  for (int i = 0; i < e->nwarps; i++) {
    Warp *w = &e->warps[i];
    int left = k->kernel->threads - i * LANES;
    w->full = w->mask = left >= LANES ? ALL_LANES : (UINT32_C(1) << left) - 1;
    w->pc = w->depth = 0;
    w->state = WARP_READY;
    memset(w->committed, 0, sizeof w->committed);
    memset(w->complete, 0, sizeof w->complete);
    memset(w->settled, 0, sizeof w->settled);
    memcpy(w->uni, scalars, sizeof(Val) * (size_t)e->c.nuniform);
    for (int a = 0; a < 3; a++)
      if (k->block_slot[a] >= 0) w->uni[k->block_slot[a] >> 1].i = at[a];
    for (int l = 0; k->thread_slot >= 0 && l < LANES; l++)
      w->lane[k->thread_slot >> 1][l].i = i * LANES + l;
    fill_poison(w->regs, k->reg_bytes);
  }
}

/* one kernel */

static void begin_kernel(Emu *e, const EKernel *k) {
  Arena *a = e->c.arena;
  e->k = k;
  e->nwarps = (k->kernel->threads + LANES - 1) / LANES;
  e->warps = NEWN(a, Warp, e->nwarps + 1);
  for (int i = 0; i < e->nwarps; i++) {
    e->warps[i].number = i;
    e->warps[i].frame = NEWN(a, WarpFrame, MAX_DEPTH);
    e->warps[i].uni = NEWN(a, Val, e->c.nuniform + 1);
    e->warps[i].lane = NEWN(a, LaneVals, e->c.nlane + 1);
    e->warps[i].regs = arena_alloc(a, (size_t)k->reg_bytes + 64);
  }
  e->smem = arena_alloc(a, (size_t)k->smem_bytes + 64);
  e->shared.n = k->smem_bytes / k->cell_bytes + 1;
  e->shared.cell = e->checks ? NEWN(a, Cell, e->shared.n) : NULL;
  e->shared.group = e->checks ? NEWN(a, uint32_t, e->shared.n) : NULL;
  for (int i = 0; i < k->kernel->buffers.len; i++) {
    EBuf *b = &e->buf[emu_buffer(&e->c, k->kernel->buffers.data[i])];
    if (b->scope == SC_SHARED) b->raw = e->smem + b->base;
  }
  e->kernel_base = e->epoch + 1;
}

static void run_kernel(Emu *e, const EKernel *k) {
  int64_t grid[3], total = 1;
  Val *scalars = e->m.uni;
  for (int i = 0; i < 3; i++) {
    grid[i] = emu_eval_int(&e->m, k->grid[i]);
    total *= grid[i] > 0 ? grid[i] : 0;
  }
  begin_kernel(e, k);
  for (e->block = 0; e->block < total; e->block++) {
    const int64_t at[3] = {e->block % grid[0], e->block / grid[0] % grid[1],
                           e->block / grid[0] / grid[1]};
    begin_block(e, scalars, at);
    if (!schedule(e) && (e->m.reports >= e->m.max_reports || e->options->max_steps)) break;
  }
  e->m.uni = scalars;
}

static int count_buffers(const Program *p) {
  int n = p->params.len + p->workspaces.len;
  for (int i = 0; i < p->kernels.len; i++) n += p->kernels.data[i]->buffers.len;
  return n;
}

static void bind_arguments(Emu *e, const Program *p, const EmuCall *call) {
  for (int i = 0; i < p->sizes.len; i++) emu_bind(&e->c, p->sizes.data[i], true);
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_SCALAR) emu_bind(&e->c, p->params.data[i].var, true);
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_TENSOR)
      define_argument(e, &p->params.data[i], &call->args[i]);
  for (int i = 0; i < p->workspaces.len; i++)
    define_global(e, p->workspaces.data[i])->poison = true;
}

static bool place_arguments(Emu *e, const Program *p, const EmuCall *call) {
  bool ok = true;
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_TENSOR)
      ok &= place_argument(e, &p->params.data[i], &call->args[i]);
  for (int i = 0; ok && i < p->workspaces.len; i++) place_workspace(e, p->workspaces.data[i]);
  return ok;
}

bool emu_run(const Program *p, const EmuCall *call, const Target *t, const EmuOptions *o,
             EmuReport *report, Diags *d) {
  static const EmuOptions defaults;
  EmuReport unused;
  Arena *a = arena_new();
  Emu e = {.options = o ? o : &defaults, .report = report ? report : &unused};
  *e.report = (EmuReport){0};
  e.checks = !e.options->no_checks;
  e.random = (e.options->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
  e.c = (Compiler){.arena = a, .vars = slotmap_new(a), .buffers = slotmap_new(a)};
  e.m = (Machine){.diags = d, .load = emu_load, .seen = slotmap_new(a), .arena = a};
  e.m.max_reports = e.options->max_reports ? e.options->max_reports : 20;
  e.buf = NEWN(a, EBuf, count_buffers(p) + 1);
  bind_arguments(&e, p, call);
  EKernel *k = NEWN(a, EKernel, p->kernels.len + 1);
  for (int i = 0; i < p->kernels.len; i++) emu_compile_kernel(&e, &k[i], p->kernels.data[i]);
  e.m.uni = NEWN(a, Val, e.c.nuniform + 1);
  e.m.lane = NEWN(a, LaneVals, e.c.nlane + 1);
  set_scalars(&e, p, call);
  bool ok = place_arguments(&e, p, call);
  for (int i = 0; ok && i < p->kernels.len; i++) run_kernel(&e, &k[i]);
  e.report->errors = e.m.reports;
  arena_free(a);
  return !e.m.failed;
}
