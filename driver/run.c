// --run: the program on a device, every output compared with the oracle or with a file.
// SPDX-License-Identifier: MIT
#include <string.h>
#include <unistd.h>

#include "driver/data.h"
#include "driver/device.h"
#include "driver/tell.h"

typedef struct {
  Job *job;
  const Options *options;
  RunData data;
  Sample sample;
  EmuArg *want; // the oracle's, once it ran
  Tell tell;
} Run;

static const char *find_file(const PairVec *v, const char *key) {
  for (int i = 0; i < v->len; i++)
    if (!strcmp(v->data[i].key, key)) return v->data[i].value;
  return NULL;
}

// Whole blocks where the oracle would take too long for all of them.
static void sample_blocks(Run *r) {
  const Options *o = r->options;
  double limit = o->mode == MODE_BENCH ? BENCH_SAMPLE_SECONDS : SAMPLE_SECONDS;
  r->sample = sample_choose(&r->data, o->seed, limit, o->arena);
}

static bool run_oracle(Run *r, EmuArg *args) {
  EmuCall call = {r->data.sizes, args, r->data.wgmma};
  Program *p = r->job->tile.data[0];
  const Sample *s = &r->sample;
  if (s->block) return oracle_run_blocks(p, &call, s->block, s->n, r->job->diags);
  return oracle_run(p, &call, r->job->diags);
}

static void describe_shape(const Run *r, Buf *b) {
  const Program *p = r->data.program;
  for (int i = 0; i < p->params.len; i++) {
    const RtArray *a = &r->data.array[i];
    if (p->params.data[i].kind != PARAM_TENSOR) continue;
    buf_printf(b, "%s%s[", b->len ? " " : "", p->params.data[i].name);
    for (int k = 0; k < a->rank; k++) buf_printf(b, "%s%lld", k ? "x" : "", (long long)a->shape[k]);
    buf_putc(b, ']');
  }
}

static int compare_file(Run *r, int i, const char *path, const void *got) {
  const Options *o = r->options;
  RtArray want = r->data.array[i];
  want.data = arena_alloc(o->arena, rt_type_bytes(want.type, rt_count(&want)) + 16);
  const char *name = r->data.program->params.data[i].name;
  Buf text = {0};
  int status = EXIT_OK;
  if (rt_npy_load(path, name, &want, &text) != RT_OK) {
    status = EXIT_USAGE;
  } else {
    double rtol = o->rtol < 0 ? 1e-2 : o->rtol, atol = o->atol < 0 ? 1e-2 : o->atol;
    RtTolerance t = {.rtol = rtol, .atol = atol};
    if (!rt_type_is_float(want.type)) t.rtol = t.atol = 0;
    RtDiff diff = rt_compare(want.type, rt_count(&want), data_rows(&r->data, o->arena, i, got),
                             want.data, &t);
    rt_diff_text(&text, &diff, &want);
    if (diff.wrong) status = EXIT_WRONG_PROGRAM;
  }
  tell_output(&r->tell, name, path, status ? "failed" : "passed", buf_str(&text));
  buf_free(&text);
  return status;
}

static int compare_oracle(Run *r, int i, const EmuArg *want, const void *got) {
  const Options *o = r->options;
  const RtArray *shape = &r->data.array[i];
  RtTolerance t = {.mask = r->sample.block ? want->written : NULL};
  if (o->rtol >= 0 || o->atol >= 0) {
    t.rtol = o->rtol < 0 ? 0 : o->rtol;
    t.atol = o->atol < 0 ? 0 : o->atol;
  } else {
    t.bound = want->bound;
  }
  int64_t count = (int64_t)(r->data.bytes[i] * 8) / rt_type_bits(shape->type);
  RtDiff diff = rt_compare(shape->type, count, got, want->data, &t);
  Buf text = {0};
  rt_diff_text(&text, &diff, shape);
  tell_output(&r->tell, r->data.program->params.data[i].name, "the oracle",
              diff.wrong ? "failed" : "passed", buf_str(&text));
  buf_free(&text);
  return diff.wrong ? EXIT_WRONG_PROGRAM : EXIT_OK;
}

static int write_outputs(const Run *r, const EmuArg *got) {
  int status = EXIT_OK;
  const Program *p = r->data.program;
  for (int i = 0; i < p->params.len; i++) {
    const char *path = find_file(&r->options->out, p->params.data[i].name);
    if (!path) continue;
    RtArray a = r->data.array[i];
    a.data = data_rows(&r->data, r->options->arena, i, got[i].data);
    Buf err = {0};
    if (rt_npy_write(path, &a, &err) != RT_OK) {
      fprintf(stderr, "tlc: %s\n", buf_str(&err));
      status = EXIT_MACHINE;
    }
    buf_free(&err);
  }
  return status;
}

static void not_compared(Run *r, int i, const char *why) {
  tell_output(&r->tell, r->data.program->params.data[i].name, "", "not compared", why);
}

static int compare_all(Run *r, const EmuArg *got) {
  const Program *p = r->data.program;
  Arena *a = r->options->arena;
  int status = EXIT_OK;
  for (int i = 0; i < p->params.len; i++) {
    if (!data_is_output(p, i)) continue;
    const char *path = find_file(&r->options->expect, p->params.data[i].name);
    int one;
    if (path) {
      one = compare_file(r, i, path, got[i].data);
    } else if (!strcmp(r->options->device, "oracle")) {
      not_compared(r, i, "this is the oracle's own");
      one = EXIT_OK;
    } else if (r->job->tile.data[0]->kernels.data[0]->level == LEVEL_THREAD) {
      not_compared(r, i, "the oracle runs programs of tile level");
      one = EXIT_OK;
    } else {
      if (!r->want) {
        sample_blocks(r);
        EmuArg *want = data_args(&r->data, a, true);
        if (!run_oracle(r, want)) return EXIT_WRONG_PROGRAM;
        r->want = want;
      }
      one = compare_oracle(r, i, &r->want[i], got[i].data);
    }
    if (one) status = one;
  }
  if (r->sample.block && !r->options->json)
    printf("checked %d of %lld blocks, chosen by --seed\n", r->sample.n,
           (long long)sample_grid(&r->data, p->kernels.data[0]));
  return status;
}

int run_compare(Job *j, const Options *o, const RunData *d, const EmuArg *got) {
  Run r = {.job = j, .options = o, .data = *d, .tell = {.json = o->json}};
  int status = compare_all(&r, got);
  buf_free(&r.tell.outputs);
  return status;
}

// The tile program as written: nothing of it is lowered.
static int oracle_alone(Run *r, EmuArg *got, Buf *where) {
  const Program *p = r->job->tile.data[0];
  buf_puts(where, "the oracle");
  EmuCall call = {.sizes = r->data.sizes, .args = got};
  return oracle_run(p, &call, r->job->diags) ? EXIT_OK : EXIT_WRONG_PROGRAM;
}

// One run over inputs of its own, and what is said of it.
static int run_and_compare(Run *r, uint64_t seed) {
  const Options *o = r->options;
  EmuArg *got = data_args(&r->data, o->arena, false);
  Buf shape = {0}, where = {0};
  describe_shape(r, &shape);
  double start = clock_seconds();
  int status = strcmp(o->device, "oracle") ? device_run(r->job, o, seed, &r->data, got, &where)
                                           : oracle_alone(r, got, &where);
  double seconds = clock_seconds() - start;
  if (where.len && !o->json)
    printf("%s on %s: %s, %.3f s\n", r->data.program->symbol, buf_str(&where), buf_str(&shape),
           seconds);
  fflush(stdout);
  if (!status) status = compare_all(r, got);
  if (o->json)
    tell_run(&r->tell, &r->data, buf_str(&where), seconds, r->sample.block ? r->sample.n : -1,
             sample_grid(&r->data, r->data.program->kernels.data[0]), !status);
  buf_free(&r->tell.outputs);
  int written = write_outputs(r, got);
  buf_free(&shape);
  buf_free(&where);
  return status ? status : written;
}

int drv_run(Job *j, const Options *o) {
  bool oracle = !strcmp(o->device, "oracle");
  if (!job_front(j, o) || (!oracle && !job_lower(j, o))) return EXIT_WRONG_PROGRAM;
  if (oracle && j->tile.len && j->tile.data[0]->kernels.data[0]->level == LEVEL_THREAD) {
    fprintf(stderr, "tlc: --device=oracle runs programs of tile level\n");
    return EXIT_USAGE;
  }
  if (j->tile.len != 1) {
    fprintf(stderr, "tlc: --run runs one kernel; choose with --entry:");
    for (int i = 0; i < j->tile.len; i++) fprintf(stderr, " %s", j->tile.data[i]->symbol);
    fputc('\n', stderr);
    return EXIT_USAGE;
  }
  Run r = {.job = j, .options = o, .tell = {.json = o->json}};
  int status = data_make(&r.data, j->tile.data[0], o);
  if (status) return status;
  r.data.zero_kernels = !oracle && job_zeroes_itself(j->tile.data[0], j->target);
  const Program *checked = oracle ? j->tile.data[0] : j->thread.data[0];
  if (!data_check(&r.data, checked, j->diags)) return EXIT_WRONG_PROGRAM;
  int schedules = o->emu_seeds.len ? o->emu_seeds.len : 1;
  for (int i = 0; i < schedules && !status; i++)
    status = run_and_compare(&r, o->emu_seeds.len ? o->emu_seeds.data[i] : 0);
  return status;
}
