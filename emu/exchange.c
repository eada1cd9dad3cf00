// Shuffles and votes, from the CUDA programming guide ("Warp Shuffle Functions", "Warp Vote
// Functions", "Synchronization Functions"); what threads say.
// SPDX-License-Identifier: MIT
#include "emu/emulator.h"

/* shuffles: each lane of a segment of `width` lanes takes the value of a lane that it names */

// The lane that lane i names; itself where it names none of its segment.
static int source_lane(ShuffleMode mode, int i, int64_t by, int width) {
  int first = i / width * width;
  int64_t from = mode == SHUFFLE_INDEX ? first + (by & (width - 1))
                 : mode == SHUFFLE_XOR ? i ^ by
                 : mode == SHUFFLE_UP  ? i - by
                                       : i + by;
  return from < first || from >= first + width ? i : (int)from;
}

void warp_shuffle(Emu *e, const Instr *in) {
  LaneVals value, by, got;
  uint32_t mask = e->w->mask;
  emu_eval(&e->m, in->e[0], mask, LANES, value, NULL);
  emu_eval(&e->m, in->e[1], mask, LANES, by, NULL);
  for (int i = 0; i < LANES; i++) {
    if (!(mask >> i & 1)) continue;
    int from = source_lane((ShuffleMode)in->i[0], i, by[i].i, (int)in->i[1]);
    if (!(mask >> from & 1)) {
      int first = e->w->number * LANES;
      EMU_FAIL(&e->m, in, DIAG_EMU_INACTIVE, in->span, first + i, first + from);
      from = i;
    }
    got[i] = value[from];
  }
  mem_give(e, &in->r[0], in->e[0]->type, mask, got);
}

/* votes */

static int64_t result(VoteKind kind, int yes, int of, uint32_t which) {
  switch (kind) {
  case VOTE_ANY: return yes != 0;
  case VOTE_ALL: return yes == of;
  case VOTE_BALLOT: return which;
  case VOTE_COUNT: return yes;
  }
  die("unknown vote %d", (int)kind);
}

static void give_all(Emu *e, const Instr *in, uint32_t mask, int64_t v) {
  LaneVals all;
  for (int i = 0; i < LANES; i++) all[i] = emu_int(v);
  mem_give(e, &in->r[0], in->i[0] == VOTE_BALLOT ? DT_U32 : DT_I32, mask, all);
}

void warp_vote(Emu *e, const Instr *in) {
  uint32_t mask = e->w->mask, yes = emu_eval_mask(&e->m, in->e[0], mask);
  give_all(e, in, mask,
           result((VoteKind)in->i[0], __builtin_popcount(yes), __builtin_popcount(mask), yes));
}

void warp_block_vote(Emu *e, const Instr *in) {
  uint32_t yes = emu_eval_mask(&e->m, in->e[0], e->w->mask);
  Block *b = &e->blocks[e->w->block];
  b->votes += __builtin_popcount(yes);
  b->voters += __builtin_popcount(e->w->mask);
}

void block_voted(Emu *e, Block *b) {
  for (int i = 0; i < e->k->nwarps && b->voters; i++) {
    Warp *w = &e->warps[b->first_warp + i];
    const Instr *in = &e->k->code[w->pc - 1];
    if (in->op != OP_BLOCK_VOTE) continue;
    warp_enter(e, w);
    e->m.pick = __builtin_ctz(w->mask);
    give_all(e, in, w->mask, result((VoteKind)in->i[0], b->votes, b->voters, 0));
  }
  b->votes = b->voters = 0;
}

void warp_match(Emu *e, const Instr *in) {
  LaneVals v, same;
  uint32_t mask = e->w->mask;
  emu_eval(&e->m, in->e[0], mask, LANES, v, NULL);
  for (int i = 0; i < LANES; i++)
    if (mask >> i & 1) same[i] = emu_int(match_lanes(v, in->e[0]->type, mask, i, in->i[0] != 0));
  mem_give(e, &in->r[0], DT_U32, mask, same);
}

void warp_find_bit(Emu *e, const Instr *in) {
  LaneVals v, base, count;
  uint32_t mask = e->w->mask;
  emu_eval(&e->m, in->e[0], mask, LANES, v, NULL);
  emu_eval(&e->m, in->e[1], mask, LANES, base, NULL);
  emu_eval(&e->m, in->e[2], mask, LANES, count, NULL);
  for (int i = 0; i < LANES; i++)
    if (mask >> i & 1) v[i] = emu_int(find_bit((uint64_t)v[i].i, base[i].i, count[i].i));
  mem_give(e, &in->r[0], DT_I32, mask, v);
}

/* random words */

void warp_philox(Emu *e, const Instr *in) {
  LaneVals from[3], word[4];
  uint32_t mask = e->w->mask;
  for (int k = 0; k < 3; k++) emu_eval(&e->m, in->e[k], mask, LANES, from[k], NULL);
  for (int i = 0; i < LANES; i++) {
    if (!(mask >> i & 1)) continue;
    uint32_t out[4];
    philox((uint64_t)from[0][i].i, (uint64_t)from[1][i].i, (uint64_t)from[2][i].i, out);
    for (int k = 0; k < 4; k++) word[k][i] = emu_int(out[k]);
  }
  for (int k = 0; k < 4; k++) mem_give(e, &in->r[k], DT_U32, mask, word[k]);
}

/* what threads say */

void warp_print(Emu *e, const Instr *in) {
  LaneVals v;
  uint32_t mask = e->w->mask;
  if (in->e[0]) emu_eval(&e->m, in->e[0], mask, LANES, v, NULL);
  for (int i = 0; i < LANES; i++) {
    if (!(mask >> i & 1)) continue;
    if (in->text) printf("%s%s", in->text, in->e[0] ? ": " : "");
    if (in->e[0] && dt_is_float(in->e[0]->type)) printf("%.9g", v[i].f);
    else if (in->e[0]) printf("%lld", (long long)v[i].i);
    printf("\n");
  }
}

void warp_assert(Emu *e, const Instr *in) {
  uint32_t mask = e->w->mask, bad = mask & ~emu_eval_mask(&e->m, in->e[0], mask);
  if (!bad) return;
  EMU_FAIL(&e->m, in, DIAG_EMU_ASSERT, in->span, e->w->number * LANES + __builtin_ctz(bad),
           (long long)e->block, in->text ? ": " : "", in->text ? in->text : "");
}
