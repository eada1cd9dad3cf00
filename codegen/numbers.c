// Texts of one kernel for several sizes that differ in numbers alone: which numbers a build may
// take at run time, and the text of such a build.
// SPDX-License-Identifier: MIT
#include "codegen/codegen.h"

#include <stdlib.h>
#include <string.h>

// Loops of fewer iterations may be unrolled as a whole by nvcc, where it knows how many there are.
enum { LONG_LOOP = 32 };

/* ------------------------------------------------------------------ tokens */

typedef enum { T_NAME, T_NUMBER, T_TEXT, T_DIRECTIVE, T_MARK } TokenKind;

typedef struct {
  TokenKind kind;
  const char *at;
  size_t len;
} Token;

typedef VEC(Token) Tokens;

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

static const char *skip_quoted(const char *s) {
  for (char quote = *s++; *s && *s != quote; s++)
    if (*s == '\\' && s[1]) s++;
  return *s ? s + 1 : s;
}

static size_t mark_length(const char *s) {
  static const char *const pairs[] = {"++", "--", "<=", ">=", "==", "!=", "<<", ">>", "&&", "||"};
  for (size_t i = 0; i < LEN(pairs); i++)
    if (!strncmp(s, pairs[i], 2)) return 2;
  return 1;
}

static Token next_token(const char *s) {
  Token t = {T_MARK, s, 0};
  if (*s == '#') {
    t.kind = T_DIRECTIVE;
    t.len = strcspn(s, "\n");
  } else if (*s == '"' || *s == '\'') {
    t.kind = T_TEXT;
    t.len = (size_t)(skip_quoted(s) - s);
  } else if (is_letter(*s)) {
    t.kind = *s >= '0' && *s <= '9' ? T_NUMBER : T_NAME;
    while (is_letter(s[t.len]) || (t.kind == T_NUMBER && s[t.len] == '.')) t.len++;
  } else {
    t.len = mark_length(s);
  }
  return t;
}

static Tokens tokens_of(Arena *a, const char *s, const char *end) {
  Tokens list = {0};
  while (s < end && *s) {
    if (*s == ' ' || *s == '\n') {
      s++;
    } else if (s[0] == '/' && s[1] == '/') {
      s += strcspn(s, "\n");
    } else {
      vec_push(a, &list, next_token(s));
      s += list.data[list.len - 1].len;
    }
  }
  return list;
}

static bool is(const Tokens *t, int i, const char *text) {
  if (i < 0 || i >= t->len) return false;
  const Token *x = &t->data[i];
  return x->len == strlen(text) && !memcmp(x->at, text, x->len);
}

static bool is_any(const Tokens *t, int i, const char *const *texts) {
  for (; *texts; texts++)
    if (is(t, i, *texts)) return true;
  return false;
}

static bool same(const Tokens *t, int i, const Token *name) {
  if (i < 0 || i >= t->len) return false;
  const Token *x = &t->data[i];
  return x->kind == T_NAME && x->len == name->len && !memcmp(x->at, name->at, x->len);
}

// A decimal number, with the suffix of 64 bits where `wide`.
static bool number(const Tokens *t, int i, bool wide, int64_t *out) {
  if (i < 0 || i >= t->len || t->data[i].kind != T_NUMBER) return false;
  const Token *x = &t->data[i];
  char *end;
  if (x->len > 20 || (x->at[0] == '0' && x->len > 1)) return false;
  *out = strtoll(x->at, &end, 10);
  size_t digits = (size_t)(end - x->at);
  if (digits < x->len) return wide && x->len == digits + 2 && !strncmp(end, "LL", 2);
  return wide || *out <= INT32_MAX;
}

/* ------------------------------------------------------------------ numbers */

typedef struct {
  Arena *arena;
  const char *text;
  Tokens t;
  CgNumbers *out;
  int kernel; // -1: the launcher
} Find;

static void found(Find *f, int i, int64_t value, bool exact) {
  const Token *x = &f->t.data[i];
  CgNumber n = {(size_t)(x->at - f->text), x->len, value, f->kernel, exact};
  vec_push(f->arena, &f->out->list, n);
}

// "for (int k = 0; k < 128; ++k) {", at `i`; not of a loop that tlc has unrolled.
static bool counted_loop(const Find *f, int i, int64_t *bound, bool *is_long) {
  static const char *const types[] = {"int", "int64_t", NULL};
  const Tokens *t = &f->t;
  int64_t first = 0;
  if (!is(t, i, "for") || !is_any(t, i + 2, types) || i + 14 >= t->len) return false;
  if (i && t->data[i - 1].kind == T_DIRECTIVE) return false;
  const Token *var = &t->data[i + 3];
  bool shape = is(t, i + 4, "=") && is(t, i + 6, ";") && same(t, i + 7, var) && is(t, i + 8, "<") &&
               is(t, i + 10, ";") && is(t, i + 11, "++") && same(t, i + 12, var) &&
               is(t, i + 13, ")") && is(t, i + 14, "{");
  if (!shape || !number(t, i + 5, false, &first) || !number(t, i + 9, false, bound)) return false;
  *is_long = *bound - first >= LONG_LOOP;
  return true;
}

// "k < 126", at `i`, with nothing else on either side.
static bool comparison(const Find *f, int i, int64_t *bound) {
  static const char *const before[] = {"(", "&&", "||", "=", "?", ":", ",", NULL},
                           *const after[] = {")", "&&", "||", ";", "?", ":", ",", NULL},
                           *const ops[] = {"<", "<=", ">", ">=", "==", "!=", NULL};
  return is_any(&f->t, i - 1, before) && is_any(&f->t, i + 1, ops) && is_any(&f->t, i + 3, after) &&
         number(&f->t, i + 2, false, bound);
}

// "= slot + 64;", at `i`: the value of a variable, no address.
static bool sum(const Find *f, int i, int64_t *value) {
  const Tokens *t = &f->t;
  return is(t, i, "=") && i + 4 < t->len && t->data[i + 1].kind == T_NAME && is(t, i + 2, "+") &&
         is(t, i + 4, ";") && number(t, i + 3, false, value);
}

// A factor or a summand, or what something is compared with; not a template's argument, nor a bound
// of a loop. Divisors and masks are none: as variables they would take other instructions.
static bool operand(const Find *f, int i, int64_t *value) {
  static const char *const plain[] = {"*", "+", "-", NULL}, *const compares[] = {"<",  "<=", ">",
                                                                                 ">=", "==", "!=",
                                                                                 NULL},
                           *const after[] = {")", "]",  ";",  ",", "+", "-",
                                             "*", "&&", "||", "?", ":", NULL},
                           *const behind[] = {")", "&&", "||", "?", ":", NULL};
  const Tokens *t = &f->t;
  bool fits = is_any(t, i - 1, plain) ? is_any(t, i + 1, after) || is_any(t, i + 1, compares)
                                      : is_any(t, i - 1, compares) && is_any(t, i + 1, behind);
  return fits && number(t, i, false, value);
}

typedef struct {
  Token var;
  int depth; // of braces around its loop
  bool is_long;
} Loop;

// The number that this loop's variable is compared with, at `i`.
static bool compared(const Find *f, int i, const Loop *l, int64_t *bound) {
  return same(&f->t, i - 2, &l->var) && comparison(f, i - 2, bound);
}

typedef VEC(Loop) Loops;

static void find_one(Find *f, int i, const Loops *loops) {
  int64_t value;
  if (sum(f, i - 3, &value)) {
    found(f, i, value, true);
    return;
  }
  for (int k = 0; k < loops->len; k++) {
    if (!compared(f, i, &loops->data[k], &value)) continue;
    found(f, i, value, loops->data[k].is_long);
    return;
  }
  if (operand(f, i, &value)) found(f, i, value, false);
}

static void in_kernel(Find *f) {
  Loops loops = {0};
  int64_t bound;
  bool is_long;
  for (int i = 0, depth = 0; i < f->t.len; i++) {
    if (is(&f->t, i, "{")) depth++;
    if (is(&f->t, i, "}")) depth--;
    while (loops.len && depth < loops.data[loops.len - 1].depth) loops.len--;
    if (counted_loop(f, i, &bound, &is_long)) {
      found(f, i + 9, bound, is_long);
      vec_push(f->arena, &loops, (Loop){f->t.data[i + 3], ++depth, is_long});
      i += 14;
    } else if (f->t.data[i].kind == T_NUMBER) {
      find_one(f, i, &loops);
    }
  }
}

// A number that is an argument by itself, or an element of a list.
static void in_launcher(Find *f) {
  static const char *const before[] = {"(", "{", ",", NULL}, *const after[] = {")", "}", ",", NULL};
  int64_t value;
  for (int i = 0; i < f->t.len; i++)
    if (is_any(&f->t, i - 1, before) && is_any(&f->t, i + 1, after) &&
        number(&f->t, i, true, &value))
      found(f, i, value, true);
}

/* ------------------------------------------------------------------ the parts of a text */

typedef struct {
  const char *at, *params, *body, *end; // its start, behind "NAME(", ") {" and "}"
  const char *name;
} Function;

static const char kernel_head[] = "\nstatic __global__ void ";

// The next kernel of this program at or after `s`.
static bool next_kernel(Arena *a, const char *s, const char *symbol, Function *out) {
  const char *prefix = arena_printf(a, "%s_k", symbol);
  for (; (s = strstr(s, kernel_head)); s++) {
    const char *body = strstr(s, ") {\n"), *end = body ? strstr(body, "\n}\n") : NULL;
    const char *name = strstr(s, prefix);
    if (!end || !name || name > body || name[-1] != ' ') continue;
    size_t n = strcspn(name, "(");
    *out = (Function){s + 1, name + n + 1, body + 4, end + 3, arena_strn(a, name, n)};
    return true;
  }
  return false;
}

static const char *launcher_of(Arena *a, const char *text, const char *symbol) {
  const char *at = strstr(text, arena_printf(a, "\nstatic const char *%s_refuses(", symbol));
  return at ? at + 1 : NULL;
}

void cg_numbers(Arena *a, const char *text, const char *symbol, CgNumbers *out) {
  Find f = {.arena = a, .text = text, .out = out};
  Function k = {.end = text};
  *out = (CgNumbers){0};
  for (; next_kernel(a, k.end, symbol, &k); f.kernel++) {
    f.t = tokens_of(a, k.body, k.end);
    in_kernel(&f);
  }
  const char *host = launcher_of(a, k.end, symbol);
  if (!host) return;
  f.kernel = -1;
  f.t = tokens_of(a, host, host + strlen(host));
  in_launcher(&f);
}

/* ------------------------------------------------------------------ a text for several */

typedef struct {
  const char *from, *to; // this much of the text becomes `text`
  const char *text;
} Edit;

typedef struct {
  Arena *arena;
  const char *text;
  const CgNumbers *numbers;
  const int *slot;
  int slots;
  VEC(Edit) edits;
} Rewrite;

static void edit(Rewrite *r, const char *from, const char *to, const char *text) {
  vec_push(r->arena, &r->edits, (Edit){from, to, text});
}

// Is it one of the arguments that a kernel gets?
static bool takes(const Rewrite *r, int kernel, int slot) {
  for (int i = 0; i < r->numbers->list.len; i++)
    if (r->numbers->list.data[i].kernel == kernel && r->slot[i] == slot) return true;
  return false;
}

// Its parameters, before those that it has.
static void edit_parameters(Rewrite *r, const Function *k, int kernel) {
  Buf b = {0};
  bool more = k->params[0] != ')';
  for (int s = r->slots; s-- > 0;) {
    if (!takes(r, kernel, s)) continue;
    const char *rest = arena_str(r->arena, buf_str(&b));
    b.len = 0;
    buf_printf(&b, "const int tlc_n%d%s%s", s, *rest || more ? ", " : "", rest);
  }
  if (b.len) edit(r, k->params, k->params, arena_str(r->arena, buf_str(&b)));
  buf_free(&b);
}

// What every launch of it passes for them.
static void edit_launches(Rewrite *r, const Tokens *host, const Function *k, int kernel) {
  Buf b = {0};
  for (int s = 0; s < r->slots; s++)
    if (takes(r, kernel, s)) buf_printf(&b, ", static_cast<int>(tlc_numbers[%d])", s);
  for (int i = 0; i + 5 < host->len && b.len; i++) {
    if (!is(host, i, "cudaLaunchKernelEx") || !is(host, i + 5, k->name)) continue;
    const char *end = host->data[i + 5].at + host->data[i + 5].len;
    edit(r, end, end, arena_str(r->arena, buf_str(&b)));
  }
  buf_free(&b);
}

static void edit_kernels(Rewrite *r, const char *symbol) {
  VEC(Function) list = {0};
  Function k = {.end = r->text};
  while (next_kernel(r->arena, k.end, symbol, &k)) vec_push(r->arena, &list, k);
  if (!list.len) return;
  edit(r, list.data[0].at, list.data[0].at,
       arena_printf(r->arena,
                    "static int64_t tlc_numbers[%d];\n"
                    "extern \"C\" void tlc_take_numbers(const int64_t *from) {\n"
                    "  for (int i = 0; i < %d; ++i) tlc_numbers[i] = from[i];\n}\n\n",
                    r->slots, r->slots));
  Tokens host = tokens_of(r->arena, k.end, k.end + strlen(k.end));
  for (int i = 0; i < list.len; i++) {
    edit_parameters(r, &list.data[i], i);
    edit_launches(r, &host, &list.data[i], i);
  }
}

static int by_place(const void *pa, const void *pb) {
  const Edit *a = pa, *b = pb;
  return a->from < b->from ? -1 : a->from > b->from;
}

void cg_numbers_text(const char *text, const char *symbol, const CgNumbers *numbers,
                     const int *slot, int slots, Buf *out) {
  Rewrite r = {
      .arena = arena_new(), .text = text, .numbers = numbers, .slot = slot, .slots = slots};
  edit_kernels(&r, symbol);
  for (int i = 0; i < numbers->list.len; i++) {
    const CgNumber *n = &numbers->list.data[i];
    if (slot[i] < 0) continue;
    const char *name = n->kernel < 0 ? arena_printf(r.arena, "tlc_numbers[%d]", slot[i])
                                     : arena_printf(r.arena, "tlc_n%d", slot[i]);
    edit(&r, text + n->at, text + n->at + n->len, name);
  }
  qsort(r.edits.data, (size_t)r.edits.len, sizeof *r.edits.data, by_place);
  for (int i = 0; i < r.edits.len; i++) {
    const Edit *e = &r.edits.data[i];
    buf_add(out, text, (size_t)(e->from - text));
    buf_puts(out, e->text);
    text = e->to;
  }
  buf_puts(out, text);
  arena_free(r.arena);
}
