// Statements without control flow of their own, and blocks of statements.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include <string.h>

bool ev_emits(const Ev *ev) { return ev->trace && ev->trace->kernel; }

void ev_emit(Ev *ev, Stmt *s) { st_add(ev->arena, ev->trace->block, s); }

typedef struct {
  const AstStmt *s;
  Flow flow;
} Run;

static void run_stmt(Ev *ev, void *arg) {
  Run *r = arg;
  r->flow = ev_stmt(ev, r->s);
}

// In a kernel, and at the top of a file, an error ends its statement only: the rest is still looked
// at, with what the statement would have bound poisoned.
static bool recovers(const Ev *ev) {
  if (ev->jump->handlers) return false; // the try statement wants it
  return ev->hosting || (ev->env->kernel && ev->trace) || ev->env->parent == ev->builtins;
}

static void poison(Ev *ev, const AstStmt *s, Val with);

Flow ev_block(Ev *ev, const AstBlock *b) {
  for (int i = 0; i < b->len; i++) {
    Run r = {b->data[i], FLOW_NEXT};
    if (!recovers(ev)) {
      r.flow = ev_stmt(ev, r.s);
    } else {
      if (!ev_protect(ev, run_stmt, &r)) {
        if (ev_unfollowed(ev)) poison(ev, r.s, v_opaque(ev, "the result of host code"));
        else ev_poison(ev, r.s);
        continue;
      }
    }
    if (r.flow != FLOW_NEXT) return r.flow;
  }
  return FLOW_NEXT;
}

/* ------------------------------------------------------------------ poison */

void ev_poison_target(Ev *ev, const AstExpr *target, Val with) {
  if (target->kind == AST_NAME) {
    env_put(ev, env_home(ev->env, target->name), target->name, with);
  } else if (target->kind == AST_TUPLE || target->kind == AST_LIST) {
    for (int i = 0; i < target->items.len; i++) ev_poison_target(ev, target->items.data[i], with);
  } else if (target->kind == AST_STARRED) {
    ev_poison_target(ev, target->operand, with);
  }
}

static void poison_name(Ev *ev, const char *name, Val with) {
  env_put(ev, env_home(ev->env, name), name, with);
}

void ev_poison_block(Ev *ev, const AstBlock *b, Val with) {
  for (int i = 0; i < b->len; i++) poison(ev, b->data[i], with);
}

static void poison_imports(Ev *ev, const AstStmt *s, Val with) {
  for (int i = 0; i < s->import.nnames; i++) {
    const AstAlias *a = &s->import.names[i];
    poison_name(ev, a->alias ? a->alias : a->name, with);
  }
}

static void poison(Ev *ev, const AstStmt *s, Val with) {
  switch (s->kind) {
  case AST_STMT_ASSIGN:
    for (int i = 0; i < s->assign.targets.len; i++)
      ev_poison_target(ev, s->assign.targets.data[i], with);
    break;
  case AST_STMT_AUG_ASSIGN: ev_poison_target(ev, s->aug.target, with); break;
  case AST_STMT_ANN_ASSIGN: ev_poison_target(ev, s->ann.target, with); break;
  case AST_STMT_DEF: poison_name(ev, s->def.name.text, with); break;
  case AST_STMT_CLASS: poison_name(ev, s->class_.name.text, with); break;
  case AST_STMT_IMPORT:
  case AST_STMT_FROM_IMPORT: poison_imports(ev, s, with); break;
  case AST_STMT_IF:
    for (int i = 0; i < s->if_.nbranches; i++) ev_poison_block(ev, &s->if_.branches[i].body, with);
    ev_poison_block(ev, &s->if_.orelse, with);
    break;
  case AST_STMT_FOR:
    ev_poison_target(ev, s->for_.target, with);
    ev_poison_block(ev, &s->for_.body, with);
    break;
  case AST_STMT_WHILE: ev_poison_block(ev, &s->while_.body, with); break;
  case AST_STMT_WITH: ev_poison_block(ev, &s->with.body, with); break;
  case AST_STMT_TRY: ev_poison_block(ev, &s->try_.body, with); break;
  default: break;
  }
}

void ev_poison(Ev *ev, const AstStmt *s) { poison(ev, s, (Val){.kind = V_ERROR}); }

/* ------------------------------------------------------------------ simple statements */

static void assert_stmt(Ev *ev, const AstStmt *s) {
  Val v = ev_expr(ev, s->assert_.cond);
  if (ev_unknown(v)) {
    ev_note_missing(ev, v);
    return;
  }
  if (ev_is_rt(v)) ev_fail(ev, DIAG_RT_ASSERT, s->span);
  if (ev_truth(ev, v, s->assert_.cond->span)) return;
  if (!s->assert_.message) ev_fail(ev, DIAG_ASSERT, s->span);
  Val text = ev_expr(ev, s->assert_.message);
  ev_fail(ev, DIAG_ASSERT_TEXT, s->span, v_text(ev, text));
}

static void raise_stmt(Ev *ev, const AstStmt *s) {
  if (ev->trace && ev->trace->rt)
    ev_fail(ev, DIAG_RT_CONTEXT, s->span, "`raise`", "raise at compile time");
  Val v = v_none();
  if (s->raise.value) v = ev_expr(ev, s->raise.value);
  if (v.kind == V_EXC) ev->raised = *v.exc;
  else if (s->raise.value) ev->raised = (Exc){"Exception", v_text(ev, v)};
  if (!ev->raised.type) ev->raised = (Exc){"RuntimeError", "no exception to raise again"};
  const char *text = ev->raised.message ? ev->raised.message : "";
  ev_fail(ev, DIAG_RAISED, s->span, ev->raised.type, *text ? ": " : "", text);
}

static void declare_outer(Ev *ev, const AstStmt *s) {
  for (int i = 0; i < s->names.len; i++) {
    const AstName *n = &s->names.data[i];
    Env *home = ev->env;
    if (s->kind == AST_STMT_GLOBAL) {
      while (home->parent && home->parent != ev->builtins) home = home->parent;
    } else {
      home = ev->env->parent;
      while (home && !map_has(home->cells, n->text)) home = home->parent;
      if (!home) ev_fail(ev, DIAG_NAME, n->span, n->text, " in an enclosing function");
    }
    if (home == ev->env) continue;
    if (!ev->env->outer) ev->env->outer = map_new(ev->arena);
    map_set(ev->env->outer, n->text, home);
  }
}

static void del_item(Ev *ev, const AstExpr *t) {
  Val box = ev_expr(ev, t->index.value);
  if (ev_unknown(box)) return;
  if (t->index.index->kind == AST_SLICE) ev_fail(ev, DIAG_NO_SYNTAX, t->span, "del of a slice");
  Val key = ev_expr(ev, t->index.index);
  if (box.kind == V_DICT) {
    rt_mutate(ev, box.dict->born, t->span);
    if (!dict_del(ev, box.dict, key, t->span)) ev_no_key(ev, box.dict, key, t->span);
    return;
  }
  if (box.kind != V_LIST) ev_fail(ev, DIAG_NO_INDEX, t->span, v_kind(ev, box));
  (void)ev_getitem(ev, box, key, t->span);
  rt_mutate(ev, box.seq->born, t->span);
  ev_charge(ev, box.seq->len / 16);
  int64_t i = v_as_int(key) < 0 ? v_as_int(key) + box.seq->len : v_as_int(key);
  memmove(&box.seq->data[i], &box.seq->data[i + 1], sizeof(Val) * (size_t)(box.seq->len - 1 - i));
  box.seq->len--;
}

static void del_stmt(Ev *ev, const AstStmt *s) {
  for (int i = 0; i < s->del.len; i++) {
    const AstExpr *t = s->del.data[i];
    if (t->kind == AST_INDEX) {
      del_item(ev, t);
    } else if (t->kind == AST_NAME) {
      (void)env_read(ev, t->name, t->span);
      env_set(ev, t->name, (Val){.kind = V_UNSET}, t->span);
    }
  }
}

static void assign_stmt(Ev *ev, const AstStmt *s) {
  Val v = ev_expr(ev, s->assign.value);
  bool many = s->assign.targets.len > 1;
  if (many) v = dev_let(ev, "value", v, s->assign.value->span);
  for (int i = 0; i < s->assign.targets.len; i++)
    ev_assign(ev, s->assign.targets.data[i], v, s->assign.targets.data[i]->span);
}

static Flow return_stmt(Ev *ev, const AstStmt *s) {
  if (ev->trace && ev->trace->rt != ev->env->rt) ev_fail(ev, DIAG_RT_RETURN, s->span);
  ev->ret = s->expr ? ev_expr(ev, s->expr) : v_none();
  ev->ret_at = s->span;
  return FLOW_RETURN;
}

Flow ev_stmt(Ev *ev, const AstStmt *s) {
  ev_step(ev, s->span);
  switch (s->kind) {
  case AST_STMT_EXPR: (void)ev_expr(ev, s->expr); break;
  case AST_STMT_ASSIGN: assign_stmt(ev, s); break;
  case AST_STMT_AUG_ASSIGN: ev_aug(ev, s); break;
  case AST_STMT_ANN_ASSIGN: ev_ann(ev, s); break;
  case AST_STMT_IF: return ev_if(ev, s);
  case AST_STMT_FOR: return ev_for(ev, s);
  case AST_STMT_WHILE: return ev_while(ev, s);
  case AST_STMT_WITH: return ev_with(ev, s);
  case AST_STMT_DEF:
    env_set(ev, s->def.name.text, ev_decorate(ev, s), s->def.name.span);
    break;
  case AST_STMT_CLASS: ev_class(ev, s); break;
  case AST_STMT_RETURN: return return_stmt(ev, s);
  case AST_STMT_IMPORT:
  case AST_STMT_FROM_IMPORT: ev_import(ev, s); break;
  case AST_STMT_GLOBAL:
  case AST_STMT_NONLOCAL: declare_outer(ev, s); break;
  case AST_STMT_DEL: del_stmt(ev, s); break;
  case AST_STMT_PASS: break;
  case AST_STMT_BREAK: return FLOW_BREAK;
  case AST_STMT_CONTINUE: return FLOW_CONTINUE;
  case AST_STMT_RAISE: raise_stmt(ev, s); break;
  case AST_STMT_ASSERT: assert_stmt(ev, s); break;
  case AST_STMT_TRY: return ev_try_stmt(ev, s);
  case AST_STMT_MATCH: ev_fail(ev, DIAG_NO_SYNTAX, s->span, "match");
  }
  return FLOW_NEXT;
}
