// --space-flags: options of the compiler that candidates are crossed with.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

enum { MOST_SETS = 10000 };

static NORETURN void usage(const char *why) {
  fprintf(stderr, "tlc: --space-flags: %s\n", why);
  exit(EXIT_USAGE);
}

static const OptFlag *find(Arena *a, const char *name, Buf *why) {
  VEC(const char *) names = {0};
  for (const OptFlag *f = opt_flags; f->name; f++) {
    if (!strcmp(f->name, name)) return f;
    vec_push(a, &names, f->name);
  }
  buf_printf(why, "'%s' is none of", name);
  for (int i = 0; i < names.len; i++) buf_printf(why, "%s %s", i ? "," : "", names.data[i]);
  buf_puts(why, tn_near(a, name, names.data, names.len));
  return NULL;
}

bool tn_check_flag(Arena *a, const char *name, const char *value, Buf *why) {
  const OptFlag *f = find(a, name, why);
  size_t digits = strspn(value, "0123456789");
  if (!f) return false;
  if (!digits || value[digits] || digits > 9)
    buf_printf(why, "%s=%s: a value is a whole number from 0 to 999999999", name, value);
  else opt_flag_takes(f, strtoull(value, NULL, 10), why);
  return !why->len;
}

// What is tried of a flag without values of its own: both positions of a switch, the values that a
// number's help lists ("2|4|8"), else 2 to 4.
static const char *values_of(Arena *a, const OptFlag *f) {
  if (!*f->value) return "0:1";
  if (!strchr(f->value, '|')) return "2:3:4";
  char *list = arena_str(a, f->value);
  for (char *p = list; (p = strchr(p, '|'));) *p = ':';
  return list;
}

static void cross(Arena *a, TnFlagSets *sets, const OptFlag *f, const char *values) {
  TnFlagSets out = {0};
  Buf why = {0};
  tn_check_list(a, "--space-flags", values, ':');
  for (int i = 0; i < sets->len; i++) {
    const char *rest = values, *value;
    while ((value = tn_next_value(a, &rest, ':'))) {
      if (!tn_check_flag(a, f->name, value, &why)) usage(buf_str(&why));
      TnBindings one = {0};
      for (int k = 0; k < sets->data[i].len; k++) vec_push(a, &one, sets->data[i].data[k]);
      vec_push(a, &one, (EvBinding){f->name, value});
      vec_push(a, &out, one);
      if (out.len > MOST_SETS)
        usage(arena_printf(a, "more than %d combinations of flags", MOST_SETS));
    }
  }
  *sets = out;
}

TnFlagSets tn_flag_sets(Arena *a, const Options *o) {
  TnFlagSets sets = {0};
  Map *told = map_new(a);
  vec_push(a, &sets, (TnBindings){0});
  const char *rest = o->tune.flags, *item;
  if (rest) tn_check_list(a, "--space-flags", rest, ',');
  while (rest && (item = tn_next_value(a, &rest, ','))) {
    const char *eq = strchr(item, '=');
    const char *name = eq ? arena_strn(a, item, (size_t)(eq - item)) : item;
    Buf why = {0};
    const OptFlag *f = find(a, name, &why);
    if (!f) usage(buf_str(&why));
    if (map_has(told, name)) usage(arena_printf(a, "'%s' is there twice", name));
    map_set(told, name, (void *)(uintptr_t)name);
    if (!map_has(o->flags, name)) cross(a, &sets, f, eq ? eq + 1 : values_of(a, f));
  }
  return sets;
}
