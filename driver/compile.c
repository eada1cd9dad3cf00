// The one compile function's three steps: file, tile programs, thread programs.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "driver/params.h"
#include "eval/eval.h"
#include "runtime/runtime.h"

static bool has_suffix(const char *path, const char *suffix) {
  size_t n = strlen(path), m = strlen(suffix);
  return n >= m && !strcmp(path + n - m, suffix);
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

bool job_open(Job *j, const Options *o) {
  size_t len;
  char *text = file_read(j->arena, o->input, &len);
  if (!text) return false;
  j->file = src_add(j->sources, o->input, text, len);
  vec_push(j->arena, &j->read, o->input);
  return true;
}

static void add_program(Job *j, Program *p) {
  if (!p->file) p->file = base_name(src_get(j->sources, j->file)->path);
  Buf text = {0};
  ir_print(p, &text);
  vec_push(j->arena, &j->tile, p);
  vec_push(j->arena, &j->hash, hash_bytes(buf_str(&text), text.len, 0));
  buf_free(&text);
}

EvOptions job_eval(const Job *j, const Options *o) {
  return (EvOptions){.arena = j->arena,
                     .diags = j->diags,
                     .file = j->file,
                     .target = j->target,
                     .bindings = o->bindings,
                     .entry = o->entry,
                     .name = o->name,
                     .hint_takes = opt_hint_takes,
                     .hints = tn_hints,
                     .hints_ctx = (void *)(uintptr_t)o,
                     .include = o->include.data,
                     .ninclude = o->include.len};
}

// The entries that are asked for, none of them evaluated; nothing is reported.
static EvResult list_entries(Job *j, const EvOptions *e) {
  EvOptions list = *e;
  EvResult r = {0};
  list.diags = diag_new(j->arena, j->sources, (DiagOptions){0});
  list.list = true;
  (void)ev_compile(&list, &r);
  return r;
}

// Where values are wanting: those of a call in the file's own code, to start from.
static void tell_call(Job *j, const EvOptions *e) {
  if (diag_first_id(j->diags) != DIAG_MISSING_PARAMS || diag_errors(j->diags) != 1) return;
  EvResult r = list_entries(j, e);
  if (r.entries.len != 1 || !r.entries.data[0].calls.len) return;
  const EvConfig *call = &r.entries.data[0].calls.data[0];
  Buf text = {0};
  for (int i = 0; i < call->bindings.len; i++)
    buf_printf(&text, "%s%s=%s", i ? "," : "", call->bindings.data[i].name,
               call->bindings.data[i].value);
  if (text.len)
    diag_note(j->diags, r.entries.data[0].span, "the file's own code calls it with -p %s",
              buf_str(&text));
  buf_free(&text);
}

// --params: the first set of values recorded for the entry, under those of -p.
static void bind_recorded(Job *j, const Options *o, EvOptions *e) {
  Arena *a = j->arena;
  Params *p = params_read(a, o->params);
  EvResult r = list_entries(j, e);
  Map *set = map_new(a);
  if (r.entries.len == 1 && params_count(p, o->input, r.entries.data[0].name))
    params_bind(p, o->input, r.entries.data[0].name, 0, set);
  e->recorded = set;
}

static bool read_source(Job *j, const Options *o) {
  EvOptions e = job_eval(j, o);
  if (o->params) bind_recorded(j, o, &e);
  EvResult r = {0};
  bool ok = ev_compile(&e, &r);
  if (!ok) tell_call(j, &e);
  for (int i = 0; i < r.files.len; i++) vec_push(j->arena, &j->read, r.files.data[i]);
  for (int i = 0; i < r.missed.len; i++) vec_push(j->arena, &j->missed, r.missed.data[i]);
  for (int i = 0; ok && i < r.programs.len; i++) {
    Buf why = {0};
    if (!ir_verify(r.programs.data[i], &why))
      die("%s evaluates to ill-formed IR:\n%s", r.programs.data[i]->symbol, buf_str(&why));
    buf_free(&why);
    add_program(j, r.programs.data[i]);
  }
  return ok;
}

const Target *job_newest_target(int sm) {
  const Target *best = target_at(0);
  for (int i = 0; target_at(i); i++)
    if (target_at(i)->sm <= sm && target_at(i)->sm > best->sm) best = target_at(i);
  return best;
}

// "native": the newest target that this machine's GPU runs. Where no GPU is, sm_80 for the
// emulator; a ranking has none.
static const Target *native_target(const Options *o) {
  RtGpu *gpu = NULL;
  Buf err = {0};
  bool there = rt_gpu_open(0, &gpu, &err) == RT_OK;
  if (!there && o->mode == MODE_TUNE) {
    fprintf(stderr, "tlc: --arch native: %s: name a target\n", buf_str(&err));
    exit(EXIT_MACHINE);
  }
  const Target *t = job_newest_target(there ? rt_gpu_info(gpu)->sm : 0);
  rt_gpu_close(gpu);
  buf_free(&err);
  return t;
}

static void unknown_target(const char *arch) {
  Buf names = {0};
  const char *all[16] = {0};
  for (int i = 0; target_at(i) && i < 15; i++) {
    all[i] = target_at(i)->name;
    buf_printf(&names, "%s%s", i ? ", " : "", all[i]);
  }
  const char *near = near_name(arch, all);
  fprintf(stderr, "tlc: --arch: '%s' is none of %s%s%s%s\n", arch, buf_str(&names),
          near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
  buf_free(&names);
  exit(EXIT_USAGE);
}

// Texts hold bodies for several targets; what runs, and IR, is of one.
static void check_list(const Options *o) {
  bool text = o->mode == MODE_EMIT && (o->emit == EMIT_CU || o->emit == EMIT_HEADER ||
                                       o->emit == EMIT_MANIFEST || o->emit == EMIT_EXE);
  if (text) return;
  fprintf(stderr, "tlc: --arch %s: a list is for --emit cu, header, manifest and exe; ", o->arch);
  fputs("name one target here\n", stderr);
  exit(EXIT_USAGE);
}

static void target_list(Job *j, const Options *o) {
  VEC(const Target *) list = {0};
  for (const char *s = o->arch; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
    const char *name = arena_strn(j->arena, s, strcspn(s, ","));
    const Target *t = target_find(name);
    if (!t) unknown_target(name);
    int at = list.len;
    vec_push(j->arena, &list, t);
    for (; at > 0 && list.data[at - 1]->sm > t->sm; at--) list.data[at] = list.data[at - 1];
    list.data[at] = t;
    if (at == 0 || list.data[at - 1] != t) continue;
    fprintf(stderr, "tlc: --arch: %s stands twice in %s\n", name, o->arch);
    exit(EXIT_USAGE);
  }
  vec_push(j->arena, &list, NULL);
  j->target = list.data[0];
  j->targets = list.data;
}

void job_target(Job *j, const Options *o) {
  bool native = !strcmp(o->arch, "native");
  if (j->target) return;
  if (native && o->mode == MODE_EMIT) {
    fprintf(stderr, "tlc: --arch native is for --run, --bench and --tune: ");
    fputs("name the target of a text\n", stderr);
    exit(EXIT_USAGE);
  }
  if (strchr(o->arch, ',')) {
    check_list(o);
    target_list(j, o);
    return;
  }
  j->target = native ? native_target(o) : target_find(o->arch);
  if (!j->target) unknown_target(o->arch);
}

bool job_front(Job *j, const Options *o) {
  job_target(j, o);
  if (!has_suffix(o->input, ".tir")) return read_source(j, o);
  Program *p = ir_read(j->arena, j->diags, j->file);
  if (!p) return false;
  Buf why = {0};
  bool ok = ir_verify(p, &why);
  if (!ok) diag_report(j->diags, DIAG_BAD_IR, (Span){j->file, 0, 0}, buf_str(&why));
  buf_free(&why);
  if (!ok) return false;
  const Stmt *lacks = target_lacks(j->target, p);
  add_program(j, p);
  if (!lacks) return true;
  diag_report(j->diags, DIAG_TARGET_OP, lacks->span, op_info(lacks->u.op.op)->name,
              j->target->name);
  return false;
}

static bool is_lowered(const Program *p) {
  return p->kernels.len && p->kernels.data[0]->level == LEVEL_THREAD;
}

// --zero names tensors that some kernel writes.
static void check_zero(const Job *j, const Options *o) {
  for (int i = 0; i < o->zero.len; i++) {
    const char *names[64] = {0};
    bool found = false;
    int n = 0;
    for (int k = 0; k < j->tile.len; k++) {
      const Program *p = j->tile.data[k];
      for (int m = 0; m < p->params.len; m++) {
        if (p->params.data[m].kind != PARAM_TENSOR || p->params.data[m].role == ROLE_IN) continue;
        found |= !strcmp(p->params.data[m].name, o->zero.data[i]);
        if (n < 63) names[n++] = p->params.data[m].name;
      }
    }
    if (found) continue;
    fprintf(stderr, "tlc: --zero %s: the kernel writes no such tensor; it writes", o->zero.data[i]);
    for (int k = 0; k < n; k++) fprintf(stderr, " %s", names[k]);
    fputc('\n', stderr);
    exit(EXIT_USAGE);
  }
}

static const char *const *zero_names(const Job *j, const Options *o) {
  const char **names = NEWN(j->arena, const char *, o->zero.len + 1);
  for (int i = 0; i < o->zero.len; i++) names[i] = o->zero.data[i];
  return names;
}

bool job_zeroes_itself(const Program *p, const Target *t) {
  return t->bulk && !is_lowered(p);
}

bool job_lower(Job *j, const Options *o) {
  check_zero(j, o);
  PassCtx c = {.arena = j->arena,
               .diags = j->diags,
               .target = j->target,
               .flags = o->flags,
               .debug = o->debug,
               .wants_registers = o->mode == MODE_TUNE,
               .wanted = j->wanted,
               .wanted_ctx = j->wanted_ctx,
               .dump = o->dump,
               .dump_to = stderr,
               .time = o->time_passes};
  for (int i = 0; i < j->tile.len; i++) {
    Program *p = ir_clone(j->arena, j->tile.data[i]);
    if (job_zeroes_itself(p, j->target)) passes_zero(j->arena, p, zero_names(j, o));
    if (!is_lowered(p) && !passes_run(p, &c)) return false;
    vec_push(j->arena, &j->thread, p);
  }
  return diag_errors(j->diags) == 0;
}

CgOptions job_codegen(const Job *j, const Options *o, int program) {
  bool list = j->targets != NULL;
  const Target *target = list ? j->of.data[program] : j->target;
  return (CgOptions){.target = target,
                     .targets = j->targets,
                     .api = list ? j->api.data[program] : NULL,
                     .source = j->tile.data[program],
                     .out_name = drv_cu_name(o),
                     .debug = o->debug,
                     .lines = o->lines ? !strcmp(o->lines, "tl") : o->debug,
                     .zero = o->zero.len ? zero_names(j, o) : NULL,
                     .zero_kernels = job_zeroes_itself(j->tile.data[program], target),
                     .hash = j->hash.data[program],
                     .sources = j->sources};
}
