// A thread-level kernel as straight code with jumps, so that a warp can stop anywhere.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/tma.h"
#include "emu/wgmma.h"

typedef struct {
  Emu *e;
  VEC(Instr) code;
  int depth;
} Builder;

static int add(Builder *b, Instr in) {
  vec_push(b->e->c.arena, &b->code, in);
  return b->code.len - 1;
}

static Node *compile(Builder *b, const Expr *x) { return x ? emu_compile(&b->e->c, x) : NULL; }
static EBuf *buffer(Builder *b, const Buffer *x) { return &b->e->buf[emu_buffer(&b->e->c, x)]; }

static ERegion box(Builder *b, const Region *r, ArgKind kind) {
  ERegion box = {.buf = buffer(b, r->buf), .count = 1, .kind = kind};
  box.coord = NEWN(b->e->c.arena, Node *, r->n);
  for (int i = 0; i < r->n; i++) box.coord[i] = compile(b, r->min[r->n - 1 - i]);
  return box;
}

static ERegion region(Builder *b, const Region *r, ArgKind kind) {
  int64_t count;
  if (r->buf->scope == SC_MAP) return box(b, r, kind);
  if (r->n != 1 || !ex_const(r->extent[0], &count))
    die("a region of '%s' is not flat at thread level", r->buf->name);
  return (ERegion){buffer(b, r->buf), compile(b, r->min[0]), (int)count, kind, NULL};
}

static void statement(Builder *b, const Stmt *s);

static void loop(Builder *b, const Stmt *s) {
  if (s->u.loop.nvars != 1) die("a loop of several variables at thread level");
  Instr in = {.code = IN_FOR, .span = s->span};
  in.a = compile(b, s->u.loop.min[0]);
  in.b = compile(b, s->u.loop.extent[0]);
  in.e[0] = compile(b, s->u.loop.cond);
  in.slot = emu_bind(&b->e->c, s->u.loop.var[0], in.a->uniform && in.b->uniform);
  int head = add(b, in);
  if (++b->depth > MAX_DEPTH) die("control nests deeper than %d", MAX_DEPTH);
  statement(b, s->u.loop.body);
  b->depth--;
  in.code = IN_NEXT;
  in.target = head + 1;
  int next = add(b, in); // may move code.data
  b->code.data[head].target = next + 1;
}

static void branch(Builder *b, const Stmt *s) {
  Instr in = {.code = IN_IF, .span = s->span, .a = compile(b, s->u.branch.cond)};
  int head = add(b, in);
  if (++b->depth > MAX_DEPTH) die("control nests deeper than %d", MAX_DEPTH);
  statement(b, s->u.branch.yes);
  int other = add(b, (Instr){.code = IN_ELSE, .span = s->span});
  if (s->u.branch.no) statement(b, s->u.branch.no);
  b->depth--;
  int end = add(b, (Instr){.code = IN_ENDIF, .span = s->span});
  b->code.data[head].target = other;
  b->code.data[other].target = end;
}

static void note_change(const ERegion *r, const OpInfo *info, int arg) {
  EBuf *b = r->buf->map ? r->buf->map->of : r->buf;
  b->changed |= r->kind != ARG_READ && r->kind != ARG_PLACE;
  if (!strcmp(info->arg[arg].name, "bar")) r->buf->bar_base = 0; // numbered later
}

static void op(Builder *b, const Stmt *s) {
  Instr in = {.code = IN_OP, .op = s->u.op.op, .span = s->span};
  const OpInfo *info = op_info(in.op);
  int regions = 0, ints = 0, exprs = 0;
  if (!(info->level & LEVEL_THREAD)) die("the emulator met '%s', a tile op", info->name);
  for (int i = 0; i < info->nargs; i++) {
    const Arg *a = &s->u.op.arg[i];
    ArgKind kind = info->arg[i].kind;
    switch (kind) {
    case ARG_EXPR: in.e[exprs++] = compile(b, a->expr); break;
    case ARG_INT: in.i[ints++] = a->i; break;
    case ARG_TEXT: in.text = in.text ? in.text : a->text; break;
    default:
      if (!a->region) { // an optional one
        regions++;
        break;
      }
      in.r[regions] = region(b, a->region, kind);
      note_change(&in.r[regions++], info, i);
    }
  }
  add(b, in);
}

static void statement(Builder *b, const Stmt *s) {
  Instr in = {.span = s->span};
  switch (s->kind) {
  case ST_BLOCK:
    for (int i = 0; i < s->u.block.len; i++) statement(b, s->u.block.data[i]);
    return;
  case ST_FOR: loop(b, s); return;
  case ST_IF: branch(b, s); return;
  case ST_OP: op(b, s); return;
  case ST_LET:
    in.code = IN_LET;
    in.a = compile(b, s->u.let.value);
    in.slot = emu_bind(&b->e->c, s->u.let.var, in.a->uniform);
    break;
  case ST_STORE:
    if (s->u.store.n != 1) die("a store to '%s' is not flat", s->u.store.buf->name);
    in.code = IN_STORE;
    in.a = compile(b, s->u.store.value);
    in.r[0] = (ERegion){buffer(b, s->u.store.buf), compile(b, s->u.store.idx[0]), 1, ARG_WRITE,
                        NULL};
    in.r[0].buf->changed = true;
    break;
  case ST_ASSUME:
    in.code = IN_ASSUME;
    in.a = compile(b, s->u.assume);
    break;
  }
  add(b, in);
}

/* buffers on chip */

static int64_t constant_elems(const Buffer *b) {
  int64_t n = 1, extent;
  for (int d = 0; d < b->ndim; d++) {
    if (!ex_const(b->shape[d], &extent)) die("'%s' has a symbolic extent", b->name);
    n *= extent;
  }
  return n;
}

static void place_local(EKernel *k, EBuf *d) {
  d->stored = d->type == DT_I4 ? DT_I8 : d->type == DT_U4 ? DT_U8 : d->type;
  d->size = dt_bytes(d->stored);
  d->base = k->reg_bytes;
  k->reg_bytes += (d->elems * d->size * LANES + 63) / 64 * 64;
}

static void place_shared(Emu *e, EKernel *k, EBuf *d) {
  int64_t bytes = (d->elems * dt_bits(d->type) + 7) / 8;
  d->base = d->buf->offset;
  if (d->base < 0) { // before the smem pass: one after the other
    d->base = (k->smem_bytes + 127) / 128 * 128;
  }
  if (d->base + bytes > k->smem_bytes) k->smem_bytes = d->base + bytes;
  d->shadow = &e->shared;
}

static void place_buffers(Emu *e, EKernel *k) {
  const Kernel *s = k->kernel;
  k->smem_bytes = s->smem_bytes;
  for (int i = 0; i < s->buffers.len; i++) {
    const Buffer *b = s->buffers.data[i];
    EBuf *d = &e->buf[emu_buffer(&e->c, b)];
    *d = (EBuf){.buf = b, .type = b->dtype, .stored = b->dtype, .scope = b->scope, .bar_base = -1};
    d->size = dt_bits(b->dtype) / 8;
    if (b->scope == SC_MAP) {
      d->map = emu_compile_map(e, b);
      continue;
    }
    d->elems = constant_elems(b);
    if (b->scope == SC_LOCAL) place_local(k, d);
    else if (b->scope == SC_SHARED) place_shared(e, k, d), vec_push(e->c.arena, &k->shared, d);
    else die("'%s' is neither local nor shared at thread level", b->name);
  }
}

/* cells: as wide as the narrowest access of shared memory, of which all are aligned */

typedef struct {
  Emu *e;
  EKernel *k;
} Narrowest;

static void narrow(EKernel *k, int64_t bits) {
  while (k->cell_bytes > 1 && bits % (k->cell_bytes * 8)) k->cell_bytes /= 2;
}

static void narrow_access(void *ctx, const Access *access) {
  const Narrowest *n = ctx;
  const Region *r = &access->region;
  if (r->buf->scope != SC_SHARED || n->e->buf[emu_buffer(&n->e->c, r->buf)].bar_base >= 0) return;
  int64_t bits = dt_bits(r->buf->dtype), extent;
  for (int d = 0; d < r->n; d++) bits *= ex_const(r->extent[d], &extent) ? extent : 1;
  narrow(n->k, bits);
}

static void narrow_stmt(void *ctx, Stmt *s) {
  const Narrowest *n = ctx;
  st_accesses(n->e->c.arena, s, narrow_access, ctx);
}

static void choose_cells(Emu *e, EKernel *k) {
  k->cell_bytes = 16;
  for (int i = 0; i < k->shared.len; i++) narrow(k, k->shared.data[i]->base * 8);
  st_walk(k->kernel->body, narrow_stmt, &(Narrowest){e, k});
}

static void number_barriers(EKernel *k) {
  for (int i = 0; i < k->shared.len; i++) {
    EBuf *d = k->shared.data[i];
    if (d->bar_base < 0) continue;
    d->bar_base = k->nbars;
    k->nbars += (int)d->elems;
  }
}

void emu_compile_kernel(Emu *e, EKernel *k, const Kernel *source) {
  *k = (EKernel){.kernel = source, .thread_slot = -1};
  if (source->level != LEVEL_THREAD) die("the emulator was given tile-level '%s'", source->name);
  k->threads = kernel_threads(source);
  k->nwarps = (k->threads + LANES - 1) / LANES;
  k->nblocks = kernel_cluster(source);
  if (k->threads > MAX_THREADS) die("%d threads in a block", k->threads);
  for (int i = 0; i < 3; i++) {
    k->cluster[i] = source->cluster[i] > 0 ? source->cluster[i] : 1;
    k->grid[i] = emu_compile(&e->c, source->grid[i]);
    k->block_slot[i] = source->block[i] ? emu_bind(&e->c, source->block[i], true) : -1;
  k->workers_slot = source->workers ? emu_bind(&e->c, source->workers, true) : -1;
  }
  if (source->thread) k->thread_slot = emu_bind(&e->c, source->thread, false);
  place_buffers(e, k);
  Builder b = {.e = e};
  statement(&b, source->body);
  add(&b, (Instr){.code = IN_END, .span = source->span});
  k->code = b.code.data;
  k->ncode = b.code.len;
  choose_cells(e, k);
  number_barriers(k);
  wgmma_compile(k);
}
