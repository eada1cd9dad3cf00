// Text formatting: format(v, spec), f-strings and the % operator.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WIDTH = 1000 };

typedef struct {
  char fill, align, sign, type;
  bool alternate, group;
  int width, precision; // precision -1: none
} Spec;

static bool read_number(const char **s, int *out) {
  *out = 0;
  if (**s < '0' || **s > '9') return false;
  while (**s >= '0' && **s <= '9') {
    *out = *out * 10 + (*(*s)++ - '0');
    if (*out > MAX_WIDTH) *out = MAX_WIDTH;
  }
  return true;
}

static bool parse_spec(const char *s, Spec *out) {
  *out = (Spec){.fill = ' ', .precision = -1};
  if (s[0] && strchr("<>^=", s[1]) && s[1]) {
    out->fill = s[0];
    out->align = s[1];
    s += 2;
  } else if (s[0] && strchr("<>^=", s[0])) {
    out->align = *s++;
  }
  if (*s == '+' || *s == '-' || *s == ' ') out->sign = *s++;
  if (*s == '#') out->alternate = true, s++;
  if (*s == '0') {
    if (!out->align) out->align = '=', out->fill = '0';
    s++;
  }
  read_number(&s, &out->width);
  if (*s == ',' || *s == '_') out->group = *s == ',', s++;
  if (*s == '.') {
    s++;
    if (!read_number(&s, &out->precision)) return false;
  }
  if (*s) out->type = *s++;
  return !*s;
}

static void group_digits(Ev *ev, SB *b, const char *digits) {
  int n = (int)strspn(digits, "0123456789");
  for (int i = 0; i < n; i++) {
    if (i && (n - i) % 3 == 0) sb_puts(ev, b, ",");
    sb_putn(ev, b, digits + i, 1);
  }
  sb_puts(ev, b, digits + n);
}

static const char *int_digits(Ev *ev, const Spec *s, uint64_t mag) {
  switch (s->type) {
  case 'x':
    return arena_printf(ev->arena, "%s%llx", s->alternate ? "0x" : "", (unsigned long long)mag);
  case 'X':
    return arena_printf(ev->arena, "%s%llX", s->alternate ? "0X" : "", (unsigned long long)mag);
  case 'o':
    return arena_printf(ev->arena, "%s%llo", s->alternate ? "0o" : "", (unsigned long long)mag);
  case 'b': {
    char bits[65];
    int n = 64;
    bits[64] = 0;
    do bits[--n] = (char)('0' + (mag & 1));
    while (mag >>= 1);
    return arena_printf(ev->arena, "%s%s", s->alternate ? "0b" : "", bits + n);
  }
  default: return arena_printf(ev->arena, "%llu", (unsigned long long)mag);
  }
}

static const char *float_digits(Ev *ev, const Spec *s, double f) {
  if (isnan(f)) return "nan";
  if (isinf(f)) return "inf";
  int p = s->precision < 0 ? 6 : s->precision;
  switch (s->type) {
  case 'e': return arena_printf(ev->arena, "%.*e", p, f);
  case 'E': return arena_printf(ev->arena, "%.*E", p, f);
  case 'g': return arena_printf(ev->arena, "%.*g", p, f);
  case 'G': return arena_printf(ev->arena, "%.*G", p, f);
  case '%': return arena_printf(ev->arena, "%.*f%%", p, f * 100);
  case 0: return s->precision < 0 ? v_repr(ev, v_float(f)) : arena_printf(ev->arena, "%.*g", p, f);
  default: return arena_printf(ev->arena, "%.*f", p, f);
  }
}

static Val pad(Ev *ev, const Spec *s, const char *sign, const char *body, char align) {
  SB b = {0};
  int chars = 0; // UTF-8 characters
  for (const char *p = body; *p; p++) chars += ((unsigned char)*p & 0xc0) != 0x80;
  int room = s->width - chars - (int)strlen(sign);
  if (s->align) align = s->align;
  int left = align == '>' ? room : align == '^' ? room / 2 : 0;
  for (int i = 0; i < left; i++) sb_putn(ev, &b, &s->fill, 1);
  sb_puts(ev, &b, sign);
  for (int i = 0; align == '=' && i < room; i++) sb_putn(ev, &b, &s->fill, 1);
  sb_puts(ev, &b, body);
  for (int i = left; align != '=' && i < room; i++) sb_putn(ev, &b, &s->fill, 1);
  return sb_val(ev, &b);
}

static Val format_number(Ev *ev, const Spec *s, Val v) {
  bool negative = v.kind == V_FLOAT ? signbit(v.f) && !isnan(v.f) : v_as_int(v) < 0;
  const char *sign = negative ? "-" : s->sign == '+' ? "+" : s->sign == ' ' ? " " : "";
  bool as_float = v.kind == V_FLOAT || (s->type && strchr("eEfFgG%", s->type));
  const char *digits;
  if (as_float) {
    digits = float_digits(ev, s, fabs(v_as_float(v)));
  } else {
    uint64_t mag = (uint64_t)v_as_int(v);
    digits = int_digits(ev, s, negative ? -mag : mag);
  }
  if (s->group) {
    SB b = {0};
    group_digits(ev, &b, digits);
    digits = b.data;
  }
  return pad(ev, s, sign, digits, '>');
}

Val ev_format(Ev *ev, Val v, const char *spec, Span at) {
  if (!*spec) return v_str(ev, v_text(ev, v));
  Spec s;
  if (!parse_spec(spec, &s)) ev_fail(ev, DIAG_FORMAT, at, spec);
  bool number = v_is_num(v) && !(v.kind == V_BOOL && !s.type);
  if (s.type && !strchr(number ? "bcdeEfFgGnosxX%" : "s", s.type))
    ev_fail(ev, DIAG_FORMAT, at, spec);
  if (v.kind == V_FLOAT && s.type && strchr("bcdosxX", s.type)) ev_fail(ev, DIAG_FORMAT, at, spec);
  if (number && s.type != 's') return format_number(ev, &s, v);
  const char *text = v_text(ev, v);
  if (s.precision >= 0 && (int)strlen(text) > s.precision)
    text = arena_strn(ev->arena, text, (size_t)s.precision);
  return pad(ev, &s, "", text, '<');
}

Val ev_percent(Ev *ev, const Str *fmt, Val args, Span at) {
  SB b = {0};
  int used = 0, n = args.kind == V_TUPLE ? args.seq->len : 1;
  for (const char *p = fmt->data; *p; p++) {
    if (*p != '%') {
      sb_putn(ev, &b, p, 1);
      continue;
    }
    if (*++p == '%') {
      sb_puts(ev, &b, "%");
      continue;
    }
    char spec[32];
    size_t k = strspn(p, "-+ #0123456789.");
    if (k >= sizeof spec - 2 || !p[k] || used >= n) ev_fail(ev, DIAG_FORMAT, at, fmt->data);
    memcpy(spec, p, k + 1);
    spec[k + 1] = 0;
    if (spec[0] == '-') spec[0] = '<';
    p += k;
    if (*p == 'i' || *p == 'u') spec[k] = 'd';
    Val v = args.kind == V_TUPLE ? args.seq->data[used] : args;
    used++;
    if (ev_unknown(v)) return v;
    if (*p == 'd' && v.kind == V_FLOAT) v = v_int((int64_t)fmax(-9e18, fmin(9e18, v.f)));
    if (*p == 'r' || *p == 's') {
      v = v_str(ev, *p == 'r' ? v_repr(ev, v) : v_text(ev, v));
      spec[k] = 's';
    }
    Val text = ev_format(ev, v, spec, at);
    sb_putn(ev, &b, text.str->data, text.str->len);
  }
  if (used < n && !(args.kind != V_TUPLE && used == 0)) ev_fail(ev, DIAG_FORMAT, at, fmt->data);
  return sb_val(ev, &b);
}
