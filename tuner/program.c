// A candidate's program at tile level: what its launcher takes.
// SPDX-License-Identifier: MIT
#include "driver/device.h"
#include "tuner/internal.h"

bool tn_program_open(TnProgram *p, const TnSpace *s, const TnCandidate *c, Buf *why) {
  TnCandidate copy = *c; // what keeps it is for the caller to say
  *p = (TnProgram){.arena = arena_new()};
  bool ok = tn_front(p->arena, s, &copy, &p->job, &p->options);
  if (ok && p->job.tile.len == 1) {
    p->program = p->job.tile.data[0];
    return true;
  }
  buf_puts(why, ok ? "the file has several programs" : copy.reason);
  return false;
}

void tn_program_close(TnProgram *p) {
  arena_free(p->arena);
  *p = (TnProgram){0};
}

RtSource tn_program_source(const TnProgram *p, Arena *a) {
  const Program *program = p->program;
  RunData none = {.program = program, .sizes = NEWN(a, int64_t, program->sizes.len + 1)};
  EmuArg *args = NEWN(a, EmuArg, program->params.len + 1);
  RtArg *of;
  int n = device_args(a, &none, args, &of);
  RtParam *params = NEWN(a, RtParam, n + 1);
  for (int i = 0; i < n; i++) params[i] = of[i].param;
  return (RtSource){.symbol = arena_str(a, program->symbol),
                    .params = params,
                    .n = n,
                    .has_check = true,
                    .sizes = program->sizes.len,
                    .has_workspace = program->workspaces.len > 0};
}
