// --arch with a list: every target's programs, under one launcher each.
// SPDX-License-Identifier: MIT
#include "driver/driver.h"

#include <string.h>

// The C interface of a program as its header says it, hash apart.
static const char *interface_of(const Job *j, const Program *p) {
  Buf b = {0};
  cg_header(p, &(CgOptions){.target = j->targets[0], .out_name = "x.cu"}, &b);
  const char *text = arena_strn(j->arena, buf_str(&b), b.len);
  buf_free(&b);
  return text;
}

// All targets have the same launchers, with the same parameters.
static bool same_interfaces(Job *j, const Job *first, const Job *v) {
  int n = first->tile.len;
  for (int i = 0; i < n || i < v->tile.len; i++) {
    const Program *p = i < n ? first->tile.data[i] : v->tile.data[i];
    if (i < n && i < v->tile.len &&
        !strcmp(interface_of(j, p), interface_of(j, v->tile.data[i])))
      continue;
    diag_report(j->diags, DIAG_TARGET_API, p->kernels.data[0]->span, p->symbol, first->target->name,
                v->target->name);
    return false;
  }
  return true;
}

static bool is_taken(const Job *j, const char *symbol) {
  for (int i = 0; i < j->tile.len; i++)
    if (!strcmp(j->tile.data[i]->symbol, symbol)) return true;
  return false;
}

// The launcher and the kernels of one target's program get names of their own.
static void rename_program(const Job *first, Program *p, const Target *t) {
  Arena *a = first->arena;
  p->symbol = arena_printf(a, "%s_%s", p->symbol, t->name);
  while (is_taken(first, p->symbol)) p->symbol = arena_printf(a, "%s_", p->symbol);
  for (int i = 0; i < p->kernels.len; i++)
    p->kernels.data[i]->name = arena_printf(a, "%s_k%d", p->symbol, i);
}

// Programs of one launcher follow one another; what they are evaluated to decides its hash.
static void join_jobs(Job *j, Job *const *of, int n) {
  Arena *a = j->arena;
  for (int i = 0; i < of[0]->tile.len; i++) {
    uint64_t hash = 0;
    const char *symbol = of[0]->tile.data[i]->symbol;
    for (int t = 0; t < n; t++)
      hash = hash_bytes(&of[t]->hash.data[i], sizeof hash, hash);
    for (int t = 0; t < n; t++) {
      rename_program(of[0], of[t]->thread.data[i], of[t]->target);
      vec_push(a, &j->tile, of[t]->tile.data[i]);
      vec_push(a, &j->thread, of[t]->thread.data[i]);
      vec_push(a, &j->hash, hash);
      vec_push(a, &j->of, of[t]->target);
      vec_push(a, &j->api, symbol);
    }
  }
}

bool job_compile(Job *j, const Options *o) {
  job_target(j, o);
  if (!j->targets) return job_front(j, o) && job_lower(j, o);
  VEC(Job *) of = {0};
  for (int i = 0; j->targets[i]; i++) {
    Job *v = NEW(j->arena, Job);
    *v = (Job){.arena = j->arena,
               .sources = j->sources,
               .diags = j->diags,
               .target = j->targets[i],
               .file = j->file,
               .read = j->read};
    if (!job_front(v, o) || !job_lower(v, o)) return false;
    vec_push(j->arena, &of, v);
    if (!same_interfaces(j, of.data[0], v)) return false;
  }
  j->read = of.data[of.len - 1]->read;
  join_jobs(j, of.data, of.len);
  return true;
}
