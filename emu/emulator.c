// The emulator: a THREAD-level program on its arguments.
// SPDX-License-Identifier: MIT
#include "emu/clocks.h"
#include "emu/sm90.h"

#include <string.h>

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
    if (e->clocked) d->own.hcell = NEWN(e->c.arena, HCell, d->elems + 1);
    else d->own.cell = NEWN(e->c.arena, Cell, d->elems + 1);
    if (!e->clocked) d->own.group = NEWN(e->c.arena, uint32_t, d->elems + 1);
  }
  return (size_t)(d->elems * dt_bits(d->type) + 7) / 8;
}

// False when the argument's bytes are too few.
static bool place_argument(Emu *e, const Param *q, const EmuArg *arg) {
  EBuf *d = &e->buf[emu_buffer(&e->c, q->buf)];
  size_t need = place_global(e, d);
  if (!arg->bytes) d->elems = 0; // some extent is 0, whatever the strides
  if (arg->bytes >= need || !arg->bytes) return true;
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
  for (int i = 0; i < p->kernels.len; i++) e.clocked |= sm90_clocked(p->kernels.data[i]);
  if (e.clocked && e.checks) e.hb = NEW(a, Hb);
  e.buf = NEWN(a, EBuf, count_buffers(p) + 1);
  bind_arguments(&e, p, call);
  EKernel *k = NEWN(a, EKernel, p->kernels.len + 1);
  for (int i = 0; i < p->kernels.len; i++) emu_compile_kernel(&e, &k[i], p->kernels.data[i]);
  e.m.uni = NEWN(a, Val, e.c.nuniform + 1);
  e.m.lane = NEWN(a, LaneVals, e.c.nlane + 1);
  set_scalars(&e, p, call);
  bool ok = place_arguments(&e, p, call);
  for (int i = 0; ok && i < p->kernels.len; i++) emu_run_kernel(&e, &k[i]);
  e.report->errors = e.m.reports;
  arena_free(a);
  return !e.m.failed;
}
