// -p texts: ints, floats, True, False, None, dtypes, policies, quoted text, lists and tuples; any
// other word is text.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 20 };

static const char *skip_blanks(const char *s) {
  while (*s == ' ' || *s == '\t') s++;
  return s;
}

static bool number(const char *s, Val *out) {
  char clean[64], *end;
  size_t n = 0;
  for (const char *p = s; *p; p++) {
    if (n >= sizeof clean - 1) return false;
    if (*p != '_') clean[n++] = *p;
  }
  clean[n] = 0;
  const char *digits = clean + (clean[0] == '-' || clean[0] == '+');
  if (!isdigit((unsigned char)digits[0]) && digits[0] != '.') return false;
  errno = 0;
  int base = !strncmp(digits, "0x", 2) || !strncmp(digits, "0X", 2) ? 16 : 10;
  long long i = strtoll(clean, &end, base);
  if (!*end && !errno) return *out = v_int(i), true;
  if (base == 16) return false;
  double f = strtod(clean, &end);
  if (*end || !isfinite(f) || strpbrk(clean, "xXpP")) return false;
  *out = v_float(f);
  return true;
}

static bool policy(const char *s, Val *out) {
  static const char *const names[] = {"Square", "FullRow", "FullCol"};
  if (!strncmp(s, "T.", 2)) s += 2;
  if (strncmp(s, "GemmWarpPolicy.", 15)) return false;
  for (int i = 0; i < 3; i++) {
    if (!strcmp(s + 15, names[i])) return *out = (Val){.kind = V_POLICY, .i = i}, true;
  }
  return false;
}

static Val word(Ev *ev, const char *s) {
  Val v;
  DType t;
  if (!strcmp(s, "True") || !strcmp(s, "true")) return v_bool(true);
  if (!strcmp(s, "False") || !strcmp(s, "false")) return v_bool(false);
  if (!strcmp(s, "None")) return v_none();
  if (number(s, &v) || policy(s, &v)) return v;
  if (dt_find(!strncmp(s, "T.", 2) ? s + 2 : s, &t) && t != DT_INDEX) return v_dtype(t);
  size_t n = strlen(s);
  if (n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n - 1] == s[0])
    return v_strn(ev, s + 1, (int)n - 2);
  return v_str(ev, s);
}

static Val value(Ev *ev, const char **s, const char *stop, int depth);

static Val sequence(Ev *ev, const char **s, int depth) {
  char close = **s == '[' ? ']' : ')';
  Val v = v_seq(ev, **s == '[' ? V_LIST : V_TUPLE, 0);
  (*s)++;
  for (*s = skip_blanks(*s); **s && **s != close; *s = skip_blanks(*s)) {
    v_push(ev, v.seq, value(ev, s, close == ']' ? ",]" : ",)", depth + 1));
    *s = skip_blanks(*s);
    if (**s == ',') (*s)++;
  }
  if (**s) (*s)++;
  return v;
}

static Val value(Ev *ev, const char **s, const char *stop, int depth) {
  *s = skip_blanks(*s);
  if ((**s == '[' || **s == '(') && depth < MAX_DEPTH) return sequence(ev, s, depth);
  size_t n = 0;
  char quote = **s == '"' || **s == '\'' ? **s : 0;
  if (quote && strchr(*s + 1, quote)) n = (size_t)(strchr(*s + 1, quote) - *s) + 1;
  n += strcspn(*s + n, stop);
  const char *text = *s;
  *s += n;
  while (n && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
  return word(ev, arena_strn(ev->arena, text, n));
}

Val bind_parse(Ev *ev, const char *text) { return value(ev, &text, "", 0); }

static bool put(Ev *ev, SB *b, Val v, int depth) {
  switch (v.kind) {
  case V_NONE:
  case V_BOOL:
  case V_INT:
  case V_FLOAT:
  case V_DTYPE:
  case V_POLICY: sb_puts(ev, b, v_repr(ev, v)); return true;
  case V_STR: {
    Val back = word(ev, v.str->data); // quoted where it would read as something else
    bool plain = back.kind == V_STR && v.str->len && !strpbrk(v.str->data, ",[]() '\"");
    sb_printf(ev, b, plain || back.kind == V_DTYPE ? "%s" : "\"%s\"", v.str->data);
    return true;
  }
  case V_TUPLE:
  case V_LIST:
    if (depth > MAX_DEPTH) return false;
    sb_puts(ev, b, v.kind == V_LIST ? "[" : "(");
    for (int i = 0; i < v.seq->len; i++) {
      if (i) sb_puts(ev, b, ",");
      if (!put(ev, b, v.seq->data[i], depth + 1)) return false;
    }
    sb_puts(ev, b, v.kind == V_LIST ? "]" : ")");
    return true;
  default: return false;
  }
}

const char *bind_text(Ev *ev, Val v) {
  SB b = {0};
  return put(ev, &b, v, 0) ? b.data : NULL;
}
