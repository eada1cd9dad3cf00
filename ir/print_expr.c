// Names, expressions and regions as text.
// SPDX-License-Identifier: MIT
#include "ir/print.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Printer printer_new(Buf *out) {
  Arena *a = arena_new();
  return (Printer){.out = out,
                   .arena = a,
                   .names = ptrmap_new(a),
                   .taken = map_new(a),
                   .next = map_new(a),
                   .pinned = ptrmap_new(a)};
}

void printer_free(Printer *p) { arena_free(p->arena); }

static bool taken(const Printer *p, const char *name) {
  return map_get(p->taken, name) || word_reserved(name);
}

// Only what the reader takes for an identifier.
static const char *clean(Arena *a, const char *name) {
  if (!name || !*name) return "_";
  char *s = arena_str(a, name);
  for (char *c = s; *c; c++) {
    if (!isalnum((unsigned char)*c) && *c != '_' && !(*c & 0x80)) *c = '_';
  }
  return isdigit((unsigned char)*s) ? arena_printf(a, "_%s", s) : s;
}

const char *printer_declare(Printer *p, const void *what, const char *name) {
  name = clean(p->arena, name);
  const char *unique = name;
  if (taken(p, name)) {
    intptr_t i = (intptr_t)map_get(p->next, name);
    do unique = arena_printf(p->arena, "%s_%d", name, (int)++i);
    while (taken(p, unique));
    map_set(p->next, name, (void *)i);
  }
  map_set(p->taken, unique, p);
  if (!ptrmap_get(p->pinned, what)) vec_push(p->arena, &p->active, unique);
  ptrmap_set(p->names, what, (void *)(uintptr_t)unique);
  return unique;
}

// A name with a number after it is free again for those who ask without.
static void number_freed(Printer *p, const char *name) {
  const char *end = strrchr(name, '_');
  if (!end || !isdigit((unsigned char)end[1])) return;
  const char *stem = arena_printf(p->arena, "%.*s", (int)(end - name), name);
  intptr_t n = (intptr_t)map_get(p->next, stem), freed = atoi(end + 1);
  if (freed >= 1 && freed <= n) map_set(p->next, stem, (void *)(freed - 1));
}

void printer_pop(Printer *p, int mark) {
  while (p->active.len > mark) {
    const char *name = p->active.data[--p->active.len];
    map_set(p->taken, name, NULL);
    number_freed(p, name);
  }
}

const char *printer_name(Printer *p, const void *what, const char *name) {
  const char *known = ptrmap_get(p->names, what);
  return known ? known : printer_declare(p, what, name);
}

void print_string(Buf *out, const char *s) {
  buf_putc(out, '"');
  for (; *s; s++) {
    if (*s == '\n') buf_puts(out, "\\n");
    else if (*s == '"' || *s == '\\') buf_printf(out, "\\%c", *s);
    else buf_putc(out, *s);
  }
  buf_putc(out, '"');
}

static void print_float(Buf *out, const Expr *x) {
  double v = x->u.f;
  char text[64];
  if (isnan(v)) {
    snprintf(text, sizeof text, "%snan", signbit(v) ? "-" : "");
  } else if (isinf(v)) {
    snprintf(text, sizeof text, "%sinf", v < 0 ? "-" : "");
  } else {
    for (int digits = 6; digits <= 17; digits++) { // the shortest of these that reads back
      snprintf(text, sizeof text, "%.*g", digits, v);
      if (strtod(text, NULL) == v) break;
    }
    if (!strpbrk(text, ".e")) strcat(text, ".0");
  }
  if (x->type == DT_F32) buf_puts(out, text);
  else buf_printf(out, "%s(%s)", dt_name(x->type), text);
}

static void print_int(Buf *out, const Expr *x) {
  if (x->type == DT_BOOL) buf_puts(out, x->u.i ? "true" : "false");
  else if (x->type == DT_INDEX) buf_printf(out, "%lld", (long long)x->u.i);
  else buf_printf(out, "%s(%lld)", dt_name(x->type), (long long)x->u.i);
}

static void print_args(Printer *p, Expr *const *list, int n) {
  for (int i = 0; i < n; i++) {
    if (i) buf_puts(p->out, ", ");
    print_expr(p, list[i], 0);
  }
}

void print_list(Printer *p, Expr *const *list, int n) {
  buf_putc(p->out, '[');
  print_args(p, list, n);
  buf_putc(p->out, ']');
}

static void print_call(Printer *p, const char *name, Expr *const *args, int n) {
  buf_printf(p->out, "%s(", name);
  print_args(p, args, n);
  buf_putc(p->out, ')');
}

static void print_unary(Printer *p, const Expr *x, int outer) {
  int prec = x->u.un.op == UN_NOT ? PREC_NOT : PREC_UNARY;
  if (prec < outer) buf_putc(p->out, '(');
  buf_puts(p->out, x->u.un.op == UN_NOT ? "not " : x->u.un.op == UN_NEG ? "-" : "~");
  print_expr(p, x->u.un.a, prec);
  if (prec < outer) buf_putc(p->out, ')');
}

static void print_binary(Printer *p, const Expr *x, int outer) {
  const char *infix = word_infix(x->u.bin.op);
  if (!*infix) {
    print_call(p, word_binary(x->u.bin.op), (Expr *[]){x->u.bin.a, x->u.bin.b}, 2);
    return;
  }
  int prec = word_precedence(x->u.bin.op);
  bool compare = prec == PREC_COMPARE; // comparisons do not chain
  if (prec < outer) buf_putc(p->out, '(');
  print_expr(p, x->u.bin.a, compare ? prec + 1 : prec);
  buf_printf(p->out, " %s ", infix);
  print_expr(p, x->u.bin.b, prec + 1);
  if (prec < outer) buf_putc(p->out, ')');
}

void print_expr(Printer *p, const Expr *x, int outer) {
  switch (x->kind) {
  case EX_INT: print_int(p->out, x); break;
  case EX_FLOAT: print_float(p->out, x); break;
  case EX_VAR: buf_puts(p->out, printer_name(p, x->u.var, x->u.var->name)); break;
  case EX_LOAD:
    buf_puts(p->out, printer_name(p, x->u.load.buf, x->u.load.buf->name));
    print_list(p, x->u.load.idx, x->u.load.n);
    break;
  case EX_UNARY: print_unary(p, x, outer); break;
  case EX_BINARY: print_binary(p, x, outer); break;
  case EX_CAST:
    if (p->plain && x->type == DT_INDEX) print_expr(p, x->u.cast, outer);
    else print_call(p, dt_name(x->type), &x->u.cast, 1);
    break;
  case EX_SELECT:
    print_call(p, "select", (Expr *[]){x->u.sel.cond, x->u.sel.yes, x->u.sel.no}, 3);
    break;
  case EX_BITCAST:
    buf_printf(p->out, "bits(%s, ", dt_name(x->type));
    print_expr(p, x->u.cast, 0);
    buf_putc(p->out, ')');
    break;
  case EX_MATH: print_call(p, word_math(x->u.math.fn, NULL), x->u.math.arg, x->u.math.n); break;
  }
}

void print_region(Printer *p, const Region *r) {
  buf_printf(p->out, "%s[", printer_name(p, r->buf, r->buf->name));
  for (int i = 0; i < r->n; i++) {
    if (i) buf_puts(p->out, ", ");
    print_expr(p, r->min[i], 0);
    if (ex_is(r->extent[i], 1)) continue;
    buf_puts(p->out, " +: ");
    print_expr(p, r->extent[i], 0);
  }
  buf_putc(p->out, ']');
}

void print_places(Printer *p, const IndexMap *m) {
  int mark = p->active.len;
  buf_puts(p->out, " places [");
  for (int i = 0; i < m->n; i++)
    buf_printf(p->out, "%s%s", i ? ", " : "", printer_declare(p, m->var[i], m->var[i]->name));
  buf_puts(p->out, "] to ");
  print_list(p, m->to, m->m);
  if (m->fragment) buf_printf(p->out, " copies %d", m->replicate);
  printer_pop(p, mark);
}

void ir_print_expr(const Expr *x, Buf *out) {
  Printer p = printer_new(out);
  print_expr(&p, x, 0);
  printer_free(&p);
}

const char *ir_expr_str(Arena *a, const Expr *x) {
  Buf b = {0};
  Printer p = printer_new(&b);
  p.plain = true;
  print_expr(&p, x, 0);
  printer_free(&p);
  const char *s = arena_str(a, buf_str(&b));
  buf_free(&b);
  return s;
}
