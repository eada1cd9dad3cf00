// Values of number literals.
// SPDX-License-Identifier: MIT
#include "lexer/scanner.h"

#include <stdlib.h>
#include <string.h>

// CPython's default limit for the decimal digits of an integer.
#define MAX_DIGITS 4300

static int digit_value(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static void read_integer(const char *text, int len, LexNum *n) {
  int base = 10, i = 0;
  if (len > 1 && text[0] == '0' && strchr("xXoObB", text[1])) {
    base = strchr("xX", text[1]) ? 16 : strchr("oO", text[1]) ? 8 : 2;
    i = 2;
  }
  for (; i < len; i++) {
    if (text[i] == '_') continue;
    n->big |= __builtin_mul_overflow(n->integer, (uint64_t)base, &n->integer);
    n->big |= __builtin_add_overflow(n->integer, (uint64_t)digit_value(text[i]), &n->integer);
  }
}

static double read_real(Scanner *x, const char *text, int len) {
  char *digits = arena_alloc(x->arena, (size_t)len + 1);
  int n = 0;
  for (int i = 0; i < len; i++)
    if (text[i] != '_') digits[n++] = text[i];
  return strtod(digits, NULL); // tlc never leaves the C locale
}

TokenKind lex_number(Scanner *x, const char *text, int len, TokenKind kind, LexValue *out) {
  LexNum n = {.text = arena_strn(x->arena, text, (size_t)len)};
  if (kind != TOK_INT) n.real = read_real(x, text, kind == TOK_IMAG ? len - 1 : len);
  else if (len > MAX_DIGITS) diag_report(x->diags, DIAG_LONG_NUMBER, out->span, len, MAX_DIGITS);
  else read_integer(text, len, &n);
  out->num = n;
  return kind;
}

static bool all_of(const char *text, int len, const char *set) {
  return (int)strspn(text, set) >= len;
}

void lex_bad_number(Scanner *x, const char *text, int len, Span at) {
  char base = len > 1 && text[0] == '0' ? (char)(text[1] | 32) : 0;
  const char *why = "a name cannot follow a number without a space";
  if (len > 1 && (text[len - 1] == '_' || strstr(text, "__")))
    why = "'_' stands only between two digits";
  else if (base == 'x') why = "hexadecimal digits are 0-9 and a-f";
  else if (base == 'o') why = "octal digits are 0-7";
  else if (base == 'b') why = "binary digits are 0 and 1";
  else if (all_of(text, len, "0123456789_")) why = "no leading zeros; octal is written 0o17";
  else if ((text[len - 1] | 32) == 'e' && all_of(text, len - 1, "0123456789_."))
    why = "an exponent needs digits, as in 1e5";
  diag_report(x->diags, DIAG_BAD_NUMBER, at, len > 40 ? 40 : len, text, why);
}
