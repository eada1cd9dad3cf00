// Names and keywords; which characters a program may hold.
// SPDX-License-Identifier: MIT
#include "lexer/scanner.h"

#include <string.h>

static const struct {
  const char *text;
  TokenKind kind;
} keywords[] = {
#define TOKEN(kind, text)
#define PUNCT(kind, text)
#define KEYWORD(kind, text) {text, TOK_##kind},
#include "lexer/tokens.def"
#undef TOKEN
#undef PUNCT
#undef KEYWORD
};

TokenKind lex_keyword(const char *text, int len) {
  if (len < 2 || len > 8) return TOK_NAME;
  for (size_t i = 0; i < LEN(keywords); i++)
    if (keywords[i].text[0] == text[0] && !strncmp(keywords[i].text, text, (size_t)len) &&
        !keywords[i].text[len])
      return keywords[i].kind;
  return TOK_NAME;
}

uint32_t lex_utf8_get(const char *text, int *size) {
  const unsigned char *s = (const unsigned char *)text;
  *size = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
  if (*size == 1) return s[0];
  uint32_t code = s[0] & (0xffu >> (*size + 1));
  for (int i = 1; i < *size; i++) code = code << 6 | (s[i] & 0x3f);
  return code;
}

int lex_utf8_put(char *to, uint32_t code) {
  int size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  if (size == 1) return to[0] = (char)code, 1;
  for (int i = size - 1; i > 0; i--, code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
  to[0] = (char)(0xf00 >> size | code);
  return size;
}

static int utf8_size(const unsigned char *s, uint32_t left) {
  int size = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
             : s[0] < 0xf5 ? 4 : 0;
  if (size > (int)left) return 0;
  for (int i = 1; i < size; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
  if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
  return size;
}

uint32_t lex_utf8_valid(const char *text, uint32_t len) {
  uint32_t i = 0;
  while (i < len) {
    int size = utf8_size((const unsigned char *)text + i, len - i);
    if (!size) break;
    i += (uint32_t)size;
  }
  return i;
}

// Ranges past ASCII that hold spaces, punctuation, symbols and signs rather than letters: a coarse
// cut through Unicode's tables that keeps every script and refuses what only looks like Python.
static const uint32_t not_letters[][2] = {
  {0x80, 0xa9},       {0xab, 0xb4},     {0xb6, 0xb6},       {0xb8, 0xb9},     {0xbb, 0xbf},
  {0xd7, 0xd7},       {0xf7, 0xf7},     {0x1680, 0x1680},   {0x2000, 0x203e}, {0x2041, 0x2053},
  {0x2055, 0x2070},   {0x2074, 0x207e}, {0x2080, 0x208e},   {0x20a0, 0x20cf}, {0x2190, 0x2bff},
  {0x3000, 0x3004},   {0x3008, 0x3020}, {0x3030, 0x3030},   {0xd800, 0xf8ff}, {0xfe10, 0xfe1f},
  {0xfe30, 0xfe32},   {0xfe35, 0xfe4c}, {0xfeff, 0xff0f},   {0xff1a, 0xff20}, {0xff3b, 0xff3e},
  {0xff5b, 0xff65},   {0xffe0, 0xffff}, {0x1f000, 0x1faff}, {0xe0000, 0x10ffff},
};

static bool is_letter(uint32_t code) {
  for (size_t i = 0; i < LEN(not_letters); i++)
    if (code >= not_letters[i][0] && code <= not_letters[i][1]) return false;
  return true;
}

// What somebody meant who typed or pasted it.
static const struct {
  uint32_t code;
  const char *hint;
} hints[] = {
  {'!', "; write 'not'"},
  {'?', "; a choice is written 'a if condition else b'"},
  {0xa0, ", a no-break space; write a space"},
  {0xd7, "; write '*'"},
  {0xf7, "; write '/'"},
  {0x200b, ", a zero-width space; remove it"},
  {0x2013, ", a dash; write '-'"},
  {0x2014, ", a dash; write '-'"},
  {0x2018, ", a curly quote; write \"'\""},
  {0x2019, ", a curly quote; write \"'\""},
  {0x201c, ", a curly quote; write '\"'"},
  {0x201d, ", a curly quote; write '\"'"},
  {0x2192, "; write '->'"},
  {0x2212, ", a minus sign; write '-'"},
  {0x2260, "; write '!='"},
  {0x2264, "; write '<='"},
  {0x2265, "; write '>='"},
  {0x3000, ", a wide space; write a space"},
  {0xfeff, ", a byte order mark; remove it"},
};

void lex_bad_character(Scanner *x, const char *text, Span at) {
  int size;
  uint32_t code = lex_utf8_get(text, &size);
  const char *hint = "";
  for (size_t i = 0; i < LEN(hints); i++)
    if (hints[i].code == code) hint = hints[i].hint;
  at.hi = at.lo + (uint32_t)size;
  char shown[24];
  if (code < 0x20 || (code >= 0x7f && !is_letter(code) && hint[0] == ','))
    snprintf(shown, sizeof shown, "U+%04X", code);
  else snprintf(shown, sizeof shown, "'%.*s' (U+%04X)", size, text, code);
  diag_report(x->diags, DIAG_BAD_CHARACTER, at, shown, hint);
}

static const char *intern(Scanner *x, const char *text, int len) {
  char small[64], *name = small;
  if (len < (int)sizeof small) {
    memcpy(small, text, (size_t)len);
    small[len] = 0;
  } else {
    name = arena_strn(x->arena, text, (size_t)len);
  }
  const char *found = map_get(x->names, name);
  if (found) return found;
  char *copy = arena_strn(x->arena, text, (size_t)len);
  map_set(x->names, copy, copy);
  return copy;
}

TokenKind lex_name(Scanner *x, const char *text, int len, LexValue *out) {
  TokenKind kind = lex_keyword(text, len);
  if (kind != TOK_NAME) return kind;
  for (int i = 0, size; i < len; i += size) {
    uint32_t code = lex_utf8_get(text + i, &size);
    if (code < 0x80 || is_letter(code)) continue;
    lex_bad_character(x, text + i, (Span){x->file, out->span.lo + (uint32_t)i, out->span.hi});
    return TOK_ERROR;
  }
  out->name = intern(x, text, len);
  return TOK_NAME;
}
