// Shared memory that does not suffice: a kernel whose tiles are too large gives up persistent
// blocks, whose tiles live all along beside those of the next, then its producer; the passes run
// again from the tile program. What was forced stays. Before its producer it gives up the tiles of
// operands that are turned for wgmma (gemm_turn.c), and is persistent again. So do the passes run
// again where tiles were moved together (columns.c) and nothing kept them from storing the same
// columns.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

enum { NOTHING, PERSISTENCE, PRODUCER };

typedef struct {
  int given_up;
  int64_t bytes; // that the last try took
  bool columns;  // tiles stay where they are
  bool turned;   // operands were turned,
  bool upright;  // and are no more
} Saving;

struct Thrift {
  Saving *of; // by kernel
  bool again; // something was given up since thrift_again
};

Thrift *thrift_new(Arena *a, const Program *p) {
  Thrift *t = NEW(a, Thrift);
  t->of = NEWN(a, Saving, p->kernels.len);
  return t;
}

static Saving *saving(const PassCtx *c, const Program *p, const Kernel *k) {
  for (int i = 0; c->thrift && i < p->kernels.len; i++)
    if (p->kernels.data[i] == k) return &c->thrift->of[i];
  return NULL;
}

static bool allowed(const PassCtx *c, const Program *p, const Kernel *k, const char *flag, int up) {
  const Saving *s = saving(c, p, k);
  return pass_flag(c, k, flag, 1) && (!s || s->given_up < up);
}

bool thrift_persistent(const PassCtx *c, const Program *p, const Kernel *k) {
  return allowed(c, p, k, "persistent", PERSISTENCE);
}

bool thrift_producer(const PassCtx *c, const Program *p, const Kernel *k) {
  return allowed(c, p, k, "warp-specialize", PRODUCER);
}

bool thrift_more(PassCtx *c, const Program *p, const Kernel *k, int64_t bytes) {
  Saving *s = saving(c, p, k);
  if (!s || k->level != LEVEL_THREAD) return false;
  bool persistent = k->workers && pass_flag(c, k, "persistent", 0) == 0;
  if (s->turned && !s->upright && !persistent) {
    s->given_up = NOTHING;
    return s->upright = c->thrift->again = true;
  }
  if (k->launch_threads <= k->threads) return false;
  if (!persistent && pass_flag(c, k, "warp-specialize", 0)) return false;
  s->given_up = persistent ? PERSISTENCE : PRODUCER;
  s->bytes = bytes;
  c->thrift->again = true;
  return true;
}

bool thrift_turns(const PassCtx *c, const Program *p, const Kernel *k) {
  const Saving *s = saving(c, p, k);
  return s && !s->upright;
}

void thrift_turned(PassCtx *c, const Program *p, const Kernel *k) {
  Saving *s = saving(c, p, k);
  if (s) s->turned = true;
}

bool thrift_columns(const PassCtx *c, const Program *p, const Kernel *k) {
  const Saving *s = saving(c, p, k);
  return s && !s->columns;
}

void thrift_no_columns(PassCtx *c, const Program *p, const Kernel *k) {
  Saving *s = saving(c, p, k);
  if (!s) die("columns without a way back");
  s->columns = c->thrift->again = true;
}

bool thrift_again(Thrift *t) {
  bool again = t->again;
  t->again = false;
  return again;
}

void thrift_remark(PassCtx *c, const Program *p) {
  for (int i = 0; i < p->kernels.len; i++) {
    const Saving *s = &c->thrift->of[i];
    if (s->columns)
      diag_remark(c->diags, p->kernels.data[i]->span, "columns",
                  "as many as the tile's size asks for: narrower ones are for late stores by TMA");
    if (s->upright)
      diag_remark(c->diags, p->kernels.data[i]->span, "smem",
                  "no operand is turned for wgmma: that takes shared memory which it has not");
    if (!s->given_up) continue;
    diag_remark(c->diags, p->kernels.data[i]->span, "smem",
                "done without %s: with %s it takes %lld bytes of shared memory, and %s has %lld",
                s->given_up == PRODUCER ? "a producer" : "persistent blocks",
                s->given_up == PRODUCER ? "one" : "them", (long long)s->bytes, c->target->name,
                (long long)c->target->max_smem_block);
  }
}
