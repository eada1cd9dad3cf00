// text_run TLC-OPTIONS FILE: compiles a sample as tlc does, has g++ and the host prelude run the
// emitted .cu itself, and compares its outputs with the oracle's.
// SPDX-License-Identifier: MIT
#include <errno.h>

#include "driver/data.h"
#include "driver/device.h"
#include "tests/unit/text_host.h"

static int call_text(const Program *p, const RunData *d, EmuArg *got, const CgOptions *cg,
                     Arena *a) {
  TextKernel k;
  if (!text_load(p, cg, &k)) return EXIT_BUG;
  void **args = NEWN(a, void *, p->params.len + p->sizes.len + 2);
  int n = 0;
  for (int i = 0; i < p->params.len; i++) {
    const Param *q = &p->params.data[i];
    float *f32 = NEW(a, float);
    *f32 = (float)got[i].f;
    if (q->kind == PARAM_TENSOR) args[n++] = got[i].data;
    else if (q->var->type == DT_F32) args[n++] = f32;
    else args[n++] = dt_is_float(q->var->type) ? (void *)&got[i].f : (void *)&got[i].i;
  }
  for (int i = 0; i < p->sizes.len; i++) args[n++] = &d->sizes[i];
  size_t bytes = k.workspace(args);
  char *memory = arena_alloc(a, bytes + 2 * WORKSPACE_ALIGN);
  memory += WORKSPACE_ALIGN - (uintptr_t)memory % WORKSPACE_ALIGN;
  memset(memory, 0xff, bytes);
  args[n++] = memory;
  char msg[256] = "";
  int refused = k.check(args, msg, sizeof msg), error = refused ? refused : k.call(args);
  if (error) fprintf(stderr, "text_run: %s returned %d: %s\n", p->symbol, error, msg);
  return error ? EXIT_WRONG_PROGRAM : EXIT_OK;
}

static int run(Job *j, Options *o) {
  if (!job_open(j, o)) {
    fprintf(stderr, "text_run: cannot read %s: %s\n", o->input, strerror(errno));
    return EXIT_USAGE;
  }
  if (!job_front(j, o) || !job_lower(j, o)) return EXIT_WRONG_PROGRAM;
  RunData d = {0};
  int status = data_make(&d, j->tile.data[0], o);
  if (status) return status;
  CgOptions cg = job_codegen(j, o, 0);
  EmuArg *got = data_args(&d, o->arena, false);
  status = call_text(j->thread.data[0], &d, got, &cg, o->arena);
  return status ? status : run_compare(j, o, &d, got);
}

int main(int argc, char **argv) {
  Arena *arena = arena_new();
  Options o = {.arena = arena};
  int status = opt_parse(&o, argc, argv);
  if (status < 0) {
    Job j = {.arena = arena, .sources = src_new(arena)};
    j.diags = diag_new(arena, j.sources, (DiagOptions){0});
    status = run(&j, &o);
    diag_flush(j.diags, stderr);
  }
  arena_free(arena);
  return status;
}
