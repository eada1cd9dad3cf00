// Classes of the user's: simple ones, dataclasses and enums; their instances.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include "eval/handlers.h"

#include <string.h>

/* ------------------------------------------------------------------ attributes */

static Val *own_attr(const Object *o, const char *name) { return map_get(o->attrs, name); }

static Val class_attr(const Class *c, const char *name) {
  for (; c; c = c->base) {
    if (!c->env) continue;
    const Cell *cell = map_get(c->env->cells, name);
    if (cell && cell->v.kind != V_UNSET) return cell->v;
  }
  return (Val){.kind = V_UNSET};
}

static void put_attr(Ev *ev, Object *o, const char *name, Val v) {
  map_set(o->attrs, name, arena_copy(ev->arena, &v, sizeof v));
}

Val obj_new(Ev *ev, const Class *c) {
  Object *o = NEW(ev->arena, Object);
  *o = (Object){c, map_new(ev->arena), ev->clock};
  return (Val){.kind = V_OBJECT, .object = o};
}

void obj_set(Ev *ev, Val box, const char *name, Val v, Span at) {
  if (box.kind == V_CLASS) {
    env_put(ev, box.cls->env, name, v);
    return;
  }
  rt_mutate(ev, box.object->born, at);
  put_attr(ev, box.object, name, v);
}

// A function found in a class, as an attribute of `self` (an instance, or the class).
static Val bound(Ev *ev, Val f, Val self, const Class *c, Span at) {
  if (f.kind != V_FUNC) return f;
  if (f.fn->binding == BIND_STATIC) return f;
  if (f.fn->binding == BIND_CLASS) return v_bound(ev, f, (Val){.kind = V_CLASS, .cls = (Class *)c});
  if (self.kind == V_CLASS) return f;
  if (f.fn->binding == BIND_PROPERTY) return ev_call_args(ev, f, at, 1, &self);
  return v_bound(ev, f, self);
}

Val obj_attr(Ev *ev, Val v, const char *name, Span at) {
  const Class *c = v.kind == V_CLASS ? v.cls : v.object->cls;
  if (v.kind == V_OBJECT) {
    const Val *own = own_attr(v.object, name);
    if (own) return *own;
  }
  Val r = class_attr(c, name);
  if (r.kind != V_UNSET) return bound(ev, r, v, c, at);
  if (!strcmp(name, "__name__") && v.kind == V_CLASS) return v_str(ev, c->name);
  if (!strcmp(name, "__class__") && v.kind == V_OBJECT)
    return (Val){.kind = V_CLASS, .cls = (Class *)c};
  return (Val){.kind = V_UNSET};
}

Val obj_item(Ev *ev, Val v, Val index, Span at) {
  if (v.kind == V_CLASS && v.cls->is_enum && index.kind == V_STR) {
    Val r = class_attr(v.cls, index.str->data);
    if (r.kind == V_OBJECT) return r;
    ev_fail(ev, DIAG_KEY, at, v_brief(ev, index));
  }
  Val f = v.kind == V_OBJECT ? obj_attr(ev, v, "__getitem__", at) : (Val){.kind = V_UNSET};
  if (f.kind == V_UNSET) ev_fail(ev, DIAG_NO_INDEX, at, v_kind(ev, v));
  return ev_call_args(ev, f, at, 1, &index);
}

bool obj_is(Val v, const Class *c) {
  const Class *k = v.kind == V_OBJECT ? v.object->cls : NULL;
  while (k && k != c) k = k->base;
  return k != NULL;
}

/* ------------------------------------------------------------------ enums */

static bool is_member(const char *name, Val v) {
  return *name != '_' && v.kind != V_FUNC && v.kind != V_OBJECT && v.kind != V_UNSET;
}

static void make_members(Ev *ev, Class *c) {
  int64_t next = 1;
  for (int i = 0; i < map_len(c->env->cells); i++) {
    const char *name = map_key(c->env->cells, i);
    Cell *cell = map_value(c->env->cells, i);
    if (!is_member(name, cell->v)) continue;
    bool is_auto = cell->v.kind == V_METHOD && !strcmp(cell->v.method->fn->name, "auto");
    Val value = is_auto ? v_int(next) : cell->v;
    if (value.kind == V_INT) next = value.i + 1;
    Val member = obj_new(ev, c);
    put_attr(ev, member.object, "name", v_str(ev, name));
    put_attr(ev, member.object, "value", value);
    cell->v = member;
  }
}

Seq *obj_members(Ev *ev, const Class *c) {
  Val out = v_seq(ev, V_LIST, 0);
  for (int i = 0; i < map_len(c->env->cells); i++) {
    const Cell *cell = map_value(c->env->cells, i);
    if (cell->v.kind == V_OBJECT && cell->v.object->cls == c) v_push(ev, out.seq, cell->v);
  }
  return out.seq;
}

static Val member_of(Ev *ev, Class *c, Call *call) {
  if (call->pos.len != 1) ev_fail(ev, DIAG_ARG_MISSING, call->span, c->name, "value");
  Seq *all = obj_members(ev, c);
  for (int i = 0; i < all->len; i++) {
    if (v_equal(ev, *own_attr(all->data[i].object, "value"), call->pos.data[0]))
      return all->data[i];
  }
  ev_fail(ev, DIAG_CONVERT, call->span, v_brief(ev, call->pos.data[0]),
          arena_printf(ev->arena, "a value of %s", c->name));
}

/* ------------------------------------------------------------------ dataclasses */

typedef VEC(const AstStmt *) Fields;

// Annotated names, those of the base first.
static void fields_of(Ev *ev, const Class *c, Fields *out) {
  if (!c) return;
  fields_of(ev, c->base, out);
  for (int i = 0; c->is_data && i < c->body->len; i++) {
    const AstStmt *s = c->body->data[i];
    if (s->kind != AST_STMT_ANN_ASSIGN || s->ann.target->kind != AST_NAME) continue;
    int k = 0;
    while (k < out->len && strcmp(out->data[k]->ann.target->name, s->ann.target->name)) k++;
    if (k < out->len) out->data[k] = s;
    else vec_push(ev->arena, out, s);
  }
}

static const char *field_name(const AstStmt *s) { return s->ann.target->name; }

// field(default=...), field(default_factory=...)
static Val field_default(Ev *ev, Val v, Span at) {
  if (v.kind != V_METHOD || strcmp(v.method->fn->name, "field")) return v;
  const Seq *kept = v.method->self.seq;
  if (kept->data[0].kind != V_UNSET) return kept->data[0];
  if (kept->data[1].kind != V_UNSET) return ev_call_args(ev, kept->data[1], at, 0, NULL);
  return (Val){.kind = V_UNSET};
}

static const char *field_list(Ev *ev, const Fields *f) {
  SB b = {0};
  for (int i = 0; i < f->len; i++) sb_printf(ev, &b, "%s%s", i ? ", " : "", field_name(f->data[i]));
  return b.len ? b.data : "none";
}

static void fill_fields(Ev *ev, Val v, Call *c) {
  const Class *cls = v.object->cls;
  Fields f = {0};
  fields_of(ev, cls, &f);
  if (c->pos.len > f.len) ev_fail(ev, DIAG_ARG_MANY, c->span, cls->name, f.len, c->pos.len);
  for (int k = 0; k < c->kw.len; k++) {
    int i = 0;
    while (i < f.len && strcmp(field_name(f.data[i]), c->kw.data[k].name)) i++;
    if (i == f.len)
      ev_fail(ev, DIAG_ARG_UNKNOWN, c->kw.data[k].at, cls->name, c->kw.data[k].name,
              field_list(ev, &f));
    if (i < c->pos.len)
      ev_fail(ev, DIAG_ARG_TWICE, c->kw.data[k].at, cls->name, c->kw.data[k].name);
    put_attr(ev, v.object, c->kw.data[k].name, c->kw.data[k].v);
  }
  for (int i = 0; i < f.len; i++) {
    const char *name = field_name(f.data[i]);
    if (i < c->pos.len) put_attr(ev, v.object, name, c->pos.data[i]);
    if (own_attr(v.object, name)) continue;
    Val d = field_default(ev, class_attr(cls, name), c->span);
    if (d.kind == V_UNSET) ev_fail(ev, DIAG_ARG_MISSING, c->span, cls->name, name);
    put_attr(ev, v.object, name, d);
  }
  Val post = obj_attr(ev, v, "__post_init__", c->span);
  if (post.kind != V_UNSET) (void)ev_call_args(ev, post, c->span, 0, NULL);
}

static Val keep(Ev *ev, const Builtin *fn, int n, const Val *v) {
  Val kept = v_seq(ev, V_LIST, n);
  for (int i = 0; i < n; i++) v_push(ev, kept.seq, v[i]);
  return v_method(ev, fn, kept);
}

static Val make_data(Ev *ev, Call *c) {
  Val v = c->arg[0];
  if (v.kind == V_CLASS) v.cls->is_data = true;
  return v;
}

Val dc_dataclass(Ev *ev, Call *c) {
  static const Builtin later = {"dataclasses", "dataclass", make_data, ANY, "cls", ""};
  return c->arg[0].kind == V_UNSET ? keep(ev, &later, 0, NULL) : make_data(ev, c);
}

Val dc_field(Ev *ev, Call *c) {
  static const Builtin field = {"dataclasses", "field", dc_field, ANY, "", ""};
  return keep(ev, &field, 2, c->arg);
}

static Fields data_fields(Ev *ev, Call *c) {
  Fields f = {0};
  if (c->arg[0].kind != V_OBJECT || !c->arg[0].object->cls || !c->arg[0].object->cls->is_data)
    ev_fail(ev, DIAG_OPERAND, c->at[0], c->fn->name, v_kind(ev, c->arg[0]),
            "an instance of a dataclass");
  fields_of(ev, c->arg[0].object->cls, &f);
  return f;
}

Val dc_replace(Ev *ev, Call *c) {
  Fields f = data_fields(ev, c);
  Call init = {.span = c->span};
  for (int k = 0; k < c->kw.len; k++) vec_push(ev->arena, &init.kw, c->kw.data[k]);
  for (int i = 0; i < f.len; i++) {
    const char *name = field_name(f.data[i]);
    bool given = false;
    for (int k = 0; k < c->kw.len; k++) given |= !strcmp(c->kw.data[k].name, name);
    if (!given)
      vec_push(ev->arena, &init.kw,
               (struct KwArg){name, *own_attr(c->arg[0].object, name), c->span,
                               c->span});
  }
  return obj_create(ev, (Class *)c->arg[0].object->cls, &init);
}

Val dc_asdict(Ev *ev, Call *c) {
  Fields f = data_fields(ev, c);
  Val d = v_dict(ev, V_DICT);
  for (int i = 0; i < f.len; i++) {
    const char *name = field_name(f.data[i]);
    dict_set(ev, d.dict, v_str(ev, name), *own_attr(c->arg[0].object, name), c->span);
  }
  return d;
}

Val en_auto(Ev *ev, Call *c) {
  static const Builtin later = {"enum", "auto", en_auto, ANY, "", ""};
  return keep(ev, &later, 0, NULL);
}

static Val bind_as(Ev *ev, Call *c) {
  Val f = c->arg[0];
  if (f.kind != V_FUNC) return f;
  f.fn = arena_copy(ev->arena, f.fn, sizeof *f.fn);
  f.fn->binding = !strcmp(c->fn->name, "staticmethod")  ? BIND_STATIC
                  : !strcmp(c->fn->name, "classmethod") ? BIND_CLASS
                                                        : BIND_PROPERTY;
  return f;
}

Val b_bind(Ev *ev, Call *c) { return bind_as(ev, c); }

/* ------------------------------------------------------------------ making them */

Val obj_create(Ev *ev, Class *c, Call *call) {
  if (c->is_enum) return member_of(ev, c, call);
  Val v = obj_new(ev, c);
  Val init = class_attr(c, "__init__");
  if (init.kind == V_FUNC) {
    (void)ev_call(ev, v_bound(ev, init, v), call);
  } else if (c->is_data) {
    fill_fields(ev, v, call);
  } else if (call->pos.len || call->kw.len) {
    ev_fail(ev, DIAG_ARG_MANY, call->span, c->name, 0, call->pos.len + call->kw.len);
  }
  return v;
}

// What the bases make of a class; false when one of them is unknown.
static bool bases(Ev *ev, const AstStmt *s, Class *c) {
  for (int i = 0; i < s->class_.bases.len; i++) {
    Val b = ev_expr(ev, s->class_.bases.data[i].value);
    if (b.kind == V_CLASS && !c->base) {
      c->base = b.cls;
      c->is_enum |= b.cls->is_enum;
    } else if (b.kind == V_BUILTIN && !strcmp(b.builtin->module, "enum")) {
      c->is_enum = true;
    } else if (b.kind != V_BUILTIN || strcmp(b.builtin->name, "object")) {
      return false;
    }
  }
  return true;
}

void ev_class(Ev *ev, const AstStmt *s) {
  const char *name = s->class_.name.text;
  Class *c = NEW(ev->arena, Class);
  *c = (Class){.name = name, .body = &s->class_.body, .span = s->class_.name.span};
  Val v = v_opaque(ev, "class %s", name);
  if (bases(ev, s, c)) {
    Env *saved = ev->env;
    c->env = env_new(ev, saved);
    c->env->function = false;
    c->env->is_class = true;
    ev->env = c->env;
    (void)ev_block(ev, c->body);
    ev->env = saved;
    if (c->is_enum) make_members(ev, c);
    v = (Val){.kind = V_CLASS, .cls = c};
    for (int i = s->class_.decorators.len - 1; i >= 0 && v.kind == V_CLASS; i--) {
      const AstExpr *e = s->class_.decorators.data[i];
      v = ev_call_args(ev, ev_expr(ev, e), e->span, 1, &v);
    }
  }
  env_set(ev, name, v, s->span);
}
