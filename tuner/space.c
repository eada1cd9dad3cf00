// The space: which candidates there are, from the program, a file or the command.
// SPDX-License-Identifier: MIT
#include "tuner/internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/json.h"

enum { MAX_CANDIDATES = 100000 };

typedef VEC(EvConfig) Configs;

static NORETURN void usage(const char *fmt, ...) PRINTF_LIKE(1, 2);

static NORETURN void usage(const char *fmt, ...) {
  va_list ap;
  fputs("tlc: ", stderr);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fputc('\n', stderr);
  exit(EXIT_USAGE);
}

/* ------------------------------------------------------------------ text */

static const char *const state_names[] = {"queued",  "pruned",       "duplicate",
                                          "built",   "build failed", "wrong",
                                          "faulted", "hung",         "measured"};
_Static_assert(LEN(state_names) == TN_STATES, "a name for each state");

const char *tn_state_name(TnState s) { return state_names[s]; }

void tn_text(const TnCandidate *c, Buf *out) {
  for (int i = 0; i < c->bindings.len; i++)
    buf_printf(out, "%s%s=%s", i ? "," : "", c->bindings.data[i].name, c->bindings.data[i].value);
  for (int i = 0; i < c->flags.len; i++)
    buf_printf(out, "%s-f%s=%s", out->len ? " " : "", c->flags.data[i].name,
               c->flags.data[i].value);
}

void tn_tame(Buf *out, size_t from) {
  for (size_t i = from; i < out->len; i++)
    if (iscntrl((unsigned char)out->data[i])) out->data[i] = '?';
}

void tn_label(const TnCandidate *c, Buf *out) {
  size_t before = out->len;
  tn_text(c, out);
  if (out->len == before) buf_puts(out, "(as -p says)");
  tn_tame(out, before);
}

const char *tn_next_value(Arena *a, const char **list, char separator) {
  const char *start = *list, *p = start;
  int depth = 0;
  char quote = 0;
  if (!*p) return NULL;
  for (; *p && (depth || quote || *p != separator); p++) {
    if (quote) quote = *p == quote ? 0 : quote;
    else if (*p == '"' || *p == '\'') quote = *p;
    else if (strchr("[({", *p)) depth++;
    else if (strchr("])}", *p)) depth--;
  }
  *list = *p ? p + 1 : p;
  while (start < p && *start == ' ') start++;
  while (p > start && p[-1] == ' ') p--;
  return arena_strn(a, start, (size_t)(p - start));
}

void tn_axis(Arena *a, const char *option, const char *text, EvBinding *out) {
  const char *eq = strchr(text, '=');
  if (!eq || eq == text || !eq[1]) usage("%s wants NAME=VALUE,VALUE..., got '%s'", option, text);
  *out = (EvBinding){arena_strn(a, text, (size_t)(eq - text)), eq + 1};
  tn_check_list(a, option, eq + 1, ',');
}

void tn_check_list(Arena *a, const char *option, const char *list, char separator) {
  const char *rest = list, *value;
  size_t n = strlen(list);
  bool whole = n && list[n - 1] != separator;
  while (whole && (value = tn_next_value(a, &rest, separator))) whole = *value != 0;
  if (!whole) usage("%s: a value of '%s' is empty", option, list);
}

bool tn_binds(const TnBindings *list, const char *name) {
  for (int i = 0; i < list->len; i++) {
    if (!strcmp(list->data[i].name, name)) return true;
  }
  return false;
}

/* ------------------------------------------------------------------ --space */

static void check_count(const Configs *list) {
  if (list->len > MAX_CANDIDATES) usage("the space has more than %d candidates", MAX_CANDIDATES);
}

// One parameter's values.
typedef struct {
  const char *name;
  VEC(const char *) values;
} Axis;

typedef VEC(Axis) Axes;

static Axis *axis_of(Arena *a, Axes *list, const char *name) {
  for (int i = 0; i < list->len; i++)
    if (!strcmp(list->data[i].name, name)) return &list->data[i];
  vec_push(a, list, (Axis){.name = name});
  return &list->data[list->len - 1];
}

static void cross(Arena *a, Configs *list, const Axis *axis) {
  Configs out = {0};
  for (int i = 0; i < list->len; i++) {
    for (int v = 0; v < axis->values.len; v++) {
      EvConfig one = {0};
      for (int k = 0; k < list->data[i].bindings.len; k++)
        vec_push(a, &one.bindings, list->data[i].bindings.data[k]);
      vec_push(a, &one.bindings, (EvBinding){axis->name, axis->values.data[v]});
      vec_push(a, &out, one);
      check_count(&out);
    }
  }
  *list = out;
}

static void space_of_axes(Arena *a, const Axes *axes, Configs *out) {
  vec_push(a, out, (EvConfig){0});
  for (int i = 0; i < axes->len; i++) cross(a, out, &axes->data[i]);
}

// Of --space: given twice, both count.
static void space_of_command(Arena *a, const TnBindings *list, Configs *out) {
  Axes axes = {0};
  for (int i = 0; i < list->len; i++) {
    const char *rest = list->data[i].value, *value;
    Axis *axis = axis_of(a, &axes, list->data[i].name);
    while ((value = tn_next_value(a, &rest, ','))) vec_push(a, &axis->values, value);
  }
  space_of_axes(a, &axes, out);
}

/* ------------------------------------------------------------------ --configs */

static const char *json_text(Arena *a, const Json *j, const AstExpr *e) {
  Buf b = {0};
  json_put(&b, e, j);
  const char *text = arena_str(a, buf_str(&b));
  buf_free(&b);
  return text;
}

static void json_config(Arena *a, const Json *j, const AstExpr *e, Configs *out) {
  EvConfig one = {0};
  (void)json_object(j, e, "a configuration is an object: {\"NAME\": VALUE, ...}");
  for (int i = 0; i < e->dict.len; i++)
    vec_push(a, &one.bindings,
             (EvBinding){e->dict.data[i].key->str.data, json_text(a, j, e->dict.data[i].value)});
  vec_push(a, out, one);
  check_count(out);
}

// {"name": [values]}
static void json_axes(Arena *a, const Json *j, const AstExpr *e, Configs *out) {
  Axes axes = {0};
  for (int i = 0; i < e->dict.len; i++) {
    const AstExpr *values = e->dict.data[i].value, *name = e->dict.data[i].key;
    if (values->kind != AST_LIST)
      json_bad(j, values, "a parameter's values are a list, such as [64, 128]");
    if (!values->items.len) json_bad(j, values, "\"%s\" has no value", name->str.data);
    Axis *axis = axis_of(a, &axes, name->str.data);
    for (int k = 0; k < values->items.len; k++)
      vec_push(a, &axis->values, json_text(a, j, values->items.data[k]));
  }
  space_of_axes(a, &axes, out);
}

// A list of configurations, an object of lists, or what --list-configs --json prints.
static void space_of_file(Arena *a, const Options *o, const char *entry, Configs *out) {
  Json j = json_read(a, "--configs", o->tune.configs);
  if (j.root->kind == AST_DICT) {
    json_axes(a, &j, json_object(&j, j.root, ""), out);
    return;
  }
  if (j.root->kind != AST_LIST)
    json_bad(&j, NULL, "a space is a list of configurations or an object of lists");
  bool listed = false;
  for (int i = 0; i < j.root->items.len; i++) {
    const AstExpr *e = json_object(&j, j.root->items.data[i],
                                   "a configuration is an object: {\"NAME\": VALUE, ...}");
    const AstExpr *kernel = json_member(e, "kernel"), *list = json_member(e, "configs");
    if (!kernel || !list || list->kind != AST_LIST) {
      json_config(a, &j, e, out);
      continue;
    }
    listed = true;
    if (kernel->kind != AST_STR || strcmp(kernel->str.data, entry)) continue;
    for (int k = 0; k < list->items.len; k++) json_config(a, &j, list->items.data[k], out);
  }
  if (listed && !out->len) json_bad(&j, NULL, "no configurations for the kernel '%s'", entry);
}

/* ------------------------------------------------------------------ candidates */

static const EvEntry *pick(Job *j, const Options *o, const EvResult *r, int *status) {
  bool declared = !o->tune.axes.len && !o->tune.configs && !o->tune.roller;
  const EvEntry *found = NULL;
  int n = 0;
  for (int i = 0; i < r->entries.len; i++) {
    if (declared && !r->entries.data[i].configs.len) continue;
    found = &r->entries.data[i];
    n++;
  }
  *status = EXIT_OK;
  if (n == 1) return found;
  if (!n && declared) {
    drv_no_space(j, r, o->tune.flags != NULL);
    *status = EXIT_WRONG_PROGRAM;
    return NULL;
  }
  fprintf(stderr, "tlc: --tune: name one kernel by --entry:");
  for (int i = 0; i < r->entries.len; i++) fprintf(stderr, " %s", r->entries.data[i].name);
  fputc('\n', stderr);
  *status = EXIT_USAGE;
  return NULL;
}

const char *tn_near(Arena *a, const char *name, const char *const *names, int n) {
  const char **list = NEWN(a, const char *, n + 1);
  for (int i = 0; i < n; i++) list[i] = names[i];
  const char *near = near_name(name, list);
  return near ? arena_printf(a, "; did you mean '%s'?", near) : "";
}

// Programs give the same configurations to kernels with more parameters and with fewer.
static bool takes(Arena *a, const EvEntry *e, const char *name, Map *told) {
  for (int i = 0; i < e->operands.len; i++) {
    if (!strcmp(e->operands.data[i], name)) return true;
  }
  if (!map_has(told, name))
    fprintf(stderr, "tlc: --tune: %s has no parameter '%s' that the space gives: left out%s\n",
            e->name, name, tn_near(a, name, e->operands.data, e->operands.len));
  map_set(told, name, (void *)(uintptr_t)name);
  return false;
}

static void drop_unknown(Arena *a, const EvEntry *e, Configs *list) {
  Map *told = map_new(a);
  for (int i = 0; e->operands.len && i < list->len; i++) {
    EvConfig kept = {0};
    for (int k = 0; k < list->data[i].bindings.len; k++) {
      if (takes(a, e, list->data[i].bindings.data[k].name, told))
        vec_push(a, &kept.bindings, list->data[i].bindings.data[k]);
    }
    list->data[i] = kept;
  }
}

static void add(TnSpace *s, const EvConfig *config, const TnFlagSets *flags, Map *seen) {
  TnCandidate c = {.entry = s->entry, .sizes = s->sizes, .same_as = -1};
  c.as = (TnAsm){-1, -1, -1, -1};
  for (int i = 0; i < config->bindings.len; i++) {
    const EvBinding *b = &config->bindings.data[i];
    if (!tn_binds(&s->sizes, b->name)) vec_push(s->arena, &c.bindings, *b);
  }
  for (int i = 0; i < flags->len; i++) {
    Buf key = {0};
    c.flags = flags->data[i];
    c.id = s->all.len;
    tn_text(&c, &key);
    if (!map_has(seen, buf_str(&key))) vec_push(s->arena, &s->all, c);
    map_set(seen, buf_str(&key), s);
    buf_free(&key);
    if (s->all.len > MAX_CANDIDATES) usage("the space has more than %d candidates", MAX_CANDIDATES);
  }
}

// Parameters of the space that -p fixes.
static void count_locked(TnSpace *s, const Configs *list) {
  Map *names = map_new(s->arena);
  for (int i = 0; i < list->len; i++) {
    for (int k = 0; k < list->data[i].bindings.len; k++) {
      const char *name = list->data[i].bindings.data[k].name;
      if (tn_binds(&s->sizes, name)) map_set(names, name, s);
    }
  }
  s->locked = map_len(names);
}

static void bind_sizes(Arena *a, const Options *o, const TnBindings *override, TnSpace *s) {
  for (int i = 0; override && i < override->len; i++) vec_push(a, &s->sizes, override->data[i]);
  for (int i = 0; i < map_len(o->bindings); i++) {
    const char *name = map_key(o->bindings, i);
    if (!tn_binds(&s->sizes, name))
      vec_push(a, &s->sizes, (EvBinding){name, map_value(o->bindings, i)});
  }
}

static Configs configs_of(Arena *a, const Options *o, const EvEntry *e, TnSpace *s) {
  Configs list = {0};
  if (o->tune.axes.len) {
    s->from = "--space";
    space_of_command(a, &o->tune.axes, &list);
  } else if (o->tune.configs) {
    s->from = o->tune.configs;
    space_of_file(a, o, e->name, &list);
  } else {
    s->from = "the program";
    for (int i = 0; i < e->configs.len; i++) vec_push(a, &list, e->configs.data[i]);
  }
  return list;
}

static void check_axes(const Options *o, const EvEntry *e) {
  for (int i = 0; i < o->tune.axes.len; i++) {
    bool found = false;
    tn_check_list(o->arena, "--space", o->tune.axes.data[i].value, ',');
    const char *name = o->tune.axes.data[i].name;
    for (int k = 0; k < e->operands.len; k++) found |= !strcmp(e->operands.data[k], name);
    if (found || !e->operands.len) continue;
    usage("--space: %s has no parameter '%s'%s", e->name, name,
          tn_near(o->arena, name, e->operands.data, e->operands.len));
  }
}

int tn_space(Arena *a, const Options *o, const TnBindings *override, TnSpace *out) {
  Job j = {.arena = a, .sources = src_new(a)};
  j.diags = diag_new(a, j.sources, (DiagOptions){.format = o->diag_format, .werror = o->werror});
  *out = (TnSpace){.arena = a, .options = o};
  bind_sizes(a, o, override, out);
  if (!job_open(&j, o)) usage("cannot read %s: %s", o->input, strerror(errno));
  job_target(&j, o);
  out->target = j.target;
  EvOptions e = job_eval(&j, o);
  Map *bindings = map_new(a);
  for (int i = 0; i < out->sizes.len; i++)
    map_set(bindings, out->sizes.data[i].name, (void *)(uintptr_t)out->sizes.data[i].value);
  e.bindings = bindings;
  e.configs = !o->tune.axes.len && !o->tune.configs && !o->tune.roller;
  e.list = true;
  EvResult r = {0};
  int status = EXIT_WRONG_PROGRAM;
  const EvEntry *entry = ev_compile(&e, &r) ? pick(&j, o, &r, &status) : NULL;
  diag_flush(j.diags, stderr);
  if (!entry) return status;
  out->entry = entry->name;
  out->rtol = entry->rtol;
  out->atol = entry->atol;
  out->warmup = entry->warmup;
  out->rep = entry->rep;
  out->timeout = entry->timeout;
  out->mismatch = entry->mismatch;
  out->reference = entry->reference;
  check_axes(o, entry);
  if (o->tune.roller) return EXIT_OK;
  TnFlagSets flags = tn_flag_sets(a, o);
  Configs list = configs_of(a, o, entry, out);
  if (!o->tune.axes.len) drop_unknown(a, entry, &list);
  Map *seen = map_new(a);
  if (!list.len) usage("%s: the space has no configuration", out->from);
  for (int i = 0; i < list.len; i++) add(out, &list.data[i], &flags, seen);
  count_locked(out, &list);
  return EXIT_OK;
}
