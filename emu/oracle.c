// The oracle: a TILE-level program run block after block in the obvious way.
//
// Deviations. Where a bound is asked for, every element and value carries how far a device may be
// from it: nothing for what IEEE rounding fixes, the sum of all rounding errors for what a device
// may order differently (gemm, atomics) or compute differently (exp and its kind), carried through
// every later operation. Comparisons and selections are taken as decided: a condition on a
// deviating value is the program's own hazard.
// SPDX-License-Identifier: MIT
#include "emu/oracle.h"

#include <math.h>
#include <string.h>

typedef struct {
  const Kernel *kernel;
  OStmt *body;
  Node *grid[3];
  int block_slot[3]; // -1: no such variable
  int thread_slot;
} OKernel;

/* buffers */

static Mem *define(Oracle *o, const Buffer *b) {
  Mem *m = &o->mem[emu_buffer(&o->c, b)];
  *m = (Mem){.buf = b, .type = b->dtype, .nd = b->ndim, .copies = 1};
  m->shape = NEWN(o->c.arena, int64_t, b->ndim + 1);
  m->stride = NEWN(o->c.arena, int64_t, b->ndim + 1);
  return m;
}

static Node **compile_list(Oracle *o, Expr **x, int n) {
  Node **out = NEWN(o->c.arena, Node *, n + 1);
  for (int i = 0; i < n; i++) out[i] = emu_compile(&o->c, x[i]);
  return out;
}

// Storage of its own: values, or bytes where another name reads them as another type.
static void store(Oracle *o, Mem *m, bool bits) {
  size_t n = (size_t)(m->elems * m->copies) + 1;
  if (bits) {
    m->raw = NEWN(o->c.arena, uint8_t, n * (size_t)dt_bits(m->type) / 8 + 8);
    return;
  }
  m->v = NEWN(o->c.arena, Val, n);
  if (o->track && dt_is_float(m->type)) m->err = NEWN(o->c.arena, float, n);
}

// The storage of the buffer that m's is a view of. Deviations are not carried through bits.
static void share(Oracle *o, Mem *m) {
  const Mem *base = &o->mem[emu_buffer(&o->c, m->buf->base)];
  m->raw = base->raw;
  m->v = base->v;
  if (m->type != base->type) return;
  m->err = base->err;
  m->mag = base->mag;
  m->count = base->count;
  m->written = base->written;
}

// Is b's storage read as another type, too?
static bool seen_as_bits(const Kernel *k, const Buffer *b) {
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *v = k->buffers.data[i];
    if (v->base && v->base == buf_root(b) && v->dtype != v->base->dtype) return true;
  }
  return false;
}

static void define_on_chip(Oracle *o, const Buffer *b, int threads, bool bits) {
  Mem *m = define(o, b);
  m->elems = 1;
  for (int d = b->ndim - 1; d >= 0; d--) {
    int64_t extent;
    if (!ex_const(b->shape[d], &extent)) die("'%s' has a symbolic extent", b->name);
    m->shape[d] = extent;
    m->stride[d] = m->elems;
    m->elems *= extent;
  }
  if (b->scope == SC_LOCAL) m->copies = (threads + LANES - 1) / LANES * LANES;
  if (b->base) share(o, m);
  else store(o, m, bits);
}

static void define_global(Oracle *o, const Buffer *b) {
  Mem *m = define(o, b);
  m->shape_of = compile_list(o, b->shape, b->ndim);
  m->stride_of = b->strides ? compile_list(o, b->strides, b->ndim) : NULL;
  m->safe = b->safe ? emu_compile(&o->c, b->safe) : NULL;
  oracle_define_places(o, m);
}

// Shape and strides of a global buffer under these sizes; the bytes that it spans.
static size_t place_global(Oracle *o, Mem *m) {
  int64_t row_major = 1, last = 0;
  bool empty = false;
  for (int d = m->nd - 1; d >= 0; d--) {
    m->shape[d] = emu_eval_int(&o->m, m->shape_of[d]);
    m->stride[d] = m->stride_of ? emu_eval_int(&o->m, m->stride_of[d]) : row_major;
    row_major *= m->shape[d];
    empty |= m->shape[d] <= 0;
    last += (m->shape[d] - 1) * m->stride[d];
  }
  m->elems = empty ? 0 : last + 1;
  if (o->track && dt_is_float(m->type)) {
    size_t n = (size_t)m->elems + 1;
    m->err = NEWN(o->c.arena, float, n);
    m->mag = NEWN(o->c.arena, float, n);
    m->count = NEWN(o->c.arena, uint32_t, n);
  }
  return (size_t)(m->elems * dt_bits(m->type) + 7) / 8;
}

// False when the argument's bytes are too few.
static bool place_argument(Oracle *o, const Param *p, const EmuArg *arg) {
  Mem *m = &o->mem[emu_buffer(&o->c, p->buf)];
  size_t need = place_global(o, m);
  m->raw = arg->data;
  m->written = arg->written;
  if (arg->bytes >= need) return oracle_from_places(o, m);
  EMU_FAIL(&o->m, p, DIAG_EMU_ARG_SIZE, p->span, p->name, (long long)arg->bytes, (long long)need);
  return false;
}

static void place_workspace(Oracle *o, const Buffer *b) {
  Mem *m = &o->mem[emu_buffer(&o->c, b)];
  m->raw = arena_alloc(o->c.arena, place_global(o, m) + 16);
  Val poison = emu_poison(b->dtype);
  for (int64_t i = 0; i < m->elems; i++) emu_write(b->dtype, m->raw, i, poison);
}

static bool place_view(Oracle *o, Mem *m) {
  const Mem *base = &o->mem[emu_buffer(&o->c, m->buf->base)];
  size_t have = (size_t)(base->elems * dt_bits(base->type) + 7) / 8, need = place_global(o, m);
  m->err = m->mag = NULL;
  m->count = NULL;
  share(o, m);
  if (have >= need) return true;
  EMU_FAIL(&o->m, m->buf, DIAG_EMU_ARG_SIZE, m->buf->span, m->buf->name, (long long)have,
           (long long)need);
  return false;
}

/* set-up */

static int count_buffers(const Program *p) {
  int n = p->params.len + p->workspaces.len;
  for (int i = 0; i < p->kernels.len; i++) n += p->kernels.data[i]->buffers.len;
  return n;
}

static bool wants_bounds(const Program *p, const EmuCall *call) {
  for (int i = 0; i < p->params.len; i++)
    if (call->args[i].bound) return true;
  return false;
}

static OKernel prepare_kernel(Oracle *o, const Kernel *k) {
  OKernel out = {.kernel = k, .thread_slot = -1};
  if (k->level != LEVEL_TILE) die("the oracle was given thread-level kernel '%s'", k->name);
  for (int i = 0; i < 3; i++) {
    out.grid[i] = emu_compile(&o->c, k->grid[i]);
    out.block_slot[i] = k->block[i] ? emu_bind(&o->c, k->block[i], true) : -1;
  }
  if (k->thread) out.thread_slot = emu_bind(&o->c, k->thread, false);
  for (int i = 0; i < k->buffers.len; i++) {
    const Buffer *b = k->buffers.data[i];
    if (b->scope == SC_GLOBAL) define_global(o, b);
    else define_on_chip(o, b, k->threads, seen_as_bits(k, b));
  }
  o->threads = k->threads;
  out.body = oracle_compile(o, k->body);
  return out;
}

static void bind_scalars(Oracle *o, const Program *p) {
  for (int i = 0; i < p->sizes.len; i++) emu_bind(&o->c, p->sizes.data[i], true);
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_SCALAR) emu_bind(&o->c, p->params.data[i].var, true);
}

static void set_scalars(Oracle *o, const Program *p, const EmuCall *call) {
  for (int i = 0; i < p->sizes.len; i++)
    o->m.uni[emu_bind(&o->c, p->sizes.data[i], true) >> 1].i = call->sizes[i];
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (q->kind != PARAM_SCALAR) continue;
    Val *to = &o->m.uni[emu_bind(&o->c, q->var, true) >> 1];
    if (dt_is_float(q->var->type)) to->f = emu_round(q->var->type, call->args[i].f);
    else to->i = emu_wrap(q->var->type, call->args[i].i);
  }
}

static bool place_arguments(Oracle *o, const Program *p, const EmuCall *call) {
  bool ok = true;
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    if (q->kind == PARAM_TENSOR) ok &= place_argument(o, q, &call->args[i]);
  }
  for (int i = 0; ok && i < p->workspaces.len; i++) place_workspace(o, p->workspaces.data[i]);
  for (int k = 0; ok && k < p->kernels.len; k++) {
    for (int i = 0; i < p->kernels.data[k]->buffers.len; i++) {
      const Buffer *b = p->kernels.data[k]->buffers.data[i];
      if (b->scope == SC_GLOBAL) ok &= place_view(o, &o->mem[emu_buffer(&o->c, b)]);
    }
  }
  return ok;
}

/* running */

typedef struct {
  LaneVals *lane;
  LaneErrs *err;
} Lanes;

static void set_threads(Oracle *o, const OKernel *k, const Lanes *lanes, int groups) {
  if (k->thread_slot < 0) return;
  for (int g = 0; g < groups; g++)
    for (int i = 0; i < LANES; i++)
      lanes->lane[g * o->c.nlane + (k->thread_slot >> 1)][i].i = g * LANES + i;
}

static void run_block(Oracle *o, const OKernel *k, const Lanes *lanes, const int64_t *grid,
                      int64_t block) {
  const int64_t at[3] = {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]};
  for (int i = 0; i < 3; i++)
    if (k->block_slot[i] >= 0) o->m.uni[k->block_slot[i] >> 1].i = at[i];
  for (int i = 0; i < k->kernel->buffers.len; i++)
    if (!k->kernel->buffers.data[i]->base)
      mem_reset(&o->mem[emu_buffer(&o->c, k->kernel->buffers.data[i])]);
  uint32_t mask[MAX_GROUPS];
  o->block = block;
  o->loop = NULL;
  int threads = o->threads = k->kernel->threads, groups = (threads + LANES - 1) / LANES;
  for (int g = 0; g < groups; g++) {
    int left = threads - g * LANES;
    mask[g] = left >= LANES ? ALL_LANES : (UINT32_C(1) << left) - 1;
  }
  Frame f = {.ngroups = groups, .mask = mask, .lane = lanes->lane, .err = lanes->err};
  set_threads(o, k, lanes, groups);
  oracle_exec(o, k->body, &f);
}

static void run_kernel(Oracle *o, const OKernel *k, const Lanes *lanes, const int64_t *blocks,
                       int n) {
  int64_t grid[3], total = 1;
  if (k->kernel->threads > MAX_GROUPS * LANES)
    die("%d threads in a block", k->kernel->threads);
  for (int i = 0; i < 3; i++) {
    grid[i] = emu_eval_int(&o->m, k->grid[i]);
    total *= grid[i] > 0 ? grid[i] : 0;
  }
  for (int64_t b = 0; b < (blocks ? n : total); b++) {
    int64_t block = blocks ? blocks[b] : b;
    if (o->m.reports >= o->m.max_reports) return;
    if (block >= 0 && block < total) run_block(o, k, lanes, grid, block);
  }
}

static void give_back(Oracle *o, const Program *p) {
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_TENSOR)
      oracle_to_places(&o->mem[emu_buffer(&o->c, p->params.data[i].buf)]);
}

static void give_bounds(Oracle *o, const Program *p, const EmuCall *call) {
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    float *bound = call->args[i].bound;
    if (q->kind != PARAM_TENSOR || !bound) continue;
    const Mem *m = &o->mem[emu_buffer(&o->c, q->buf)];
    for (int64_t at = 0; at < m->elems; at++) {
      double e = 0;
      if (m->written && !m->written[at]) continue;
      if (m->err) {
        double x = emu_read(m->type, m->raw, at).f;
        e = (double)m->err[at] + 2 * emu_ulp(m->type, x);
        e += emu_eps(m->type) * (double)m->count[at] * (double)m->mag[at];
        if (isnan(e)) e = isfinite(x) ? INFINITY : 0;
      }
      bound[m->place ? m->place[at] : at] = nextafterf((float)e, e > 0 ? INFINITY : 0);
    }
  }
}

static bool run(const Program *p, const EmuCall *call, const int64_t *blocks, int n, Diags *d) {
  Arena *a = arena_new();
  Oracle o = {.track = wants_bounds(p, call), .wgmma = call->wgmma, .nmem = count_buffers(p)};
  o.c = (Compiler){.arena = a, .vars = slotmap_new(a), .buffers = slotmap_new(a),
                   .loads_uniform = true};
  o.m = (Machine){.diags = d, .load = oracle_load, .max_reports = 20, .seen = slotmap_new(a),
                  .arena = a};
  o.mem = NEWN(a, Mem, o.nmem + 1);
  bind_scalars(&o, p);
  for (int i = 0; i < p->params.len; i++)
    if (p->params.data[i].kind == PARAM_TENSOR) define_global(&o, p->params.data[i].buf);
  for (int i = 0; i < p->workspaces.len; i++) define_global(&o, p->workspaces.data[i]);
  OKernel *kernels = NEWN(a, OKernel, p->kernels.len + 1);
  for (int i = 0; i < p->kernels.len; i++) kernels[i] = prepare_kernel(&o, p->kernels.data[i]);
  Lanes lanes = {.lane = NEWN(a, LaneVals, MAX_GROUPS * o.c.nlane + 1)};
  if (o.track) lanes.err = NEWN(a, LaneErrs, MAX_GROUPS * o.c.nlane + 1);
  o.m.uni = NEWN(a, Val, o.c.nuniform + 1);
  if (o.track) o.m.uni_err = NEWN(a, double, o.c.nuniform + 1);
  o.m.lane = lanes.lane;
  o.m.lane_err = lanes.err;
  set_scalars(&o, p, call);
  if (place_arguments(&o, p, call)) {
    int nkernels = blocks ? (p->kernels.len > 0) : p->kernels.len;
    for (int i = 0; i < nkernels; i++) run_kernel(&o, &kernels[i], &lanes, blocks, n);
    give_bounds(&o, p, call);
    give_back(&o, p);
  }
  arena_free(a);
  return !o.m.failed;
}

bool oracle_run(const Program *p, const EmuCall *call, Diags *d) {
  return run(p, call, NULL, 0, d);
}

bool oracle_run_blocks(const Program *p, const EmuCall *call, const int64_t *blocks, int n,
                       Diags *d) {
  return run(p, call, blocks, n, d);
}
