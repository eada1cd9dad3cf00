// parser: trees written by hand, spans, round trips, limits, and errors reported together.
// SPDX-License-Identifier: MIT
#include "parser/ast.h"
#include "suite.h"

#include <check.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

static Arena *arena;
static Sources *sources;
static Diags *diags;

static void setup(void) {
  arena = arena_new();
  sources = src_new(arena);
  diags = diag_new(arena, sources, (DiagOptions){0});
}

static void teardown(void) { arena_free(arena); }

static AstModule *parse_bytes(const char *text, size_t len) {
  return ast_parse(arena, diags, src_add(sources, "t.tl", text, len));
}

static AstModule *parse(const char *text) { return parse_bytes(text, strlen(text)); }

static const char *dump(const AstModule *m) {
  Buf b = {0};
  ast_dump(m, &b);
  const char *kept = arena_str(arena, buf_str(&b));
  buf_free(&b);
  return kept;
}

/* Trees */

// One statement and its dump.
static const struct {
  const char *text, *want;
} trees[] = {
  {"a or b and not c", "(expr (or a (and b (not c))))"},
  {"a and b and c", "(expr (and a b c))"},
  {"(a and b) and c", "(expr (and (and a b) c))"},
  {"2 <= n < 5 in x", "(expr (compare 2 <= n < 5 in x))"},
  {"a is not b not in c", "(expr (compare a is not b not in c))"},
  {"a - b - c * d", "(expr (- (- a b) (* c d)))"},
  {"-a ** -b ** c", "(expr (- (** a (- (** b c)))))"},
  {"a | b ^ c & d << e + f * g", "(expr (| a (^ b (& c (<< d (+ e (* f g)))))))"},
  {"a if b else c if d else e", "(expr (ternary b a (ternary d c e)))"},
  {"lambda x, *y, z=1: x if y else z", "(expr (lambda (x (* y) (kw z = 1)) (ternary y x z)))"},
  {"a.b(c, *d, e=f, **g)[h]", "(expr (index (call (attr a b) c (* d) (= e f) (** g)) h))"},
  {"x[1:2, ::3, ...]", "(expr (index x (tuple (slice 1 2) (slice () () 3) ...)))"},
  {"x[1,]", "(expr (index x (tuple 1)))"},
  {"[x, *y], {z}, {}, {1: 2, **a}, ()",
   "(expr (tuple (list x (starred y)) (set z) (dict) (dict (1 2) (** a)) (tuple)))"},
  {"[x for x, y in z if a if b for c in d]",
   "(expr (list-comp x (for (tuple x y) z a b) (for c d)))"},
  {"{k: v async for k in x}", "(expr (dict-comp k v (async-for k x)))"},
  {"f(x for x in y)", "(expr (call f (generator x (for x y))))"},
  {"'a' 'b' f'c{d!r:>{e}}' 'f'",
   "(expr (fstr \"abc\" (field d !r (fstr \">\" (field e))) \"f\"))"},
  {"f'{x = }{y=!s}{z=:>2}'",
   "(expr (fstr \"x = \" (field x !r) \"y=\" (field y !s) \"z=\" (field z (fstr \">2\"))))"},
  {"a = b, *c = d", "(assign a (tuple b (starred c)) d)"},
  {"a[0], b.c = b.c, a[0]",
   "(assign (tuple (index a 0) (attr b c)) (tuple (attr b c) (index a 0)))"},
  {"a[i] |= 1", "(aug-assign | (index a i) 1)"},
  {"A: T.Tensor((M, N), dt)", "(ann-assign A (call (attr T Tensor) (tuple M N) dt))"},
  {"x: int = yield", "(ann-assign x int (yield ()))"},
  {"import a.b as c, d", "(import (as a.b c) d)"},
  {"from ...a.b import (c, d as e,)", "(from-import ...a.b c (as d e))"},
  {"from .. import *", "(from-import .. *)"},
  {"def f(a, /, b: int = 1, *, c) -> d: pass",
   "(def f ((/ a) (b : int = 1) (kw c)) -> d\n    (pass))"},
  {"@a(1)\n@b\ndef f(): return", "(def f () (@ (call a 1)) (@ b)\n    (return))"},
  {"if a: b\nelif c: d\nelse: e",
   "(if a\n    (expr b)\n    (elif c\n      (expr d))\n    (else\n      (expr e)))"},
  {"for i, in a: pass\nelse: b", "(for (tuple i) a\n    (pass)\n    (else\n      (expr b)))"},
  {"with a as (b, c), d: pass", "(with (as a (tuple b c)) d\n    (pass))"},
  {"with (a as b, c,): pass", "(with (as a b) c\n    (pass))"},
  {"with (a, b): pass", "(with a b\n    (pass))"},
  {"with (a, b) as c: pass", "(with (as (tuple a b) c)\n    (pass))"},
  {"with ((a, b)): pass", "(with (tuple a b)\n    (pass))"},
  {"try: a\nexcept B as c: d\nfinally: e",
   "(try\n    (expr a)\n    (except B c\n      (expr d))\n    (finally\n      (expr e)))"},
  {"match a, b:\n case [1, *_] | C(x=-1) as d if e: pass",
   "(match (tuple a b)\n"
   "    (case (as (| (sequence (value 1) (star)) (class C (= x (value (- 1))))) d)"
   " if e\n      (pass)))"},
  {"0x10 + 1_0 + 99999999999999999999 + 1.5 + 2j",
   "(expr (+ (+ (+ (+ 16 10) 99999999999999999999) 1.5f) 2j))"},
};

START_TEST(tree) {
  AstModule *m = parse(trees[_i].text);
  ck_assert_ptr_nonnull(m);
  const char *want = arena_printf(arena, "(module\n  %s)\n", trees[_i].want);
  ck_assert_str_eq(dump(m), want);
}
END_TEST

/* Spans */

static const char *text_of(Span s) {
  return arena_strn(arena, src_get(sources, s.file)->text + s.lo, s.hi - s.lo);
}

START_TEST(spans) {
  AstModule *m = parse("x = (a + b) * c.d(e, f=(g))[h:]\n"
                       "if y :\n"
                       "    z = ( 1, ) # end\n"
                       "    w(i for i in j)\n"
                       "\n"
                       "@dec\n"
                       "def name(p : int = 1): return -2\n");
  const AstStmt *assign = m->body.data[0], *branch = m->body.data[1], *def = m->body.data[2];
  ck_assert_str_eq(text_of(assign->span), "x = (a + b) * c.d(e, f=(g))[h:]");
  const AstExpr *product = assign->assign.value, *index = product->binary.right;
  ck_assert_str_eq(text_of(product->span), "(a + b) * c.d(e, f=(g))[h:]");
  ck_assert_str_eq(text_of(product->binary.left->span), "a + b");
  ck_assert_str_eq(text_of(index->index.index->span), "h:");
  const AstExpr *call = index->index.value;
  ck_assert_str_eq(text_of(call->span), "c.d(e, f=(g))");
  ck_assert_str_eq(text_of(call->call.callee->attr.name.span), "d");
  ck_assert_str_eq(text_of(call->call.args.data[1].span), "f=(g)");
  ck_assert_str_eq(text_of(call->call.args.data[1].name_span), "f");
  ck_assert_str_eq(text_of(call->call.args.data[1].value->span), "g");
  ck_assert_str_eq(text_of(branch->span),
                   "if y :\n    z = ( 1, ) # end\n    w(i for i in j)");
  const AstBlock *body = &branch->if_.branches[0].body;
  ck_assert_str_eq(text_of(body->data[0]->span), "z = ( 1, )");
  ck_assert_str_eq(text_of(body->data[0]->assign.value->span), "( 1, )");
  ck_assert_str_eq(text_of(body->data[1]->expr->call.args.data[0].value->span), "i for i in j");
  ck_assert_str_eq(text_of(def->span), "def name(p : int = 1): return -2");
  ck_assert_str_eq(text_of(def->def.name.span), "name");
  ck_assert_str_eq(text_of(def->def.params.data[0].span), "p : int = 1");
}
END_TEST

/* Round trips */

static void check_round_trip(const char *path) {
  size_t len;
  char *text = file_read(arena, path, &len);
  ck_assert_msg(text != NULL, "%s", path);
  AstModule *m = ast_parse(arena, diags, src_add(sources, path, text, len));
  ck_assert_msg(m != NULL, "%s does not parse", path);
  Buf once = {0}, twice = {0};
  ast_print(m, &once);
  AstModule *again = parse_bytes(buf_str(&once), once.len);
  ck_assert_msg(again != NULL, "%s does not parse as printed:\n%s", path, buf_str(&once));
  ck_assert_str_eq(dump(m), dump(again));
  ast_print(again, &twice);
  ck_assert_str_eq(buf_str(&once), buf_str(&twice));
  buf_free(&once);
  buf_free(&twice);
}

START_TEST(round_trip) {
  static const char *const patterns[] = {"tests/parser/*.tl", "tests/cases/*.tl", "samples/*.tl"};
  glob_t files;
  if (glob(patterns[_i], 0, NULL, &files)) ck_abort_msg("no %s: run from the top", patterns[_i]);
  for (size_t i = 0; i < files.gl_pathc; i++) check_round_trip(files.gl_pathv[i]);
  globfree(&files);
}
END_TEST

START_TEST(print_expression) {
  AstModule *m = parse("f'{a!r}' % ((1, 2), (x := 3), [y for y in (lambda: z)()], -(-1), (-1)**2)");
  Buf b = {0};
  ast_print_expr(m->body.data[0]->expr, &b);
  ck_assert_str_eq(buf_str(&b), "f\"{a!r}\" % ((1, 2), (x := 3), [y for y in (lambda: z)()], --1, "
                                "(-1)**2)");
  buf_free(&b);
}
END_TEST

/* Limits: nothing recurses without bound, whatever the length of the input */

typedef struct {
  const char *before, *repeated, *after;
  int times;
  int error; // DiagId, or -1: parses
} Limit;

static const Limit limits[] = {
  {"x = a", " + a", "", 990, -1},
  {"x = a", " + a", "", 300000, DIAG_TOO_DEEP},
  {"x = a", ".b", "", 300000, DIAG_TOO_DEEP},
  {"x = f", "()", "", 30000, DIAG_TOO_DEEP},
  {"x = f", "[0]", "", 30000, DIAG_TOO_DEEP},
  {"x = ", "not ", "a", 30000, DIAG_TOO_DEEP},
  {"x = ", "-", "a", 30000, DIAG_TOO_DEEP},
  {"x = a", " ** a", "", 30000, DIAG_TOO_DEEP},
  {"x = a", " if a else a", "", 30000, DIAG_TOO_DEEP},
  {"x = ", "lambda: ", "a", 30000, DIAG_TOO_DEEP},
  {"x = ", "(", "a", 300000, DIAG_DEEP_BRACKETS},
  {"x = ", "[", "a", 30000, DIAG_DEEP_BRACKETS},
  {"x = ", "f'{", "a", 30000, DIAG_DEEP_BRACKETS},
  {"x = ", "f(", "", 30000, DIAG_DEEP_BRACKETS},
  {"x = a", " and a", "", 300000, -1},
  {"x = a", " < a", "", 30000, -1},
  {"x = [a", ", a", "]", 30000, -1},
  {"x = 'a'", " 'a'", "", 30000, -1},
  {"x = f'{a}'", " f'{a}b'", "", 30000, -1},
  {"x = f'", "\\n", "'", 30000, -1},
  {"x", " = x", "", 30000, -1},
  {"if a: b\n", "elif a: b\n", "else: c\n", 20000, -1},
  {"", "a\n", "", 30000, -1},
  {"", "if a: b\n", "", 20000, -1},
};

START_TEST(limit) {
  const Limit *l = &limits[_i];
  Buf text = {0};
  buf_puts(&text, l->before);
  for (int i = 0; i < l->times; i++) buf_puts(&text, l->repeated);
  buf_puts(&text, l->after);
  AstModule *m = parse_bytes(text.data, text.len);
  ck_assert_int_eq(m != NULL, l->error < 0);
  if (!m) ck_assert_int_eq(diag_id(diags, 0), l->error);
  if (!m) ck_assert_int_eq(diag_errors(diags), 1);
  buf_free(&text);
  if (!m) return;
  ast_print(m, &text);
  ck_assert_ptr_nonnull(parse_bytes(text.data, text.len));
  ck_assert_uint_gt(strlen(dump(m)), 0);
  buf_free(&text);
}
END_TEST

START_TEST(indentation) {
  for (int depth = 100; depth <= 101; depth++) {
    Buf text = {0};
    for (int i = 0; i < depth; i++) buf_printf(&text, "%*sif a:\n", i, "");
    buf_printf(&text, "%*sb\n", depth, "");
    ck_assert_int_eq(parse_bytes(text.data, text.len) != NULL, depth == 100);
    buf_free(&text);
  }
  ck_assert_int_eq(diag_errors(diags), 1);
  ck_assert_int_eq(diag_id(diags, 0), DIAG_DEEP_INDENT);
}
END_TEST

/* Errors */

// All wrong lines of a file are reported in one run, and only those.
START_TEST(many_errors) {
  AstModule *m = parse("x = 1 +\n"
                       "def f(,):\n"
                       "    y = [1 2]\n"
                       "    return y\n"
                       "if a = b:\n"
                       "    z = foo(a b)\n"
                       "elif c:\n"
                       "    pass\n"
                       "else:\n"
                       "    w = $\n"
                       "v = 3\n"
                       "u = 4 5\n");
  ck_assert_ptr_null(m);
  static const char *const want[] = {"1:8", "2:7", "3:12", "5:6", "6:15", "10:9", "12:7"};
  char *said;
  size_t len;
  FILE *f = open_memstream(&said, &len);
  diag_flush(diags, f);
  fclose(f);
  const char *at = said;
  for (size_t i = 0; i < LEN(want); i++) {
    at = strstr(at, "t.tl:");
    ck_assert_ptr_nonnull(at);
    at += strlen("t.tl:");
    ck_assert_msg(!strncmp(at, want[i], strlen(want[i])), "not at %s: %s", want[i], at);
  }
  ck_assert_ptr_null(strstr(at, "t.tl:"));
  ck_assert_int_eq(diag_errors(diags), LEN(want));
  free(said);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parser");
  TCase *tc = tcase_create("trees");
  tcase_set_timeout(tc, 60);
  tcase_add_checked_fixture(tc, setup, teardown);
  tcase_add_loop_test(tc, tree, 0, LEN(trees));
  tcase_add_test(tc, spans);
  tcase_add_loop_test(tc, round_trip, 0, 3);
  tcase_add_test(tc, print_expression);
  tcase_add_loop_test(tc, limit, 0, LEN(limits));
  tcase_add_test(tc, indentation);
  tcase_add_test(tc, many_errors);
  suite_add_tcase(suite, tc);
  return suite_run(suite);
}
