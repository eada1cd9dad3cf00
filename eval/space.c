// Tuning spaces: the configurations that @tilelang.autotune or AutoTuner.from_kernel is given.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include "eval/entry.h"

#include <string.h>

enum { MAX_CONFIGS = 100000 };

typedef struct {
  Func *f;
  EvEntry *e;
  Val configs;
  Span at; // of the declaration
} Space;

static void add_config(Ev *ev, EvEntry *e, Val v, Span at) {
  ev_need(ev, v);
  if (v.kind != V_DICT) ev_fail(ev, DIAG_CONFIGS, at, v_kind(ev, v));
  if (e->configs.len >= MAX_CONFIGS)
    ev_fail(ev, DIAG_TOO_LONG, at, (long long)e->configs.len + 1, MAX_CONFIGS);
  EvConfig config = {0};
  for (int i = 0; i < v.dict->entries.len; i++) {
    const DictEntry *d = &v.dict->entries.data[i];
    if (d->dead) continue;
    // TileLang takes this key as flags of its own passes, and never as an operand.
    if (d->key.kind == V_STR && !strcmp(d->key.str->data, "pass_configs")) continue;
    const char *text = bind_text(ev, d->value);
    if (d->key.kind != V_STR)
      ev_fail(ev, DIAG_OPERAND, at, "configs", v_brief(ev, d->key),
              "dicts whose keys are names of parameters");
    if (!text)
      ev_fail(ev, DIAG_CONFIG_VALUE, at, v_brief(ev, d->key), v_kind(ev, d->value));
    vec_push(ev->arena, &config.bindings, (EvBinding){d->key.str->data, text});
  }
  vec_push(ev->arena, &e->configs, config);
}

// {name: [values]}: every combination, the last name varying fastest.
static void cross(Ev *ev, const Space *s, const Dict *d, Val one, int i) {
  while (i < d->entries.len && d->entries.data[i].dead) i++;
  if (i == d->entries.len) {
    add_config(ev, s->e, one, s->at);
    return;
  }
  const DictEntry *axis = &d->entries.data[i];
  bool many = v_is_seq(axis->value) || axis->value.kind == V_RANGE;
  Seq *values = many ? ev_items(ev, axis->value, s->at) : NULL;
  for (int k = 0; k < (many ? values->len : 1); k++) {
    ev_step(ev, s->at);
    dict_set(ev, one.dict, axis->key, many ? values->data[k] : axis->value, s->at);
    cross(ev, s, d, one, i + 1);
  }
}

// A parameter with a default is not for an operand of another name: `topk=10` after the sizes.
static bool own_default(const Func *configs, int i, const Func *f) {
  return configs->defaults[i].kind != V_UNSET &&
         strcmp(configs->params->data[i].name, f->params->data[i].name) != 0;
}

// configs may be a function of the kernel's first operands, or of (args, kwargs) as wholes.
static Val call_space(Ev *ev, const Space *s, Val configs) {
  Val args = v_seq(ev, V_TUPLE, 0);
  EvEntry scratch = {0};
  Env *env = entry_bind(ev, s->f, &scratch);
  int n = configs.kind == V_FUNC ? configs.fn->params->len : 0;
  bool whole = n == 2 && !strcmp(configs.fn->params->data[0].name, "args");
  for (int i = 0; i < s->f->params->len && (whole || i < n); i++) {
    if (!whole && own_default(configs.fn, i, s->f)) break;
    const Cell *c = map_get(env->cells, s->f->params->data[i].name);
    v_push(ev, args.seq, c->v);
  }
  if (whole) return ev_call_args(ev, configs, s->at, 2, (Val[]){args, v_dict(ev, V_DICT)});
  return ev_call_args(ev, configs, s->at, args.seq->len, args.seq->data);
}

static void eval_space(Ev *ev, void *arg) {
  Space *s = arg;
  Val configs = s->configs;
  if (s->f && (configs.kind == V_FUNC || configs.kind == V_METHOD))
    configs = call_space(ev, s, configs);
  ev_need(ev, configs);
  if (configs.kind == V_OPAQUE) ev_opaque(ev, s->at, configs.opaque->what);
  if (configs.kind == V_DICT) {
    cross(ev, s, configs.dict, v_dict(ev, V_DICT), 0);
    return;
  }
  Seq *items = ev_items(ev, configs, s->at);
  for (int i = 0; i < items->len; i++) add_config(ev, s->e, items->data[i], s->at);
}

static const char *const settings[] = {
    "rtol", "atol", "warmup", "rep", "timeout", "max_mismatched_ratio", "ref_prog"}; // ORDER_TUNE
_Static_assert(LEN(settings) == TUNE_SETTINGS, "a name for each");

int space_setting(const char *name) {
  for (int i = 0; i < TUNE_SETTINGS; i++) {
    if (!strcmp(settings[i], name)) return i;
  }
  return -1;
}

void space_check(Ev *ev, int setting, Val v, Span at) {
  bool open = v.kind == V_UNSET || v.kind == V_NONE || v.kind == V_OPAQUE || setting == TUNE_REF;
  if (open || (v_is_num(v) && v_as_float(v) >= 0)) return;
  ev_fail(ev, DIAG_OPERAND, at, settings[setting], v_brief(ev, v), "a number of at least 0");
}

static void put_line(Buf *b, const char *name, const AstExpr *e) {
  if (name) buf_printf(b, "%s = ", name);
  ast_print_expr(e, b);
  buf_putc(b, '\n');
}

// One statement of a reference program; false: it is more than an assignment or a return.
static bool put_statement(Buf *b, const AstStmt *s, bool *done) {
  if (s->kind == AST_STMT_IMPORT || s->kind == AST_STMT_FROM_IMPORT) return true;
  if (s->kind == AST_STMT_EXPR) return s->expr->kind == AST_STR; // what it is for
  if (s->kind == AST_STMT_RETURN) {
    if (s->expr) put_line(b, NULL, s->expr);
    return *done = s->expr != NULL;
  }
  if (s->kind != AST_STMT_ASSIGN || s->assign.targets.len != 1) return false;
  const AstExpr *to = s->assign.targets.data[0];
  if (to->kind == AST_NAME) put_line(b, to->name, s->assign.value);
  return to->kind == AST_NAME;
}

static const char *reference_of(Ev *ev, const Func *f) {
  Buf b = {0};
  bool ok = true, done = false;
  buf_putc(&b, '(');
  for (int i = 0; i < f->params->len; i++) {
    ok &= f->params->data[i].kind <= AST_PARAM_NORMAL;
    buf_printf(&b, "%s, ", f->params->data[i].name);
  }
  buf_puts(&b, ")\n");
  ok &= f->params->len > 0;
  if (f->expr) put_line(&b, NULL, f->expr);
  for (int i = 0; !f->expr && i < f->body->len && ok && !done; i++)
    ok = put_statement(&b, f->body->data[i], &done);
  const char *text = ok && (f->expr || done) ? arena_str(ev->arena, buf_str(&b)) : NULL;
  buf_free(&b);
  return text;
}

static void declared(Ev *ev, EvEntry *e, const Val *tune) {
  const char **to[] = {&e->rtol, &e->atol,    &e->warmup,
                       &e->rep,  &e->timeout, &e->mismatch}; // ORDER_TUNE
  for (int i = 0; i < (int)LEN(to); i++) {
    if (v_is_num(tune[i])) *to[i] = bind_text(ev, tune[i]);
  }
  if (tune[TUNE_REF].kind == V_FUNC) e->reference = reference_of(ev, tune[TUNE_REF].fn);
}

void space_declared(Ev *ev, const Func *f, EvEntry *e) {
  if (f->base->configs.kind != V_UNSET) declared(ev, e, f->base->tune);
}

static void note_wanting(Ev *ev, EvEntry *e) {
  SB names = {0};
  for (int i = 0; i < ev->needed.len; i++)
    sb_printf(ev, &names, "%s%s", i ? ", " : "", ev->needed.data[i]);
  e->wanting = names.len ? names.data : NULL;
}

// What hangs on a parameter without a value was left out of it: then it is not known.
static void know_space(Ev *ev, Space *s) {
  (void)ev_protect(ev, eval_space, s);
  note_wanting(ev, s->e);
  if (s->e->wanting) s->e->configs.len = 0;
}

void space_of(Ev *ev, Func *f, EvEntry *e) {
  Space s = {f, e, f->base->configs, f->base->tuned_at};
  if (s.configs.kind == V_UNSET) return;
  e->spaced = true;
  e->spaced_at = s.at;
  know_space(ev, &s);
}

/* ------------------------------------------------------------------ AutoTuner.from_kernel */

// The last entry that starts before a function does holds it.
static bool holds(const Entries *all, int i, const Func *f) {
  int best = -1;
  for (int k = 0; k < all->len; k++) {
    const Func *c = all->data[k].f;
    if (c->base == f->base) return k == i;
    if (c->span.file == f->span.file && c->span.lo <= f->span.lo &&
        (best < 0 || all->data[best].f->span.lo < c->span.lo))
      best = k;
  }
  return best == i;
}

static void add_operands(Ev *ev, EvEntry *e, const Func *f) {
  for (int i = 0; i < f->params->len; i++) {
    int k = 0;
    while (k < e->operands.len && strcmp(e->operands.data[k], f->params->data[i].name)) k++;
    if (k == e->operands.len) vec_push(ev->arena, &e->operands, f->params->data[i].name);
  }
}

static bool take(Ev *ev, const Entries *all, int i, EvEntry *e, int from) {
  for (int k = from; k < ev->tuners.len; k++) {
    const Tuner *t = ev->tuners.data[k];
    if (t->kernel.kind != V_FUNC || !holds(all, i, t->kernel.fn)) continue;
    Space s = {t->kernel.fn, e, t->configs, t->at};
    declared(ev, e, t->tune);
    add_operands(ev, e, t->kernel.fn);
    if (!ev->options->configs) return true;
    e->spaced = true;
    e->spaced_at = s.at;
    know_space(ev, &s);
    return true;
  }
  return false;
}

void space_tuned(Ev *ev, const Entries *all, int i, EvEntry *e) {
  Func *f = all->data[i].f;
  int tuners = ev->tuners.len;
  Diags *diags = ev->diags; // without all parameters it may well fail, and that is no error here
  ev->diags = diag_new(ev->arena, ev->sources, (DiagOptions){0});
  EvEntry scratch = {.name = e->name, .span = e->span};
  if (!f->prim && !f->macro) entry_factory(ev, f, &scratch);
  ev->diags = diags;
  EvEntry none = {0};
  note_wanting(ev, &none);
  ev->needed.len = 0;
  if (!take(ev, all, i, e, tuners) && !take(ev, all, i, e, 0)) e->wanting = none.wanting;
}
