// argparse, as far as host code's defaults go: what the program gets without arguments.
// SPDX-License-Identifier: MIT
#include "eval/internal.h"
#include "eval/object.h"

#include "eval/handlers.h"

#include <string.h>

Val ap_parser(Ev *ev, Call *c) {
  Val v = obj_new(ev, NULL);
  v.kind = V_PARSER;
  return v;
}

static const Val *keyword(const Call *c, const char *name) {
  for (int i = 0; i < c->kw.len; i++) {
    if (!strcmp(c->kw.data[i].name, name)) return &c->kw.data[i].v;
  }
  return NULL;
}

// "--block-m" is read as args.block_m.
static const char *attribute(Ev *ev, const Call *c) {
  const Val *dest = keyword(c, "dest");
  if (dest && dest->kind == V_STR) return dest->str->data;
  const char *best = NULL;
  for (int i = 0; i < c->rest->len; i++) {
    if (c->rest->data[i].kind != V_STR) continue;
    const char *s = c->rest->data[i].str->data;
    if (!best || (!strncmp(s, "--", 2) && strncmp(best, "--", 2))) best = s;
  }
  char *name = arena_str(ev->arena, best ? best + strspn(best, "-") : "");
  for (char *p = name; *p; p++) {
    if (*p == '-') *p = '_';
  }
  return name;
}

Val ap_add(Ev *ev, Call *c) {
  const Val *given = keyword(c, "default"), *action = keyword(c, "action"),
            *type = keyword(c, "type");
  const char *act = action && action->kind == V_STR ? action->str->data : "store";
  Val v = given                         ? *given
          : !strcmp(act, "store_true")  ? v_bool(false)
          : !strcmp(act, "store_false") ? v_bool(true)
                                        : v_none();
  if (type && v.kind == V_STR) v = ev_call_args(ev, *type, c->span, 1, &v);
  obj_set(ev, c->self, attribute(ev, c), v, c->span);
  return v_opaque(ev, "argparse.Action");
}

Val ap_defaults(Ev *ev, Call *c) {
  for (int i = 0; i < c->kw.len; i++)
    obj_set(ev, c->self, c->kw.data[i].name, c->kw.data[i].v, c->span);
  return v_none();
}

Val ap_group(Ev *ev, Call *c) { return c->self; }

Val ap_parse(Ev *ev, Call *c) {
  Val v = c->self;
  v.kind = V_OBJECT;
  return v;
}

Val ap_parse_known(Ev *ev, Call *c) { return v_pair(ev, ap_parse(ev, c), v_seq(ev, V_LIST, 0)); }
