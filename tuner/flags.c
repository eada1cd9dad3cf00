// --space-flags: options of the compiler that candidates are crossed with.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

// What is tried of a flag without values of its own: both positions of a switch, 2 to 4 of a count.
static const char *values_of(const OptFlag *f) { return *f->value ? "2:3:4" : "0:1"; }

enum { MOST_NAMES = 64 };

static NORETURN void unknown(const char *name) {
  const char *names[MOST_NAMES + 1] = {0};
  fprintf(stderr, "tlc: --space-flags: '%s' is none of", name);
  for (int i = 0; opt_flags[i].name && i < MOST_NAMES; i++) {
    names[i] = opt_flags[i].name;
    fprintf(stderr, "%s %s", i ? "," : "", names[i]);
  }
  const char *near = near_name(name, names);
  fprintf(stderr, near ? "; did you mean '%s'?\n" : "\n", near);
  exit(EXIT_USAGE);
}

static NORETURN void not_a_number(const char *name, const char *value) {
  fprintf(stderr, "tlc: --space-flags: %s=%s: values are whole numbers with ':' between\n", name,
          value);
  exit(EXIT_USAGE);
}

static void check_number(const OptFlag *f, const char *value) {
  size_t digits = strspn(value, "0123456789");
  if (!digits || value[digits] || digits > 9) not_a_number(f->name, value);
  if (*f->value || !strcmp(value, "0") || !strcmp(value, "1")) return;
  fprintf(stderr, "tlc: --space-flags: %s=%s: a switch is 0 or 1\n", f->name, value);
  exit(EXIT_USAGE);
}

static void cross(Arena *a, TnFlagSets *sets, const OptFlag *f, const char *values) {
  TnFlagSets out = {0};
  tn_check_list(a, "--space-flags", values, ':');
  for (int i = 0; i < sets->len; i++) {
    const char *rest = values, *value;
    while ((value = tn_next_value(a, &rest, ':'))) {
      check_number(f, value);
      TnBindings one = {0};
      for (int k = 0; k < sets->data[i].len; k++) vec_push(a, &one, sets->data[i].data[k]);
      vec_push(a, &one, (EvBinding){f->name, value});
      vec_push(a, &out, one);
    }
  }
  *sets = out;
}

TnFlagSets tn_flag_sets(Arena *a, const Options *o) {
  TnFlagSets sets = {0};
  vec_push(a, &sets, (TnBindings){0});
  const char *rest = o->tune.flags, *item;
  while (rest && (item = tn_next_value(a, &rest, ','))) {
    const char *eq = strchr(item, '=');
    const char *name = eq ? arena_strn(a, item, (size_t)(eq - item)) : item;
    const OptFlag *f = opt_flags;
    while (f->name && strcmp(f->name, name)) f++;
    if (!f->name) unknown(name);
    if (!map_has(o->flags, name)) cross(a, &sets, f, eq ? eq + 1 : values_of(f));
  }
  return sets;
}
