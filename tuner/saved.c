// --save: winners by kernel, target and sizes, in a file that people read and commit. An entry with
// the same kernel, target and sizes is replaced; the others stay.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/json.h"
#include "runtime/runtime.h"
#include "tuner/internal.h"
#include "tuner/results.h"

typedef struct {
  const char *key;  // kernel, target and sizes: what it replaces
  const char *text; // the entry, JSON on some lines
} Entry;

typedef VEC(Entry) Entries;

static uint64_t hash_of(Arena *a, const Source *s, uint64_t seed) {
  Sources *sources = src_new(a);
  Diags *diags = diag_new(a, sources, (DiagOptions){0});
  AstModule *m = ast_parse(a, diags, src_add(sources, "source", s->text, s->len));
  Buf b = {0};
  if (m) ast_print(m, &b);
  uint64_t h = hash_bytes(buf_str(&b), b.len, seed);
  buf_free(&b);
  return h;
}

uint64_t tn_source_hash(const Job *j, const EvResult *listed) {
  uint64_t h = hash_of(j->arena, src_get(j->sources, j->file), 0);
  for (int i = 0; i < listed->files.len; i++) {
    const Source *s = tn_source_at(j, listed->files.data[i]);
    if (s) h = hash_of(j->arena, s, h);
  }
  return h;
}

/* ------------------------------------------------------------------ what is there */

static void put_json(Buf *b, const Json *j, const AstExpr *e) {
  switch (e->kind) {
  case AST_STR: rt_json_string(b, e->str.data); break;
  case AST_INT:
  case AST_FLOAT: buf_puts(b, e->num.text); break;
  case AST_NAME: buf_puts(b, e->name); break;
  case AST_UNARY:
    if (e->unary.op != AST_OP_NEG) json_bad(j, e, "this is no JSON value");
    buf_putc(b, '-');
    put_json(b, j, e->unary.operand);
    break;
  case AST_LIST:
    for (int i = 0; i < e->items.len; i++) {
      buf_puts(b, i ? ", " : "[");
      put_json(b, j, e->items.data[i]);
    }
    buf_puts(b, e->items.len ? "]" : "[]");
    break;
  case AST_DICT:
    (void)json_object(j, e, "");
    for (int i = 0; i < e->dict.len; i++) {
      buf_puts(b, i ? ", " : "{");
      put_json(b, j, e->dict.data[i].key);
      buf_puts(b, ": ");
      put_json(b, j, e->dict.data[i].value);
    }
    buf_puts(b, e->dict.len ? "}" : "{}");
    break;
  default: json_bad(j, e, "this is no JSON value");
  }
}

static const char *member_text(Arena *a, const Json *j, const AstExpr *e, const char *name) {
  const AstExpr *m = json_member(e, name);
  Buf b = {0};
  if (m) put_json(&b, j, m);
  const char *text = arena_str(a, buf_str(&b));
  buf_free(&b);
  return text;
}

// The members of an entry, some a line; the order is that of the file.
static const char *entry_text(Arena *a, const Json *j, const AstExpr *e) {
  Buf b = {0};
  for (int i = 0; i < e->dict.len; i++) {
    const AstExpr *key = e->dict.data[i].key;
    static const char *const breaks[] = {"config", "latency_ms", "predicted_ms", NULL};
    const char *sep = i ? ", " : "{";
    for (int k = 0; breaks[k]; k++)
      if (i && !strcmp(key->str.data, breaks[k])) sep = ",\n   ";
    buf_puts(&b, sep);
    put_json(&b, j, key);
    buf_puts(&b, ": ");
    put_json(&b, j, e->dict.data[i].value);
  }
  buf_putc(&b, '}');
  const char *text = arena_str(a, buf_str(&b));
  buf_free(&b);
  return text;
}

const AstExpr *tn_tuning_entries(const Json *j) {
  static const char what[] = "a tuning file is {\"format\": \"" TN_FORMAT "\", \"entries\": [...]}";
  const AstExpr *root = json_object(j, j->root, what), *format = json_member(root, "format");
  const AstExpr *list = json_member(root, "entries");
  if (format && (format->kind != AST_STR || strcmp(format->str.data, TN_FORMAT)))
    json_bad(j, format, "this tlc reads files of the format \"%s\"", TN_FORMAT);
  if (!list || list->kind != AST_LIST) json_bad(j, list, "%s", what);
  for (int i = 0; i < list->items.len; i++)
    (void)json_object(j, list->items.data[i], "an entry is an object");
  return list;
}

static Entries read_entries(Arena *a, const char *path) {
  Entries list = {0};
  if (access(path, F_OK)) return list;
  Json j = json_read(a, "--save", path);
  const AstExpr *entries = tn_tuning_entries(&j);
  for (int i = 0; i < entries->items.len; i++) {
    const AstExpr *e = entries->items.data[i];
    const char *key = arena_printf(a, "%s %s %s", member_text(a, &j, e, "kernel"),
                                   member_text(a, &j, e, "arch"), member_text(a, &j, e, "sizes"));
    vec_push(a, &list, (Entry){key, entry_text(a, &j, e)});
  }
  return list;
}

static const char *folder_of(Arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? arena_printf(a, "%.*s/", (int)(slash - path), path) : ".";
}

// --save and --report: a file of its own, which is renamed into place.
static void check_name(const char *option, const char *path) {
  struct stat st;
  const char *why = NULL;
  if (!*path) why = "a file needs a name";
  else if (!strcmp(path, "-")) why = "stdout is for the ranking: name a file";
  else if (!strcmp(option, "--save") && !stat(path, &st) && !S_ISREG(st.st_mode) &&
           !S_ISDIR(st.st_mode))
    why = "it is read, too: name a regular file";
  if (!why) return;
  fprintf(stderr, "tlc: %s %s: %s\n", option, path, why);
  exit(EXIT_USAGE);
}

// Ends the run where the file will not be written.
static void check_writable(Arena *a, const char *option, const char *path) {
  struct stat st;
  const char *folder = folder_of(a, path);
  bool there = stat(path, &st) == 0, is_folder = there && S_ISDIR(st.st_mode);
  bool device = there && !is_folder && !S_ISREG(st.st_mode); // written in place
  if (!is_folder && access(device ? path : folder, W_OK) == 0) return;
  fprintf(stderr, "tlc: %s %s: %s\n", option, path, strerror(is_folder ? EISDIR : errno));
  exit(EXIT_MACHINE);
}

void tn_check_outputs(const Options *o) {
  if (o->tune.save) check_name("--save", o->tune.save);
  if (o->tune.report) check_name("--report", o->tune.report);
  if (o->tune.save) check_writable(o->arena, "--save", o->tune.save);
  if (o->tune.save) (void)read_entries(o->arena, o->tune.save);
  if (o->tune.report) check_writable(o->arena, "--report", o->tune.report);
  if (o->output) check_writable(o->arena, "-o", o->output);
}

/* ------------------------------------------------------------------ what is added */

static void put_bindings(Buf *b, const TnBindings *list) {
  drv_json_bindings(list->data, list->len, false, b);
}

// What the winner was tuned for: the kernel's parameters but the tuned ones, by -p or by default.
// *source: the program's hash.
static TnBindings tuned_for(Arena *a, const TnSpace *s, const TnCandidate *c, uint64_t *source) {
  TnBindings list = {0};
  Options o = tn_options(a, s, c);
  Job j = {.arena = a, .sources = src_new(a)};
  j.diags = diag_new(a, j.sources, (DiagOptions){0});
  EvResult r = {0}, listed = {0};
  *source = 0;
  if (!job_open(&j, &o)) return c->sizes;
  job_target(&j, &o);
  EvOptions e = job_eval(&j, &o);
  (void)ev_compile(&e, &r); // a list of kernels knows no defaults
  e.list = true;
  (void)ev_compile(&e, &listed);
  *source = tn_source_hash(&j, &listed);
  for (int i = 0; r.entries.len == 1 && i < r.entries.data[0].params.len; i++) {
    const EvParamInfo *p = &r.entries.data[0].params.data[i];
    if (p->value && !tn_binds(&c->bindings, p->name))
      vec_push(a, &list, (EvBinding){p->name, p->value});
  }
  for (int i = 0; i < c->sizes.len; i++) // of T.dynamic sizes, which are no parameters
    if (!tn_binds(&list, c->sizes.data[i].name)) vec_push(a, &list, c->sizes.data[i]);
  return list;
}

static Entry make_entry(Arena *a, const TnResult *r) {
  const TnSpace *s = r->space;
  const TnCandidate *c = tn_best(r);
  Buf sizes = {0}, b = {0};
  double us = tn_best_us(c);
  uint64_t source;
  TnBindings known = tuned_for(a, s, c, &source);
  put_bindings(&sizes, &known);
  buf_puts(&b, "{\"kernel\": ");
  rt_json_string(&b, s->entry);
  buf_printf(&b, ", \"arch\": \"%s\", \"sizes\": %s", s->target->name, buf_str(&sizes));
  buf_puts(&b, ",\n   \"config\": ");
  put_bindings(&b, &c->bindings);
  if (c->flags.len) {
    buf_puts(&b, ", \"flags\": ");
    put_bindings(&b, &c->flags);
  }
  buf_printf(&b, ",\n   \"%s\": %.4g", r->gpu ? "latency_ms" : "predicted_ms", 1e-3 * us);
  if (c->model.flops > 0) buf_printf(&b, ", \"tflops\": %.4g", c->model.flops / us * 1e-6);
  if (r->found.reference_us > 0)
    buf_printf(&b, ", \"reference_ms\": %.4g", 1e-3 * r->found.reference_us);
  if (r->gpu) {
    buf_puts(&b, ", \"gpu\": ");
    rt_json_string(&b, r->gpu);
  }
  buf_printf(&b, ", \"tlc\": \"%s\", \"source\": \"%016llx\"}", tlc_version,
             (unsigned long long)source);
  Entry e = {arena_printf(a, "\"%s\" \"%s\" %s", s->entry, s->target->name, buf_str(&sizes)),
             arena_str(a, buf_str(&b))};
  buf_free(&sizes);
  buf_free(&b);
  return e;
}

// Digit runs by their numbers: K=512 before K=4096.
static int by_key(const void *pa, const void *pb) {
  return strverscmp(((const Entry *)pa)->key, ((const Entry *)pb)->key);
}

int tn_save(const TnResults *results, const char *path) {
  Arena *a = arena_new();
  // From reading to writing no other search adds to the file; what is locked is always there.
  int folder = open(folder_of(a, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) flock(folder, LOCK_EX);
  Entries list = read_entries(a, path);
  for (int i = 0; i < results->len; i++) {
    if (!tn_best(&results->data[i])) continue;
    Entry e = make_entry(a, &results->data[i]);
    int at = 0;
    while (at < list.len && strcmp(list.data[at].key, e.key)) at++;
    if (at == list.len) vec_push(a, &list, e);
    list.data[at] = e;
  }
  qsort(list.data, (size_t)list.len, sizeof *list.data, by_key);
  Buf b = {0};
  buf_puts(&b, "{\"format\": \"" TN_FORMAT "\",\n \"entries\": [\n");
  for (int i = 0; i < list.len; i++)
    buf_printf(&b, "  %s%s\n", list.data[i].text, i + 1 < list.len ? "," : "");
  buf_puts(&b, " ]}\n");
  int status = EXIT_OK;
  if (file_write(path, b.data, b.len)) {
    fprintf(stderr, "tlc: cannot write %s: %s\n", path, strerror(errno));
    status = EXIT_MACHINE;
  }
  if (folder >= 0) close(folder);
  buf_free(&b);
  arena_free(a);
  return status;
}
