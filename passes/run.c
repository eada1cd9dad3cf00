// The pipeline: every pass of passes.def in order, its contract asserted, the IR verified, dumped
// and timed after each.
// SPDX-License-Identifier: MIT
#include "passes/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  void (*run)(Program *p, PassCtx *c);
  const char *name, *needs, *gives, *breaks;
} Pass;

static const Pass passes[] = {
#define PASS(fn, name, needs, gives, breaks, claim) {pass_##fn, name, needs, gives, breaks},
#include "passes/passes.def"
#undef PASS
};

// Is `word` one of the comma-separated words of `list`?
static bool has_word(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *s = list; s && *s;) {
    size_t len = strcspn(s, ",");
    if (len == n && !strncmp(s, word, n)) return true;
    s += len + (s[len] == ',');
  }
  return false;
}

int64_t pass_flag(const PassCtx *c, const Kernel *k, const char *name, int64_t otherwise) {
  const char *v = c->flags ? map_get(c->flags, name) : NULL;
  if (v) return strtoll(v, NULL, 10);
  for (int i = 0; k && i < k->hints.len; i++)
    if (!strcmp(k->hints.data[i].name, name)) return k->hints.data[i].value;
  return otherwise;
}

// What holds at a point of the pipeline: a comma-separated list of properties.
static void check_contract(const Pass *p, const char *have) {
  for (const char *s = p->needs; *s;) {
    size_t len = strcspn(s, ",");
    char word[32];
    if (len >= sizeof word) die("pass %s: long property", p->name);
    memcpy(word, s, len);
    word[len] = 0;
    if (!has_word(have, word)) die("pass %s needs '%s', which does not hold", p->name, word);
    s += len + (s[len] == ',');
  }
}

static const char *update_contract(Arena *a, const Pass *p, const char *have) {
  const char *kept = p->gives;
  for (const char *s = have; *s;) {
    size_t len = strcspn(s, ",");
    const char *word = arena_strn(a, s, len);
    if (!has_word(p->breaks, word)) kept = arena_printf(a, "%s%s%s", kept, *kept ? "," : "", word);
    s += len + (s[len] == ',');
  }
  return kept;
}

static void verify_after(const Program *p, const Pass *pass) {
  Buf why = {0};
  if (!ir_verify(p, &why))
    die("after pass %s the program is ill-formed:\n%s", pass->name, buf_str(&why));
  buf_free(&why);
}

static void dump_after(const Program *p, const PassCtx *c, const Pass *pass, Buf *last) {
  Buf now = {0};
  ir_print(p, &now);
  bool wanted = has_word(c->dump, pass->name) || has_word(c->dump, "all");
  if (wanted) {
    if (last->len && last->len == now.len && !memcmp(last->data, now.data, now.len))
      fprintf(c->dump_to, "// after %s (unchanged)\n", pass->name);
    else fprintf(c->dump_to, "// after %s\n%s", pass->name, buf_str(&now));
  }
  buf_free(last);
  *last = now;
}

// Programs read from .tir may already be at thread level: the tile passes are then skipped.
static const char *start_state(const Program *p) {
  for (int i = 0; i < p->kernels.len; i++)
    if (p->kernels.data[i]->level == LEVEL_THREAD) return "thread,vectors";
  return "tile";
}

static bool skipped(const Pass *pass, const char *start) {
  static const char *const late[] = {"smem", "sync", "teams", "tidy"};
  if (!strcmp(start, "tile")) return false;
  for (size_t i = 0; i < LEN(late); i++)
    if (!strcmp(late[i], pass->name)) return false;
  return true;
}

static bool goes_on(const PassCtx *c) {
  if (diag_errors(c->diags)) return false;
  for (int i = 0; c->wants_registers && diag_text(c->diags, i); i++)
    if (diag_id(c->diags, i) == DIAG_REGISTERS) return false;
  return true;
}

// Behind the vector pass a program no longer depends on how its loops were written.
static bool is_wanted(const Program *p, PassCtx *c, const Pass *pass) {
  if (!c->wanted || strcmp(pass->name, "vector")) return true;
  bool wanted = c->wanted(c->wanted_ctx, p);
  c->wanted = NULL;
  return wanted;
}

static bool run_once(Program *p, PassCtx *c) {
  const char *start = start_state(p), *have = start;
  Buf last = {0};
  if (c->dump) ir_print(p, &last);
  bool ok = true;
  for (size_t i = 0; i < LEN(passes) && ok; i++) {
    const Pass *pass = &passes[i];
    if (skipped(pass, start)) continue;
    check_contract(pass, have);
    double begin = c->time ? clock_seconds() : 0;
    pass->run(p, c);
    if (c->time)
      fprintf(c->dump_to, "%-10s %8.3f ms\n", pass->name, 1e3 * (clock_seconds() - begin));
    have = update_contract(c->arena, pass, have);
    ok = goes_on(c);
    if (ok) verify_after(p, pass);
    if (ok && c->dump) dump_after(p, c, pass, &last);
    if (ok) ok = is_wanted(p, c, pass);
    if (c->stop_after && !strcmp(c->stop_after, pass->name)) break;
  }
  buf_free(&last);
  return ok;
}

bool passes_run(Program *p, PassCtx *c) {
  if (!c->plan) c->plan = plan_new(c->arena);
  c->thrift = thrift_new(c->arena, p);
  bool tiles = !strcmp(start_state(p), "tile");
  Program *source = tiles && c->target->bulk ? ir_clone(c->arena, p) : NULL;
  int mark = diag_mark(c->diags);
  bool ok = run_once(p, c);
  while (thrift_again(c->thrift)) {
    diag_rewind(c->diags, mark);
    thrift_remark(c, source);
    *p = *ir_clone(c->arena, source);
    c->plan = plan_new(c->arena);
    ok = run_once(p, c);
  }
  return ok;
}
