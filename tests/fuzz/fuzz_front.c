// Fuzzes the front end: whatever the bytes, it ends, reports or parses, and what it parsed prints
// back to the same tree; what evaluates to a program keeps the IR's rules. With clang this is a
// libFuzzer target; with -DFUZZ_MAIN it has a main that mutates the files given, the same way in
// each run: fuzz_front SECONDS FILE...
// SPDX-License-Identifier: MIT
#include "eval/eval.h"
#include "parser/ast.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(cond, what)                                                                        \
  do {                                                                                             \
    if (!(cond)) fprintf(stderr, "fuzz: %s\n", what), abort();                                     \
  } while (0)

static void check_tokens(const Tokens *t, uint32_t len) {
  REQUIRE(t->len && t->data[t->len - 1].kind == TOK_END, "no end");
  int depth = 0;
  for (int i = 0; i < t->len; i++) {
    const Token *k = &t->data[i];
    depth += (k->kind == TOK_INDENT) - (k->kind == TOK_DEDENT);
    REQUIRE(depth >= 0, "DEDENT without INDENT");
    REQUIRE(k->span.lo <= k->span.hi && k->span.hi <= len, "place of a token");
    REQUIRE(k->bracket < i, "bracket of a token");
  }
  REQUIRE(depth == 0, "INDENT without DEDENT");
}

// Prints what was said: every place and note is looked up.
static void show(Diags *d) {
  static FILE *nowhere;
  if (!nowhere) nowhere = fopen("/dev/null", "w");
  if (nowhere) diag_flush(d, nowhere);
}

static AstModule *parse(Arena *a, const char *text, size_t len, Buf *tree, Buf *printed) {
  Sources *s = src_new(a);
  uint32_t file = src_add(s, "fuzz.tl", text, len);
  Diags *lexer = diag_new(a, s, (DiagOptions){0}), *d = diag_new(a, s, (DiagOptions){0});
  Tokens t = lex_file(a, lexer, file);
  check_tokens(&t, src_get(s, file)->len);
  AstModule *m = ast_parse(a, d, file);
  REQUIRE((m != NULL) == (diag_errors(d) == 0), "a module or an error");
  show(d);
  if (!m) return NULL;
  ast_dump(m, tree);
  ast_print(m, printed);
  return m;
}

static void evaluate(const char *text, size_t len, bool list) {
  Arena *a = arena_new();
  Sources *s = src_new(a);
  DiagOptions form = {.format = len % 2 ? DIAG_JSON : DIAG_TEXT};
  EvOptions o = {.arena = a, .diags = diag_new(a, s, form), .configs = true};
  o.file = src_add(s, "fuzz.tl", text, len);
  o.entry = list ? NULL : "all";
  o.list = list; // follows host code, too
  EvResult r = {0};
  bool ok = ev_compile(&o, &r);
  REQUIRE(ok == (diag_errors(o.diags) == 0), "programs or an error");
  show(o.diags);
  Buf why = {0};
  for (int i = 0; ok && i < r.programs.len; i++)
    REQUIRE(ir_verify(r.programs.data[i], &why), buf_str(&why));
  buf_free(&why);
  arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Arena *a = arena_new();
  Buf tree = {0}, printed = {0}, tree_again = {0}, printed_again = {0};
  if (parse(a, (const char *)data, size, &tree, &printed)) {
    bool again = parse(a, buf_str(&printed), printed.len, &tree_again, &printed_again);
    REQUIRE(again, "printed text does not parse");
    REQUIRE(!strcmp(buf_str(&tree), buf_str(&tree_again)), "printed text has another tree");
    REQUIRE(!strcmp(buf_str(&printed), buf_str(&printed_again)), "printed again, text differs");
    evaluate((const char *)data, size, false);
    evaluate((const char *)data, size, true);
  }
  buf_free(&tree);
  buf_free(&printed);
  buf_free(&tree_again);
  buf_free(&printed_again);
  arena_free(a);
  return 0;
}

#ifdef FUZZ_MAIN
#define MAX_INPUT 20000

static uint64_t state = 1;

static size_t below(size_t n) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return n ? (size_t)(state >> 33) % n : 0;
}

static const char *const words[] = {
  "(", ")", "[", "]", "{", "}", ":", ",", "\n", "\n    ", "\t", "\\\n", "'", "\"", "'''", "f'",
  "f\"{",
  "}\"", "!r", ":=", "=", "**", "*", "/", "@", "if ", "else", "elif ", "for ", " in ", "while ",
  "def f(", "class A", "with ", " as ", "try:", "except", "match x:\n case ", "lambda ", "yield ",
  "await ", "async ", "not ", "import ", "from . ", "return ", "0x", "1_0", "1e5j", "...", "#",
  "\r\n",
  "\xc3\xa9", "\\N{", "\\x", "b'", "rf'''"};

// Copies `from` into `to` with a handful of changes; returns the new length.
static size_t mutate(char *to, const char *from, size_t n, const char *other, size_t nother) {
  if (n > MAX_INPUT / 2) n = MAX_INPUT / 2;
  memcpy(to, from, n);
  for (size_t left = 1 + below(6); left--;) {
    size_t at = below(n + 1), cut = below(n - at + 1) % 40, add = 0;
    char piece[256];
    const char *word = words[below(LEN(words))];
    switch (below(5)) {
    case 0: piece[add++] = (char)below(256); break;
    case 1: add = strlen(strcpy(piece, word)); break;
    case 2: cut = 0, add = strlen(strcpy(piece, word)); break;
    case 3:
      if (nother) memcpy(piece, other + below(nother), 1), add = 1;
      add = nother > sizeof piece ? sizeof piece : nother;
      memcpy(piece, other + below(nother - add + 1), add);
      break;
    default: break; // a cut only
    }
    if (n - cut + add > MAX_INPUT) continue;
    memmove(to + at + add, to + at + cut, n - at - cut);
    memcpy(to + at, piece, add);
    n += add - cut;
  }
  return n;
}

int main(int argc, char **argv) {
  if (argc < 3) fatal("usage: fuzz_front SECONDS FILE...");
  Arena *a = arena_new();
  int nfiles = argc - 2;
  char **texts = NEWN(a, char *, nfiles);
  size_t *lens = NEWN(a, size_t, nfiles);
  for (int i = 0; i < nfiles; i++) {
    texts[i] = file_read(a, argv[i + 2], &lens[i]);
    if (!texts[i]) fatal("open %s:", argv[i + 2]);
  }
  char *input = malloc(MAX_INPUT);
  time_t end = time(NULL) + atoi(argv[1]);
  long runs = 0;
  for (; time(NULL) < end; runs++) {
    size_t i = below((size_t)nfiles), j = below((size_t)nfiles);
    size_t n = mutate(input, texts[i], lens[i], texts[j], lens[j]);
    const char *keep = getenv("FUZZ_KEEP"); // where to leave each input before it is tried
    if (keep && file_write(keep, input, n)) fatal("write %s:", keep);
    LLVMFuzzerTestOneInput((const uint8_t *)input, n);
  }
  printf("fuzz_front: %ld inputs\n", runs);
  free(input);
  arena_free(a);
  return 0;
}
#endif
