// Methods of str.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"

#include "eval/handlers.h"

#include <ctype.h>
#include <string.h>

static const char *text(Ev *ev, Call *c, int i) { return arg_str(ev, c, i, ""); }

Val s_join(Ev *ev, Call *c) {
  Seq *s = ev_items(ev, c->arg[0], c->at[0]);
  SB b = {0};
  for (int i = 0; i < s->len; i++) {
    if (ev_unknown(s->data[i])) return s->data[i];
    if (s->data[i].kind != V_STR)
      ev_fail(ev, DIAG_OPERAND, c->at[0], "join", v_kind(ev, s->data[i]), "str items");
    if (i) sb_putn(ev, &b, c->self.str->data, c->self.str->len);
    sb_putn(ev, &b, s->data[i].str->data, s->data[i].str->len);
    if (b.len > 1 << 20) ev_fail(ev, DIAG_TOO_LONG, c->span, (long long)b.len, 1 << 20);
  }
  return sb_val(ev, &b);
}

static Val split_blanks(Ev *ev, const char *s) {
  Val out = v_seq(ev, V_LIST, 0);
  while (*s) {
    while (isspace((unsigned char)*s)) s++;
    int n = 0;
    while (s[n] && !isspace((unsigned char)s[n])) n++;
    if (n) v_push(ev, out.seq, v_strn(ev, s, n));
    s += n;
  }
  return out;
}

Val s_split(Ev *ev, Call *c) {
  const char *s = c->self.str->data;
  if (c->arg[0].kind == V_UNSET || c->arg[0].kind == V_NONE) return split_blanks(ev, s);
  const char *sep = text(ev, c, 0);
  if (!*sep) ev_fail(ev, DIAG_CONVERT, c->at[0], "''", "a separator");
  Val out = v_seq(ev, V_LIST, 0);
  for (const char *p; (p = strstr(s, sep)); s = p + strlen(sep))
    v_push(ev, out.seq, v_strn(ev, s, (int)(p - s)));
  v_push(ev, out.seq, v_str(ev, s));
  return out;
}

static Val field(Ev *ev, Call *c, const char *name, int n, int *next) {
  int64_t i = 0;
  bool digits = true;
  for (int k = 0; k < n; k++) {
    digits &= isdigit((unsigned char)name[k]) != 0;
    if (i < 100000) i = i * 10 + (name[k] - '0');
  }
  if (n && !digits) {
    for (int k = 0; k < c->kw.len; k++) {
      if ((int)strlen(c->kw.data[k].name) == n && !strncmp(c->kw.data[k].name, name, (size_t)n))
        return c->kw.data[k].v;
    }
    ev_fail(ev, DIAG_KEY, c->span, arena_strn(ev->arena, name, (size_t)n));
  }
  if (!n) i = (*next)++;
  if (i >= c->rest->len)
    ev_fail(ev, DIAG_INDEX, c->span, (long long)i, "the operands", (long long)c->rest->len);
  return c->rest->data[i];
}

Val s_format(Ev *ev, Call *c) {
  SB b = {0};
  int next = 0;
  for (const char *p = c->self.str->data; *p; p++) {
    if ((*p == '{' || *p == '}') && p[1] == *p) {
      sb_putn(ev, &b, p++, 1);
      continue;
    }
    if (*p != '{') {
      sb_putn(ev, &b, p, 1);
      continue;
    }
    const char *end = strchr(p, '}'), *colon = memchr(p, ':', end ? (size_t)(end - p) : 0);
    if (!end) ev_fail(ev, DIAG_FORMAT, c->span, c->self.str->data);
    const char *stop = colon ? colon : end;
    Val v = field(ev, c, p + 1, (int)(stop - p - 1), &next);
    if (ev_unknown(v)) return v;
    const char *spec = colon ? arena_strn(ev->arena, colon + 1, (size_t)(end - colon - 1)) : "";
    v = ev_format(ev, v, spec, c->span);
    sb_putn(ev, &b, v.str->data, v.str->len);
    p = end;
  }
  return sb_val(ev, &b);
}

Val s_replace(Ev *ev, Call *c) {
  const char *s = c->self.str->data, *old = text(ev, c, 0), *new = text(ev, c, 1);
  SB b = {0};
  for (const char *p; *old && (p = strstr(s, old)); s = p + strlen(old)) {
    sb_putn(ev, &b, s, (int)(p - s));
    sb_puts(ev, &b, new);
    if (b.len > 1 << 20) ev_fail(ev, DIAG_TOO_LONG, c->span, (long long)b.len, 1 << 20);
  }
  sb_puts(ev, &b, s);
  return sb_val(ev, &b);
}

static bool ends(const Str *s, const char *part, bool front) {
  int n = (int)strlen(part);
  return s->len >= n && !memcmp(s->data + (front ? 0 : s->len - n), part, (size_t)n);
}

static Val any_end(Ev *ev, Call *c, bool front) {
  if (c->arg[0].kind != V_TUPLE) return v_bool(ends(c->self.str, text(ev, c, 0), front));
  for (int i = 0; i < c->arg[0].seq->len; i++) {
    Val v = c->arg[0].seq->data[i];
    if (v.kind == V_STR && ends(c->self.str, v.str->data, front)) return v_bool(true);
  }
  return v_bool(false);
}

Val s_startswith(Ev *ev, Call *c) { return any_end(ev, c, true); }
Val s_endswith(Ev *ev, Call *c) { return any_end(ev, c, false); }

Val s_strip(Ev *ev, Call *c) {
  const char *chars = c->arg[0].kind == V_UNSET ? " \t\n\r\f\v" : text(ev, c, 0);
  const char *s = c->self.str->data;
  int lo = 0, hi = c->self.str->len;
  while (lo < hi && strchr(chars, s[lo])) lo++;
  while (hi > lo && strchr(chars, s[hi - 1])) hi--;
  return v_strn(ev, s + lo, hi - lo);
}

static Val mapped(Ev *ev, Call *c, int (*f)(int)) {
  Val out = v_strn(ev, c->self.str->data, c->self.str->len);
  char *s = arena_strn(ev->arena, out.str->data, (size_t)out.str->len);
  for (int i = 0; i < out.str->len; i++) {
    if ((unsigned char)s[i] < 128) s[i] = (char)f((unsigned char)s[i]);
  }
  return v_strn(ev, s, out.str->len);
}

Val s_upper(Ev *ev, Call *c) { return mapped(ev, c, toupper); }
Val s_lower(Ev *ev, Call *c) { return mapped(ev, c, tolower); }

Val s_find(Ev *ev, Call *c) {
  const char *p = strstr(c->self.str->data, text(ev, c, 0));
  return v_int(p ? p - c->self.str->data : -1);
}

Val s_count(Ev *ev, Call *c) {
  const char *part = text(ev, c, 0), *s = c->self.str->data;
  if (!*part) return v_int(c->self.str->len + 1);
  int n = 0;
  for (; (s = strstr(s, part)); s += strlen(part)) n++;
  return v_int(n);
}

Val s_isdigit(Ev *ev, Call *c) {
  for (int i = 0; i < c->self.str->len; i++) {
    if (!isdigit((unsigned char)c->self.str->data[i])) return v_bool(false);
  }
  return v_bool(c->self.str->len > 0);
}
