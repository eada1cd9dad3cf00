// Statements as text.
// SPDX-License-Identifier: MIT
#include "ir/print.h"

#include "ir/layout.h"

void print_indent(Printer *p, int indent) {
  for (int i = 0; i < indent; i++) buf_puts(p->out, "  ");
}

static void print_end(Printer *p, const Stmt *s) {
  if (p->spans && s->span.file)
    buf_printf(p->out, " @%u:%u-%u", s->span.file, s->span.lo, s->span.hi);
  buf_putc(p->out, '\n');
}

// " {", the statements and "}", without the newline after it. Names declared inside end with it.
void print_block(Printer *p, const Stmt *s, int indent) {
  int mark = p->active.len;
  buf_puts(p->out, " {\n");
  if (s->kind != ST_BLOCK) print_stmt(p, s, indent + 1);
  for (int i = 0; s->kind == ST_BLOCK && i < s->u.block.len; i++)
    print_stmt(p, s->u.block.data[i], indent + 1);
  print_indent(p, indent);
  buf_putc(p->out, '}');
  printer_pop(p, mark);
}

static void print_type(Printer *p, const Var *v, DType usual) {
  if (v->type != usual) buf_printf(p->out, " : %s", dt_name(v->type));
}

static void print_while(Printer *p, const Stmt *s, int indent) {
  buf_puts(p->out, "while ");
  print_expr(p, s->u.loop.cond, 0);
  print_block(p, s->u.loop.body, indent);
  print_end(p, s);
}

static void print_loop(Printer *p, const Stmt *s, int indent) {
  int n = s->u.loop.nvars, mark = p->active.len;
  Buf head = {0}, *out = p->out;
  p->out = &head; // the bounds do not see the loop's own variables
  for (int i = 0; i < n; i++) {
    buf_puts(&head, i ? ", " : " in ");
    print_expr(p, s->u.loop.min[i], 0);
    buf_puts(&head, " +: ");
    print_expr(p, s->u.loop.extent[i], 0);
  }
  p->out = out;
  buf_puts(out, loop_words[s->u.loop.loop]);
  for (int i = 0; i < n; i++) {
    Var *v = s->u.loop.var[i];
    buf_printf(out, "%s%s", i ? ", " : " ", printer_declare(p, v, v->name));
    print_type(p, v, DT_INDEX);
  }
  buf_puts(out, buf_str(&head));
  buf_free(&head);
  if (s->u.loop.num_stages) buf_printf(out, " stages %d", s->u.loop.num_stages);
  if (s->u.loop.unroll) buf_printf(out, " factor %d", s->u.loop.unroll);
  if (s->u.loop.async) buf_puts(out, " async");
  if (s->u.loop.layout) {
    buf_putc(out, ' ');
    layout_print(s->u.loop.layout, out);
  }
  if (s->u.loop.places) print_places(p, s->u.loop.places);
  if (s->u.loop.cond) {
    buf_puts(out, " while ");
    print_expr(p, s->u.loop.cond, 0);
  }
  print_block(p, s->u.loop.body, indent);
  printer_pop(p, mark);
  print_end(p, s);
}

static void print_if(Printer *p, const Stmt *s, int indent) {
  buf_puts(p->out, s->u.branch.roles ? "roles " : "if ");
  print_expr(p, s->u.branch.cond, 0);
  print_block(p, s->u.branch.yes, indent);
  if (s->u.branch.no) {
    buf_puts(p->out, " else");
    print_block(p, s->u.branch.no, indent);
  }
  print_end(p, s);
}

// Is there an operand to print? An optional attribute of 0 is as good as none.
static bool given(const OpInfo *info, int i, const Arg *arg) {
  switch (info->arg[i].kind) {
  case ARG_INT: return arg->i || !info->arg[i].optional;
  case ARG_EXPR: return arg->expr != NULL;
  case ARG_TEXT: return arg->text != NULL;
  default: return arg->region != NULL;
  }
}

static void print_op(Printer *p, const Stmt *s) {
  const OpInfo *info = op_info(s->u.op.op);
  buf_printf(p->out, "%s(", info->name);
  bool first = true;
  for (int i = 0; i < info->nargs; i++) {
    const Arg *arg = &s->u.op.arg[i];
    ArgKind kind = info->arg[i].kind;
    if (!given(info, i, arg)) continue;
    buf_printf(p->out, "%s%s=", first ? "" : ", ", info->arg[i].name);
    if (kind == ARG_INT) buf_printf(p->out, "%lld", (long long)arg->i);
    else if (kind == ARG_TEXT) print_string(p->out, arg->text);
    else if (kind == ARG_EXPR) print_expr(p, arg->expr, 0);
    else print_region(p, arg->region);
    first = false;
  }
  buf_putc(p->out, ')');
}

static void print_let(Printer *p, const Stmt *s) {
  Buf value = {0}, *out = p->out;
  p->out = &value;
  print_expr(p, s->u.let.value, 0); // does not see the name it is bound to
  p->out = out;
  buf_printf(out, "let %s", printer_declare(p, s->u.let.var, s->u.let.var->name));
  print_type(p, s->u.let.var, DT_INDEX);
  buf_printf(out, " = %s", buf_str(&value));
  buf_free(&value);
}

void print_stmt(Printer *p, const Stmt *s, int indent) {
  print_indent(p, indent);
  switch (s->kind) {
  case ST_BLOCK:
    buf_puts(p->out, "block");
    print_block(p, s, indent);
    break;
  case ST_FOR:
    if (s->u.loop.loop == LOOP_WHILE) print_while(p, s, indent);
    else print_loop(p, s, indent);
    return;
  case ST_IF: print_if(p, s, indent); return;
  case ST_LET: print_let(p, s); break;
  case ST_STORE:
    buf_puts(p->out, printer_name(p, s->u.store.buf, s->u.store.buf->name));
    print_list(p, s->u.store.idx, s->u.store.n);
    buf_puts(p->out, " = ");
    print_expr(p, s->u.store.value, 0);
    break;
  case ST_OP: print_op(p, s); break;
  case ST_ASSUME:
    buf_puts(p->out, s->known ? "known " : "assume ");
    print_expr(p, s->u.assume, 0);
    break;
  }
  print_end(p, s);
}

void ir_print_stmt(const Stmt *s, int indent, Buf *out) {
  Printer p = printer_new(out);
  print_stmt(&p, s, indent);
  printer_free(&p);
}
