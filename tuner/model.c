// The model: how long a program takes, from what its blocks do and what their boxes of tensors
// share. Roofline of each phase, latencies that nothing hides, waves of blocks.
// SPDX-License-Identifier: MIT
#include "tuner/model.h"

#include "driver/device.h"

#include <math.h>
#include <string.h>

#define BULK_STORE (1.0 / 40) // clocks of a multiprocessor for a byte of a bulk store
enum { OVERLAP = 12, SAMPLES = 3, MAX_WARPS = 64, BLOCKS_PER_SM = 32, SMEM_RESERVED = 1024 };

typedef struct {
  Arena *arena;
  const TnFigures *f;
  const Target *target;
  const Program *tile, *thread; // blocks in launch order; after all passes
  const TnBindings *sizes;
  const TnAsm *as;
} Model;

// One block on a multiprocessor, in seconds.
typedef struct {
  double alone; // from start to end, nobody else there
  double busy;  // of its most used unit: what others cannot use
  double epilogue;
  double unit[4]; // tensor, smem, issue, special
  double load, store, flops, smem_bytes;
} BlockTime;

// Several demands that overlap, but not perfectly.
static double together(const double *v, int n) {
  double most = 0, sum = 0;
  for (int i = 0; i < n; i++) most = v[i] > most ? v[i] : most;
  if (most <= 0) return 0;
  for (int i = 0; i < n; i++) sum += pow(v[i] / most, OVERLAP);
  return most * pow(sum, 1.0 / OVERLAP);
}

/* ------------------------------------------------------------------ how many run at once */

static int registers(const Model *m, const Kernel *k, int kept) {
  int most = m->target->regs_per_sm / kernel_threads(k);
  int n = m->as && m->as->registers > 0 ? m->as->registers : kept;
  if (most > m->target->max_regs_per_thread) most = m->target->max_regs_per_thread;
  if (k->launch_threads && k->launch_threads != k->threads) n = most; // setmaxnreg shares them all
  if (n < 32) n = 32;
  return n < most ? n : most;
}

static int occupancy(const Model *m, const Kernel *k, int kept) {
  int threads = kernel_threads(k), warps = (threads + 31) / 32;
  int regs = (registers(m, k, kept) + 7) / 8 * 8;
  int64_t n = m->target->smem_per_sm / (k->smem_bytes + SMEM_RESERVED);
  if (n > MAX_WARPS / warps) n = MAX_WARPS / warps;
  if (n > m->target->regs_per_sm / (regs * warps * 32))
    n = m->target->regs_per_sm / (regs * warps * 32);
  if (n > BLOCKS_PER_SM) n = BLOCKS_PER_SM;
  return n < 1 ? 1 : (int)n;
}

// Bytes of each thread that find no register, at least.
static double spilled(const Model *m, const Kernel *k, int kept) {
  if (m->as && m->as->spills >= 0) return m->as->spills;
  int over = kept - registers(m, k, kept);
  bool shared_out = k->launch_threads && k->launch_threads != k->threads;
  return over > 0 && !shared_out ? 4.0 * over : 0;
}

/* ------------------------------------------------------------------ a block */

typedef struct {
  double per_byte; // seconds of a multiprocessor's share for a byte
  double latency, barrier, clock;
  double channel_load; // bytes that a producer loads for each iteration that waits for it
  double others;       // seconds of the consumers beside the loops that wait, for each of these
} Costs;

static double work_of(const MwPhase *p, const Costs *c, double groups) {
  double clocks[4] = {p->tensor, p->smem, p->issue, p->special};
  return together(clocks, 4) / c->clock + (p->barriers + 2 * p->drains / groups) * c->barrier;
}

static double phase_time(const MwPhase *p, const Costs *c, double groups) {
  double work = work_of(p, c, groups), bytes = p->load + p->store - p->bulk;
  double bulk[2] = {work, p->bulk * fmax(c->per_byte, BULK_STORE / c->clock)};
  work = p->by_parts ? together(bulk, 2) : bulk[0] + bulk[1];
  if (p->ahead < 0 || !p->trips) return work + bytes * c->per_byte + p->round_trips * c->latency;
  double own = p->tensor + p->issue + p->special, trip = work / p->trips;
  double ahead = p->ahead + (own > 0 ? p->overlap * p->trips / own : 0);
  double loads = c->channel_load * c->per_byte, mem = bytes / p->trips * c->per_byte;
  if (ahead < 0.05) return p->trips * (trip + mem + loads + c->latency);
  // A producer goes on while its consumers are busy elsewhere.
  double demand[3] = {trip, mem + fmax(loads - c->others, 0), (c->latency + mem + loads) / ahead};
  return p->trips * together(demand, 3);
}

static void add_phase(BlockTime *out, const MwPhase *p, double clock) {
  const double clocks[4] = {p->tensor, p->smem, p->issue, p->special};
  for (int i = 0; i < 4; i++) out->unit[i] += clocks[i] / clock;
  out->load += p->load;
  out->store += p->store;
  out->flops += p->flops;
  out->smem_bytes += p->smem_bytes;
}

static void spill(const Model *m, const Kernel *k, MwBlock *b) {
  double bytes = spilled(m, k, b->registers);
  MwPhase *hot = &b->phases.data[0];
  for (int i = 0; i < b->phases.len; i++) {
    if (b->phases.data[i].flops > hot->flops) hot = &b->phases.data[i];
  }
  hot->smem += 2 * bytes * b->threads / 128 * hot->trips;
}

// What the consumers' loops that wait for a producer share: its loads, and their other work.
static void share_out(const MwBlock *b, double groups, Costs *c) {
  double waits = 0, loaded = 0, others = 0;
  for (int i = 0; i < b->phases.len; i++) {
    const MwPhase *p = &b->phases.data[i];
    if (p->producer) loaded += p->load;
    else if (p->ahead >= 0) waits += p->trips;
    else others += work_of(p, c, groups);
  }
  if (waits <= 0) return;
  c->channel_load = loaded / waits;
  c->others = others / waits;
}

static BlockTime block_time(const Model *m, const Kernel *k, const MwBlock *b, Costs c) {
  BlockTime t = {0};
  double waits_s = 0, products = 0;
  double groups = b->mma_sync ? 1 : b->warps > 4 ? b->warps / 4.0 : 1;
  share_out(b, groups, &c);
  bool first = true;
  for (int i = 0; i < b->phases.len; i++) {
    const MwPhase *p = &b->phases.data[i];
    add_phase(&t, p, c.clock);
    if (p->producer) continue; // the consumers' waits account for it
    double s = phase_time(p, &c, groups);
    t.alone += s;
    waits_s += p->barriers * c.barrier;
    if (p->tensor > 0) products += s;
    if (p->store > 0) t.epilogue += s;
    if (p->ahead >= 0 && first) t.alone += c.latency;
    first &= p->ahead < 0;
  }
  // Teams take turns at the tensor cores; what each does beside them goes on at the same time.
  if (k->teams > 1) {
    t.alone = fmax(products, t.alone / k->teams) + c.latency;
    waits_s /= k->teams;
  }
  double demand[6] = {t.unit[0], t.unit[1], t.unit[2], t.unit[3], (t.load + t.store) * c.per_byte};
  // Other blocks fill the waits at barriers only where they don't wait at their own.
  t.busy = together(demand, 5) + waits_s;
  if (t.alone < t.busy) t.alone = t.busy;
  return t;
}

/* ------------------------------------------------------------------ a kernel */

static int64_t grid_blocks(const Model *m, const Kernel *k, int64_t grid[3]) {
  MvEnv e = {.arena = m->arena};
  mv_sizes(&e, m->thread, m->sizes);
  int64_t n = 1;
  for (int d = 0; d < 3; d++) {
    grid[d] = mv_point(&e, k->grid[d]);
    if (grid[d] < 1) grid[d] = 1;
    n *= grid[d];
  }
  return n;
}

static void mean(BlockTime *sum, const BlockTime *t, int n) {
  sum->alone += t->alone / n;
  sum->busy += t->busy / n;
  sum->epilogue += t->epilogue / n;
  for (int i = 0; i < 4; i++) sum->unit[i] += t->unit[i] / n;
  sum->load += t->load / n;
  sum->store += t->store / n;
  sum->flops += t->flops / n;
  sum->smem_bytes += t->smem_bytes / n;
}

static void add_parts(TnModel *out, const Model *m, const BlockTime *t, double blocks, double hbm) {
  double sms = m->f->sms, us = 1e6 * blocks;
  out->tensor_us += us * t->unit[0] / sms;
  out->smem_us += us * t->unit[1] / sms;
  out->issue_us += us * (t->unit[2] > t->unit[3] ? t->unit[2] : t->unit[3]) / sms;
  out->l2_us += us * (t->load + t->store) / (m->f->l2 * 1e9);
  out->hbm_us += 1e6 * hbm / (m->f->hbm * 1e9);
  out->epilogue_us += us * t->epilogue / sms;
  out->launch_us += m->f->launch;
  out->flops += blocks * t->flops;
  out->hbm_bytes += hbm;
  out->l2_bytes += blocks * (t->load + t->store);
  out->smem_bytes += blocks * t->smem_bytes;
}

// Bytes from and to HBM.
static double hbm_bytes(const Model *m, const Kernel *tile, int64_t at_once, double waves) {
  MtTraffic t = mt_traffic(m->arena, m->tile, tile, m->sizes, at_once, m->f->l2_size * 1e6);
  double sum = t.first + t.next * (waves > 1 ? waves - 1 : 0);
  if (t.tensors <= m->f->l2_size * 1e6 && sum > t.tensors) return t.tensors; // fetched once
  return sum;
}

static void add_kernel(const Model *m, const Kernel *k, const Kernel *tile, TnModel *out) {
  int64_t grid[3];
  int64_t blocks = grid_blocks(m, k, grid);
  MwWhere where = {m->f, m->thread, m->sizes, {0, 0, 0}, 1};
  MwBlock b;
  mw_block(m->arena, k, &where, &b);
  int occ = occupancy(m, k, b.registers);
  double slots = m->f->sms * occ, tiles = (double)blocks;
  where.workers = blocks < slots ? blocks : (int64_t)slots;
  if (k->workers) blocks = where.workers;
  double hbm = hbm_bytes(m, tile, (int64_t)slots, tiles / slots);
  double active = blocks < m->f->sms ? (double)blocks : m->f->sms;
  Costs c = {
      .clock = m->f->clock * 1e9, .latency = m->f->latency * 1e-6, .barrier = m->f->barrier * 1e-6};
  BlockTime t = {0};
  double slowest = 0;
  for (int i = 0; i < SAMPLES; i++) {
    int64_t at = (2 * i + 1) * blocks / (2 * SAMPLES);
    where.block[0] = at % grid[0];
    where.block[1] = k->workers ? 0 : at / grid[0] % grid[1];
    where.block[2] = k->workers ? 0 : at / grid[0] / grid[1];
    mw_block(m->arena, k, &where, &b);
    spill(m, k, &b);
    double moved = 0;
    for (int p = 0; p < b.phases.len; p++) moved += b.phases.data[p].load + b.phases.data[p].store;
    double share = moved > 0 ? hbm / ((double)blocks * moved) : 0; // of it goes on to HBM
    double l2 = active / (m->f->l2 * 1e9), dram = active * share / (m->f->hbm * 1e9);
    double most = 1 / (64 * c.clock); // a multiprocessor takes 64 bytes a clock
    c.per_byte = fmax(fmax(l2, dram), most);
    BlockTime one = block_time(m, k, &b, c);
    mean(&t, &one, SAMPLES);
    if (k->workers && one.alone > slowest) slowest = one.alone; // the one with the most tiles
  }
  if (slowest > 0) t.alone = slowest;
  double whole = floor((double)blocks / slots), rest = (double)blocks - whole * slots;
  double s = whole * fmax(t.alone, occ * t.busy);
  if (rest > 0) s += fmax(t.alone, ceil(rest / m->f->sms) * t.busy);
  double demand[2] = {s, hbm / (m->f->hbm * 1e9)};
  // Traffic to HBM costs a little even where it is hidden: loads wait longer for each other.
  out->us += 1e6 * (together(demand, 2) + 0.03 * demand[1]) + m->f->launch;
  add_parts(out, m, &t, (double)blocks, hbm);
  if (k->workers) blocks = (int64_t)tiles;
  if (blocks > out->blocks) {
    out->blocks = blocks;
    out->occupancy = occ;
    out->waves = (double)blocks / slots;
  }
}

static const char *bound(const TnModel *t) {
  const struct {
    const char *name;
    double us;
  } part[] = {{"tensor", t->tensor_us},
              {"hbm", t->hbm_us},
              {"l2", t->l2_us},
              {"smem", t->smem_us},
              {"issue", t->issue_us}};
  size_t most = 0;
  for (size_t i = 1; i < LEN(part); i++) {
    if (part[i].us > part[most].us) most = i;
  }
  return part[most].us * 2 < t->us ? "latency" : part[most].name;
}

TnModel tn_model(const Program *tile, const Program *thread, const Target *t, const TnFigures *f,
                 const TnAsm *as, const TnBindings *sizes) {
  Arena *a = arena_new();
  Program *p = job_in_launch_order(a, tile, t);
  TnModel out = {0};
  if (p && p->kernels.len == thread->kernels.len) {
    Model m = {a, f, t, p, thread, sizes, as};
    for (int i = 0; i < p->kernels.len; i++)
      add_kernel(&m, thread->kernels.data[i], p->kernels.data[i], &out);
    out.bound = bound(&out);
  }
  arena_free(a);
  return out;
}

// Of a program that is one product: 2 M N K, whatever its tiles compute beside that; else, and
// where it computes less (half of a symmetric one), what it executes.
static double useful(Arena *a, const Program *tile, const TnBindings *sizes, double executed) {
  Product p;
  MvEnv e = {.arena = a};
  int64_t shape[3][2], mnk[3];
  if (!product_find(tile, &p)) return executed;
  const int at[3] = {p.a, p.b, p.c};
  mv_sizes(&e, tile, sizes);
  for (int i = 0; i < 3; i++)
    for (int d = 0; d < 2; d++) shape[i][d] = mv_point(&e, tile->params.data[at[i]].buf->shape[d]);
  if (!product_sizes(&p, shape[0], shape[1], shape[2], mnk)) return executed;
  double all = 2.0 * (double)mnk[0] * (double)mnk[1] * (double)mnk[2];
  return executed < 0.9 * all ? executed : all;
}

void tn_model_job(const TnSpace *s, const Job *j, TnCandidate *c) {
  TnFigures f;
  if (!tn_figures(s->target, s->options->tune.figures, &f)) return;
  const TnAsm *as = c->as.registers >= 0 ? &c->as : NULL;
  for (int i = 0; i < j->thread.len; i++) {
    TnModel one = tn_model(j->tile.data[i], j->thread.data[i], s->target, &f, as, &c->sizes);
    one.flops = useful(s->arena, j->tile.data[i], &c->sizes, one.flops);
    if (!i) {
      c->model = one;
      continue;
    }
    c->model.us += one.us;
    c->model.flops += one.flops;
    c->model.hbm_bytes += one.hbm_bytes;
    c->model.l2_bytes += one.l2_bytes;
    c->model.smem_bytes += one.smem_bytes;
  }
}
