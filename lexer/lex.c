// The lexer's entry: scans a file, then settles what needs a look at whole lines.
// SPDX-License-Identifier: MIT
#include "lexer/lex.h"

#include "lexer/scanner.h"

#include <string.h>

typedef LexValue YYSTYPE;
typedef Span YYLTYPE;
#include "lexer/scan.h"

#define MAX_FILE (16u << 20)

static const char *const names[] = {
#define TOKEN(kind, name) name,
#define KEYWORD(kind, name) name,
#define PUNCT(kind, name) name,
#include "lexer/tokens.def"
#undef TOKEN
#undef KEYWORD
#undef PUNCT
};

const char *lex_token_name(TokenKind kind) { return names[kind]; }
bool lex_is_keyword(TokenKind kind) { return kind >= TOK_AND && kind <= TOK_YIELD; }

bool lex_is_layout(TokenKind kind) {
  return kind == TOK_NEWLINE || kind == TOK_INDENT || kind == TOK_DEDENT || kind == TOK_END;
}

static void push(Scanner *x, Token token) {
  int index = x->tokens.len;
  TokenKind last = index ? x->tokens.data[index - 1].kind : TOK_NEWLINE;
  if (token.kind == TOK_NEWLINE && lex_is_layout(last)) return; // a line of nothing but '\'
  int b = x->nbrackets - 1;
  if (b >= 0 && x->brackets[b].token == index) b--; // it is the one that opens
  token.bracket = b >= 0 ? x->brackets[b].token : -1;
  token.first = x->first && !lex_is_layout(token.kind);
  if (!lex_is_layout(token.kind)) x->first = false;
  vec_push(x->scratch, &x->tokens, token);
}

static void scan(Scanner *x) {
  yyscan_t flex;
  if (scan_lex_init_extra(x, &flex)) fatal("out of memory");
  scan__scan_bytes(x->text, (int)x->len, flex);
  Token token;
  do {
    memset(&token, 0, sizeof token);
    token.kind = (TokenKind)scan_lex(&token, &token.span, flex);
    push(x, token);
  } while (token.kind != TOK_END);
  scan_lex_destroy(flex);
}

/* Whole lines: soft keywords, and blocks that are missing */

typedef struct {
  Scanner *x;
  VEC(Token) out;
  bool cases[LEX_MAX_INDENT + 1]; // is the block at this depth the body of a match?
  int depth;
} Settler;

static bool is_name(const Token *t, const char *name) {
  return t->kind == TOK_NAME && !strcmp(t->name, name);
}

// The tokens from `i` on start a line; a match statement is one whose block starts with a case.
static TokenKind soft_keyword(const Settler *s, const Token *t, int end) {
  if (is_name(t, "case") && s->cases[s->depth]) return TOK_CASE;
  const Token *line_end = t + end;
  if (!is_name(t, "match") || end < 3 || line_end[-1].kind != TOK_COLON) return t->kind;
  return line_end[1].kind == TOK_INDENT && is_name(&line_end[2], "case") ? TOK_MATCH : t->kind;
}

bool lex_opens_block(TokenKind kind) {
  switch (kind) {
  case TOK_ASYNC:
  case TOK_CASE:
  case TOK_CLASS:
  case TOK_DEF:
  case TOK_ELIF:
  case TOK_ELSE:
  case TOK_EXCEPT:
  case TOK_FINALLY:
  case TOK_FOR:
  case TOK_IF:
  case TOK_MATCH:
  case TOK_TRY:
  case TOK_WHILE:
  case TOK_WITH: return true;
  default: return false;
  }
}

// Says that a block is missing between `header` and `next`, and makes one up.
static void missing_block(Settler *s, const Token *header, const Token *next) {
  Scanner *x = s->x;
  int line, column;
  src_place(diag_sources(x->diags), x->file, header->span.lo, &line, &column);
  Span at = next->span;
  while (lex_is_layout(next->kind) && next->kind != TOK_END) next++;
  if (next->kind != TOK_END) at = next->span;
  if (next->kind != TOK_ERROR)
    diag_report(x->diags, DIAG_NO_BLOCK, at, lex_token_name(header->kind), line);
  static const TokenKind block[] = {TOK_INDENT, TOK_PASS, TOK_NEWLINE, TOK_DEDENT};
  for (size_t i = 0; i < LEN(block); i++)
    vec_push(x->arena, &s->out,
             (Token){.kind = block[i], .bracket = -1, .span = {at.file, at.lo, at.lo}});
}

static int settle_line(Settler *s, const Token *t) {
  int end = 0;
  while (t[end].kind != TOK_NEWLINE && t[end].kind != TOK_END) end++;
  Token first = *t;
  first.kind = soft_keyword(s, t, end);
  int shift = s->out.len - (int)(t - s->x->tokens.data);
  for (int i = 0; i <= end; i++) {
    Token token = i ? t[i] : first;
    if (token.bracket >= 0) token.bracket += shift;
    vec_push(s->x->arena, &s->out, token);
  }
  if (t[end].kind == TOK_END) return end + 1;
  bool deeper = t[end + 1].kind == TOK_INDENT;
  if (lex_opens_block(first.kind) && t[end - 1].kind == TOK_COLON && !deeper)
    missing_block(s, &first, t + end + 1);
  if (deeper && s->depth < LEX_MAX_INDENT) s->cases[s->depth + 1] = first.kind == TOK_MATCH;
  return end + 1;
}

static void settle(Settler *s) {
  const Token *t = s->x->tokens.data;
  for (int i = 0; i < s->x->tokens.len;) {
    s->depth += (t[i].kind == TOK_INDENT) - (t[i].kind == TOK_DEDENT);
    if (lex_is_layout(t[i].kind)) vec_push(s->x->arena, &s->out, t[i++]);
    else i += settle_line(s, t + i);
  }
}

Tokens lex_file(Arena *a, Diags *d, uint32_t file) {
  const Source *source = src_get(diag_sources(d), file);
  Scanner *x = NEW(a, Scanner);
  *x = (Scanner){.arena = a, .diags = d, .file = file, .text = source->text, .len = source->len};
  x->scratch = arena_new();
  x->names = map_new(a);
  uint32_t valid = lex_utf8_valid(source->text, source->len);
  bool usable = source->len <= MAX_FILE && valid == source->len;
  if (source->len > MAX_FILE) diag_report(d, DIAG_LONG_FILE, NO_SPAN, source->len, MAX_FILE);
  else if (!usable)
    diag_report(d, DIAG_NOT_UTF8, (Span){file, valid, valid + 1},
                (unsigned)(unsigned char)source->text[valid]);
  if (usable) scan(x);
  else push(x, (Token){.kind = TOK_END, .span = {file, 0, 0}});
  Settler s = {.x = x};
  vec_reserve(a, (void **)&s.out.data, &s.out.cap, x->tokens.len + 16, sizeof(Token));
  settle(&s);
  arena_free(x->scratch);
  return (Tokens){s.out.data, s.out.len, x->broken.data, x->broken.len};
}

/* Dump */

static void dump_token(const Token *t, const Sources *s, Buf *out) {
  int line, column, end_line, end_column;
  src_place(s, t->span.file, t->span.lo, &line, &column);
  src_place(s, t->span.file, t->span.hi, &end_line, &end_column);
  buf_printf(out, "%d:%d-%d:%d %s", line, column, end_line, end_column, lex_token_name(t->kind));
  switch (t->kind) {
  case TOK_NAME: buf_printf(out, " %s", t->name); break;
  case TOK_INT:
  case TOK_FLOAT:
  case TOK_IMAG: buf_printf(out, " %s", t->num.text); break;
  case TOK_STR:
  case TOK_BYTES:
  case TOK_FSTR_TEXT:
  case TOK_FIELD_EQ:
  case TOK_FIELD_CONV:
    buf_putc(out, ' ');
    lex_quote(out, t->str, '"', t->kind == TOK_BYTES);
    break;
  default: break;
  }
  buf_putc(out, '\n');
}

void lex_dump(const Tokens *t, const Sources *s, Buf *out) {
  for (int i = 0; i < t->len; i++) dump_token(&t->data[i], s, out);
}
