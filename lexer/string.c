// String literals: escapes to text, and text back to literals.
// SPDX-License-Identifier: MIT
#include "lexer/scanner.h"

#include <stdlib.h>
#include <string.h>

/* Escapes */

typedef struct {
  Scanner *x;
  const char *text; // what is between the quotes
  int len, at; // at: being read
  uint32_t place; // offset of text in the file
  bool bytes;
  char *out;
  uint32_t nout;
} Decoder;

static void put(Decoder *d, uint32_t code) {
  if (d->bytes) d->out[d->nout++] = (char)code;
  else d->nout += (uint32_t)lex_utf8_put(d->out + d->nout, code);
}

static void bad_escape(Decoder *d, int len, const char *why) {
  if (len > d->len - d->at) len = d->len - d->at;
  uint32_t lo = d->place + (uint32_t)d->at;
  Span at = {d->x->file, lo, lo + (uint32_t)len};
  diag_report(d->x->diags, DIAG_BAD_ESCAPE, at, len, d->text + d->at, why);
  d->at += len;
}

static bool is_hex(char c) {
  return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static void hex_escape(Decoder *d, int digits, const char *why) {
  const char *p = d->text + d->at + 2;
  int left = d->len - d->at - 2;
  uint32_t code = 0;
  int i = 0;
  for (; i < digits && i < left && is_hex(p[i]); i++)
    code = code << 4 | (uint32_t)(p[i] <= '9' ? p[i] - '0' : (p[i] | 32) - 'a' + 10);
  if (i < digits) {
    bad_escape(d, i + 2, why);
  } else if (code > 0x10ffff) {
    bad_escape(d, i + 2, "characters end at \\U0010FFFF");
  } else {
    put(d, code);
    d->at += i + 2;
  }
}

static void octal_escape(Decoder *d) {
  uint32_t code = 0;
  int i = d->at + 1;
  for (; i < d->len && i < d->at + 4 && d->text[i] >= '0' && d->text[i] <= '7'; i++)
    code = code << 3 | (uint32_t)(d->text[i] - '0');
  put(d, d->bytes ? code & 0xff : code);
  d->at = i;
}

// tlc does not carry Unicode's names. In text for people the replacement character does
// as well; for anything else there is the warning.
static void named_escape(Decoder *d) {
  const char *from = d->text + d->at, *end = memchr(from, '}', (size_t)(d->len - d->at));
  if (!end || from + 2 >= end || from[2] != '{') {
    bad_escape(d, 2, "\\N takes a name in braces");
    return;
  }
  int len = (int)(end - from) + 1;
  uint32_t lo = d->place + (uint32_t)d->at;
  diag_report(d->x->diags, DIAG_NAMED_ESCAPE, (Span){d->x->file, lo, lo + (uint32_t)len}, len,
              from);
  put(d, 0xfffd);
  d->at += len;
}

static void unknown_escape(Decoder *d) {
  char c = d->text[d->at + 1];
  uint32_t lo = d->place + (uint32_t)d->at;
  Span at = {d->x->file, lo, lo + 2};
  if (c > ' ' && c < 0x7f) diag_report(d->x->diags, DIAG_UNKNOWN_ESCAPE, at, c, c);
  d->out[d->nout++] = '\\';
  d->at++;
}

static void escape(Decoder *d) {
  static const char letters[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
  if (d->at + 1 >= d->len) { // a piece of an f-string, before a brace
    d->out[d->nout++] = d->text[d->at++];
    return;
  }
  char c = d->text[d->at + 1];
  const char *letter = c ? strchr(letters, c) : NULL;
  if (letter) {
    d->out[d->nout++] = values[letter - letters];
    d->at += 2;
  } else if (c == '\n') {
    d->at += 2;
  } else if (c == '\r') {
    d->at += d->at + 2 < d->len && d->text[d->at + 2] == '\n' ? 3 : 2;
  } else if (c >= '0' && c <= '7') {
    octal_escape(d);
  } else if (c == 'x') {
    hex_escape(d, 2, "\\x takes 2 hexadecimal digits");
  } else if (c == 'u' && !d->bytes) {
    hex_escape(d, 4, "\\u takes 4 hexadecimal digits");
  } else if (c == 'U' && !d->bytes) {
    hex_escape(d, 8, "\\U takes 8 hexadecimal digits");
  } else if (c == 'N' && !d->bytes) {
    named_escape(d);
  } else {
    unknown_escape(d);
  }
}

static void bytes_character(Decoder *d) {
  int size;
  lex_utf8_get(d->text + d->at, &size);
  uint32_t lo = d->place + (uint32_t)d->at;
  diag_report(d->x->diags, DIAG_BYTES_CHARACTER, (Span){d->x->file, lo, lo + (uint32_t)size}, size,
              d->text + d->at);
  d->at += size;
}

static LexStr decode(Scanner *x, const char *text, int len, uint32_t place, bool raw, bool bytes) {
  // An escape is never shorter than what it stands for.
  Decoder d = {.x = x, .text = text, .len = len, .place = place, .bytes = bytes};
  d.out = arena_alloc(x->arena, (size_t)len + 1);
  while (d.at < len) {
    char c = text[d.at];
    if (c == '\r') {
      d.at += d.at + 1 < len && text[d.at + 1] == '\n' ? 2 : 1;
      d.out[d.nout++] = '\n';
    } else if (bytes && (c & 0x80)) {
      bytes_character(&d);
    } else if (c == '\\' && !raw) {
      escape(&d);
    } else {
      d.out[d.nout++] = text[d.at++];
    }
  }
  return (LexStr){d.out, d.nout};
}

/* Literals */

typedef struct {
  bool raw, bytes, triple;
  char quote;
  int open; // length of prefix and quotes
} Opening;

static Opening opening_of(const char *text, int len) {
  Opening o = {0};
  int i = 0;
  for (; text[i] != '"' && text[i] != '\''; i++) {
    o.raw |= (text[i] | 32) == 'r';
    o.bytes |= (text[i] | 32) == 'b';
  }
  o.quote = text[i];
  o.triple = len >= i + 3 && text[i + 1] == o.quote && text[i + 2] == o.quote;
  o.open = i + (o.triple ? 3 : 1);
  return o;
}

TokenKind lex_string(Scanner *x, const char *text, int len, LexValue *out) {
  Opening o = opening_of(text, len);
  int quotes = o.triple ? 3 : 1;
  if (len < o.open + quotes) o.open -= 2, quotes = 1; // '' looked like a triple quote
  out->str = decode(x, text + o.open, len - o.open - quotes, out->span.lo + (uint32_t)o.open,
                    o.raw, o.bytes);
  return o.bytes ? TOK_BYTES : TOK_STR;
}

// Brackets that the text closes, were it not in a string.
static void close_swallowed(Scanner *x, const char *text, int len) {
  int depth = 0;
  for (int i = 0; i < len; i++) {
    char open = text[i] == ')' ? '(' : text[i] == ']' ? '[' : text[i] == '}' ? '{' : 0;
    if (strchr("([{", text[i])) depth++;
    else if (open && depth) depth--;
    else if (open && lex_top(x) == open) x->nbrackets--;
  }
}

void lex_unterminated(Scanner *x, const char *text, int len, Span at) {
  Opening o = opening_of(text, len);
  const Bracket *around = lex_top(x) == 'F' ? lex_fstring(x) : NULL;
  if (around && around->quote == o.quote && around->triple == o.triple)
    diag_report(x->diags, DIAG_OPEN_FIELD, x->brackets[x->nbrackets - 1].span);
  else diag_report(x->diags, DIAG_OPEN_STRING, at, lex_top(x) == 'f' ? "f-string" : "string");
  for (int i = 0; i < x->nbrackets; i++) x->brackets[i].quiet = true;
  if (o.triple) {
    x->stop = true;
    return;
  }
  for (int i = 0; i < x->nbrackets; i++)
    if (x->brackets[i].kind == 'f') lex_drop_brackets(x, i, at.hi);
  close_swallowed(x, text, len);
}

/* f-strings */

void lex_fstring_begin(Scanner *x, const char *text, int len, Span at) {
  if (!lex_open(x, 'f', at)) return;
  Opening o = opening_of(text, len);
  Bracket *b = &x->brackets[x->nbrackets - 1];
  b->raw = o.raw;
  b->triple = o.triple;
  b->quote = o.quote;
}

TokenKind lex_piece(Scanner *x, const char *text, int len, LexValue *out) {
  out->str = decode(x, text, len, out->span.lo, lex_fstring(x)->raw, false);
  return TOK_FSTR_TEXT;
}

int lex_fstring_quotes(Scanner *x, const char *text, int len, bool *ends) {
  const Bracket *b = lex_fstring(x);
  *ends = false;
  if (text[0] != b->quote) return len;
  int needed = b->triple ? 3 : 1;
  *ends = len >= needed;
  return *ends ? needed : len;
}

TokenKind lex_field_eq(Scanner *x, LexValue *out) {
  uint32_t lo = x->brackets[x->nbrackets - 1].span.hi;
  out->str = decode(x, x->text + lo, (int)(out->span.hi - lo), lo, true, false);
  return TOK_FIELD_EQ;
}

TokenKind lex_field_conversion(Scanner *x, const char *text, int len, LexValue *out) {
  if (len != 2 || !strchr("rsa", text[1]))
    diag_report(x->diags, DIAG_BAD_CONVERSION, out->span, len, text);
  out->str = (LexStr){arena_strn(x->arena, text + 1, 1), 1};
  return TOK_FIELD_CONV;
}

/* Text back to literals */

static void quote_byte(Buf *out, unsigned char c, char quote) {
  const char *special = "\n\r\t\\", *letters = "nrt\\";
  const char *found = c ? strchr(special, c) : NULL;
  if (found) buf_printf(out, "\\%c", letters[found - special]);
  else if (c == (unsigned char)quote) buf_printf(out, "\\%c", c);
  else if (c < 0x20 || c == 0x7f) buf_printf(out, "\\x%02x", c);
  else buf_putc(out, (char)c);
}

// Text from escapes may hold lone surrogates, which no file may.
static bool quote_surrogate(Buf *out, const unsigned char *s, uint32_t left) {
  if (left < 3 || s[0] != 0xed || s[1] < 0xa0) return false;
  buf_printf(out, "\\u%04x", 0xd000u | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu));
  return true;
}

static void quote_text(Buf *out, LexStr s, char quote, bool bytes) {
  const unsigned char *data = (const unsigned char *)s.data;
  for (uint32_t i = 0; i < s.len; i++) {
    if (bytes && data[i] >= 0x80) buf_printf(out, "\\x%02x", data[i]);
    else if (!bytes && quote_surrogate(out, data + i, s.len - i)) i += 2;
    else quote_byte(out, data[i], quote);
  }
}

void lex_quote(Buf *out, LexStr s, char quote, bool bytes) {
  buf_putc(out, quote);
  quote_text(out, s, quote, bytes);
  buf_putc(out, quote);
}

void lex_quote_piece(Buf *out, LexStr s, char quote, bool spec) {
  for (uint32_t i = 0, from = 0; i <= s.len; i++) {
    bool brace = i < s.len && (s.data[i] == '{' || s.data[i] == '}');
    if (i < s.len && !brace) continue;
    quote_text(out, (LexStr){s.data + from, i - from}, quote, false);
    if (brace && spec) buf_printf(out, "\\x%02x", s.data[i]);
    else if (brace) buf_printf(out, "%c%c", s.data[i], s.data[i]);
    from = i + 1;
  }
}
