// The protocol of sm_90a kernels: each fence, wait, arrival, commit, barrier and phase that the
// passes put into a kernel is left out or changed, one at a time, and the emulator must report
// that, or the results differ. What goes unnoticed is redundant, or a hole in the emulator.
// SPDX-License-Identifier: MIT
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "driver/data.h"
#include "suite.h"

// A program, and what its sizes are: a fault must show with one of them. All give the same
// statements.
typedef struct {
  const char *name, *file, *flags;
  const char *sizes[3];
} Case;

static const Case cases[] = {
    {"turns of two teams",
     "samples/gemm_nt.tl",
     "-fping-pong -fstages=2",
     {"M=256,N=128,K=192,block_M=64,block_N=64,block_K=64,thread_num=128"}},
    {"two warpgroups on one tile",
     "samples/gemm_nt.tl",
     "-fno-ping-pong -fstages=2",
     {"M=256,N=128,K=192,block_M=128,block_N=64,block_K=64,thread_num=256"}},
    {"two warpgroups, which store at once",
     "samples/gemm_nt.tl",
     "-fno-ping-pong -fstages=2 -fno-late-stores",
     {"M=256,N=128,K=192,block_M=128,block_N=64,block_K=64,thread_num=256"}},
    {"blocks that are not persistent",
     "samples/gemm_nt.tl",
     "-fno-persistent -fstages=2 -fno-wgmma-ahead",
     {"M=128,N=64,K=320,block_M=64,block_N=64,block_K=64,thread_num=128"}},
    {"a cluster, and blocks of it without a tile",
     "samples/gemm_nt.tl",
     "-fcluster=2 -fno-ping-pong -fstages=2",
     {"M=192,N=192,K=192,block_M=64,block_N=64,block_K=64,thread_num=128"}},
    {"sums of tiles by TMA",
     "samples/splitk_tile.tl",
     "-fno-ping-pong -fstages=2",
     {"M=128,N=128,K=384,block_M=64,block_N=64,block_K=64,split_k=2"}},
    {"products that overlap",
     "samples/flash_attention.tl",
     "-fstages=2",
     {"heads=3,batch=1,seq_len=192,dim=64,block_M=64,threads=128,causal=True"}},
    {"warpgroups that take turns",
     "samples/flash_attention.tl",
     "-fstages=2",
     {"heads=3,batch=1,seq_len=384,dim=64,block_M=128,block_N=128,threads=256,causal=True",
      "heads=3,batch=1,seq_len=192,dim=64,block_M=128,block_N=128,threads=256,causal=True"}},
    {"wgmma behind copies by cp.async",
     "samples/gemm.tl",
     "-fno-warp-specialize",
     {"M=64,N=128,K=256,num_stages=3,block_N=128,block_M=64,block_K=64,threads=128"}},
    {"a TMA store behind copies by cp.async",
     "samples/gemm_nt.tl",
     "-fno-warp-specialize -fno-wgmma",
     {"M=64,N=64,K=256,block_M=64,block_N=64,block_K=64,thread_num=128"}},
};

typedef VEC(Stmt *) Stmts;

// One program with its inputs.
typedef struct {
  Arena *arena;
  Job *job;
  RunData data;
  Stmts all;      // its statements
  uint64_t steps; // of the run without a fault
  EmuArg *right;  // after it
} Bench;

/* runs */

static bool run(Bench *b, Arena *a, EmuArg **args, Diags *d) {
  EmuOptions options = {.max_reports = 1, .max_steps = 20 * b->steps, .sms = 1};
  EmuReport report = {0};
  *args = data_args(&b->data, a, false);
  EmuCall call = {.sizes = b->data.sizes, .args = *args};
  bool ok = emu_run(b->job->thread.data[0], &call, b->job->target, &options, &report, d);
  if (!b->steps) b->steps = report.steps;
  return ok && !report.errors;
}

static void note(void *ctx, Stmt *s) {
  Bench *b = ctx;
  vec_push(b->arena, &b->all, s);
}

static void begin(Bench *b, const Case *c, const char *sizes) {
  *b = (Bench){.arena = arena_new()};
  Options *o = NEW(b->arena, Options);
  o->arena = b->arena;
  char *argv[12] = {"tlc", "--run", "--arch=sm_90a", "--integers", arena_str(b->arena, c->file)};
  int n = 5;
  argv[n++] = arena_printf(b->arena, "-p%s", sizes);
  for (char *w = strtok(arena_str(b->arena, c->flags), " "); w; w = strtok(NULL, " "))
    argv[n++] = w;
  ck_assert_int_eq(opt_parse(o, n, argv), -1);
  Job *j = b->job = NEW(b->arena, Job);
  *j = (Job){.arena = b->arena, .sources = src_new(b->arena)};
  j->diags = diag_new(b->arena, j->sources, (DiagOptions){0});
  ck_assert(job_open(j, o));
  job_target(j, o);
  bool ok = job_front(j, o) && job_lower(j, o);
  ck_assert_int_eq(data_make(&b->data, j->tile.data[0], o), EXIT_OK);
  ok = ok && run(b, b->arena, &b->right, j->diags);
  if (!ok) diag_flush(j->diags, stderr);
  ck_assert(ok);
  st_walk(j->thread.data[0]->kernels.data[0]->body, note, b);
}

// Is the program as it is now as good as the right one?
static bool passes(Bench *b) {
  Arena *a = arena_new();
  Diags *d = diag_new(a, b->job->sources, (DiagOptions){0});
  EmuArg *got;
  bool same = run(b, a, &got, d);
  const Program *p = b->data.program;
  for (int i = 0; same && i < p->params.len; i++)
    same = !data_is_output(p, i) || !memcmp(b->right[i].data, got[i].data, got[i].bytes);
  arena_free(a);
  return same;
}

/* faults */

typedef enum { LEFT_OUT, MORE, FEWER, FLIPPED, FAULTS } Fault;

static Arg *operand(Stmt *s, const char *name) { return &s->u.op.arg[op_arg(s->u.op.op, name)]; }

static bool change(Arena *a, Expr **x, BinOp op, int64_t by) {
  *x = ex_bin(a, op, *x, ex_int(a, (*x)->type, by));
  return true;
}

static bool plant_number(Arena *a, Stmt *s, Fault f) {
  int64_t by = f == MORE ? 1 : f == FEWER ? -1 : 0;
  switch (s->u.op.op) {
  case OP_MBAR_INIT: return by && (operand(s, "count")->i += by) > 0;
  case OP_MBAR_ARRIVE_TX: return by && change(a, &operand(s, "bytes")->expr, BIN_ADD, 16 * by);
  case OP_MBAR_WAIT: return f == FLIPPED && change(a, &operand(s, "parity")->expr, BIN_BITXOR, 1);
  case OP_BULK_WAIT:
  case OP_WGMMA_WAIT: return by > 0 && ++operand(s, "pending")->i;
  default: return false;
  }
}

// What counts the slots and phases of a ring.
static bool is_counter(const Buffer *b) {
  return b->scope == SC_LOCAL && b->dtype == DT_I32 &&
         (strstr(b->name, "_slot") || strstr(b->name, "_phase"));
}

static bool orders(const Stmt *s) {
  OpCode op = s->u.op.op;
  // More registers are a matter of speed, as long as somebody gave them up.
  if (op == OP_SETMAXNREG) return !s->u.op.arg[1].i;
  if (op >= OP_MBAR_INIT && op <= OP_FENCE_PROXY) return true;
  if (op >= OP_BULK_COMMIT && op <= OP_CLUSTER_WAIT) return true;
  return op == OP_SYNC || op == OP_SYNC_WARP || op == OP_WGMMA_FENCE || op == OP_WGMMA_COMMIT ||
         op == OP_WGMMA_WAIT;
}

// False: there is no such fault of s.
static bool plant(Arena *a, Stmt *s, Fault f) {
  bool counts = s->kind == ST_STORE && is_counter(s->u.store.buf);
  if (s->kind == ST_OP && f != LEFT_OUT) return plant_number(a, s, f);
  if (f != LEFT_OUT || !(counts || (s->kind == ST_OP && orders(s)))) return false;
  *s = *st_block(a, s->span);
  return true;
}

static bool noticed(Bench *b, int at, Fault f) {
  Stmt *s = b->all.data[at], was = *s;
  bool found = plant(b->arena, s, f) && !passes(b);
  *s = was;
  return found;
}

static const char *told(Arena *a, const Stmt *s) {
  Buf text = {0};
  ir_print_stmt(s, 0, &text);
  const char *line = arena_strn(a, buf_str(&text), strcspn(buf_str(&text), "\n"));
  buf_free(&text);
  return line;
}

// In a loop whose products all fly each has a fence, and the loop has one before it that names the
// registers; one of them would do. None will not. Where the loop's first iterations are peeled,
// that of the first one does for all, and is missed.
static bool fences_doubled(Bench *b, const Stmts *fences) {
  Stmts was = {0};
  for (int i = 0; i < fences->len; i++) {
    vec_push(b->arena, &was, arena_copy(b->arena, fences->data[i], sizeof(Stmt)));
    *fences->data[i] = *st_block(b->arena, NO_SPAN);
  }
  bool ok = !passes(b);
  for (int i = 0; i < fences->len; i++) *fences->data[i] = *was.data[i];
  return ok;
}

static const char *const faults[] = {"left out", "+1", "-1", "flipped"};

START_TEST(each_fault_is_noticed) {
  const Case *c = &cases[_i];
  Bench b[LEN(c->sizes)];
  int n = 0, tried = 0, missed = 0;
  for (; n < (int)LEN(c->sizes) && c->sizes[n]; n++) begin(&b[n], c, c->sizes[n]);
  Stmts fences = {0};
  for (int k = 0; k < b[0].all.len; k++)
    for (Fault f = 0; f < FAULTS; f++) {
      Stmt probe = *b[0].all.data[k];
      if (!plant(b[0].arena, &probe, f)) continue;
      bool found = false;
      for (int i = 0; i < n && !found; i++) found = noticed(&b[i], k, f);
      tried++;
      bool fence = probe.kind == ST_BLOCK && b[0].all.data[k]->u.op.op == OP_WGMMA_FENCE;
      missed += found && fence;
      if (!found && fence) vec_push(b[0].arena, &fences, b[0].all.data[k]);
      else
        ck_assert_msg(found, "%s: unnoticed: %s %s", c->name, told(b[0].arena, b[0].all.data[k]),
                      faults[f]);
    }
  ck_assert(fences.len == 0 || missed || fences_doubled(&b[0], &fences));
  ck_assert_int_gt(tried, 5);
  for (int i = 0; i < n; i++) arena_free(b[i].arena);
}
END_TEST

int main(void) {
  // With sanitizers a tenth as fast, and the same code in each.
  int n = getenv("TLC_SAN") ? 1 : (int)LEN(cases);
  Suite *s = suite_create("protocol");
  TCase *t = tcase_create("protocol");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, each_fault_is_noticed, 0, n);
  suite_add_tcase(s, t);
  return suite_run(s);
}
