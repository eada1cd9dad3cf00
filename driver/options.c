// The command line: one table of options, one help text.
// SPDX-License-Identifier: MIT
#include "driver/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  bool takes_value;
  void (*set)(Options *o, const char *value);
  const char *value_name, *help;
} Option;

// Splits "NAME=VALUE"; the option's name is for the message.
static Pair pair_of(Options *o, const char *option, const char *text) {
  const char *eq = strchr(text, '=');
  if (!eq || eq == text || !eq[1]) opt_usage("%s wants NAME=VALUE, got '%s'", option, text);
  return (Pair){arena_strn(o->arena, text, (size_t)(eq - text)), arena_str(o->arena, eq + 1)};
}

// "A=1,B=[1,2]": commas inside brackets and quotes do not separate.
static void set_bindings(Options *o, const char *text) {
  for (const char *p = text; *p;) {
    int depth = 0;
    char quote = 0;
    const char *start = p;
    for (; *p && (depth || quote || *p != ','); p++) {
      if (quote) quote = *p == quote ? 0 : quote;
      else if (*p == '"' || *p == '\'') quote = *p;
      else if (strchr("[({", *p)) depth++;
      else if (strchr("])}", *p)) depth--;
    }
    Pair pair = pair_of(o, "-p", arena_strn(o->arena, start, (size_t)(p - start)));
    map_set(o->bindings, pair.key, (void *)(uintptr_t)pair.value);
    if (*p) p++;
  }
}

static uint64_t number(const char *option, const char *text) {
  char *end;
  errno = 0;
  uint64_t v = strtoull(text, &end, 0);
  if (errno || end == text || *end || *text == '-')
    opt_usage("%s wants a whole number of at least 0, got '%s'", option, text);
  return v;
}

static double real(const char *option, const char *text) {
  char *end;
  double v = strtod(text, &end);
  if (end == text || *end || !(v >= 0))
    opt_usage("%s wants a number of at least 0, got '%s'", option, text);
  return v;
}

static int choice(const char *option, const char *text, const char *const *names) {
  Buf all = {0};
  for (int i = 0; names[i]; i++) {
    if (!strcmp(names[i], text)) {
      buf_free(&all);
      return i;
    }
    buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
  }
  const char *near = near_name(text, names);
  if (near) opt_usage("%s: '%s' is none of %s; did you mean '%s'?", option, text, all.data, near);
  opt_usage("%s: '%s' is none of %s", option, text, all.data);
}

static void set_emit(Options *o, const char *v) {
  static const char *const kinds[] = {"cu", "header", "manifest", "tokens", "ast", "tile",
                                      "ir", "ptx",    "cubin",    "exe",    NULL};
  o->emit = (EmitKind)choice("--emit", v, kinds);
}

static void set_device(Options *o, const char *v) {
  static const char *const names[] = {"auto", "emu", "gpu", "oracle", NULL};
  o->device = names[choice("--device", v, names)];
}

static void set_l2(Options *o, const char *v) {
  static const char *const names[] = {"warm", "cold", NULL};
  o->cold_l2 = choice("--l2", v, names) == 1;
}

static void set_line(Options *o, const char *v) {
  static const char *const names[] = {"none", "tl", NULL};
  o->lines = names[choice("--line", v, names)];
}

static void set_diagnostics(Options *o, const char *v) {
  static const char *const names[] = {"text", "json", NULL};
  o->diag_format = choice("--diagnostics", v, names) == 1 ? DIAG_JSON : DIAG_TEXT;
}

static void set_color(Options *o, const char *v) {
  static const char *const names[] = {"auto", "always", "never", NULL};
  o->color = names[choice("--color", v, names)];
}

const OptFlag opt_flags[] = {
#define FLAG(name, value, meaning) {name, value},
#include "passes/flags.def"
#undef FLAG
    {NULL, NULL}};

// A switch is 0 or 1; a number lies in its range ("0..64"); a flag whose values are listed
// ("64|128|256") is one of these, or 0: none.
bool opt_flag_takes(const OptFlag *f, uint64_t value, Buf *why) {
  uint64_t near = 0;
  if (!*f->value && value > 1)
    buf_printf(why, "%s=%llu: a switch is 0 or 1; the nearest is 1", f->name,
               (unsigned long long)value);
  const char *to = strstr(f->value, "..");
  if (to && value > strtoull(to + 2, NULL, 10))
    buf_printf(why, "%s=%llu: it takes %s; the nearest is %s", f->name, (unsigned long long)value,
               f->value, to + 2);
  if (!strchr(f->value, '|')) return !why->len;
  for (const char *p = f->value; *p; p += *p == '|') {
    char *end;
    uint64_t one = strtoull(p, &end, 10), off = one > value ? one - value : value - one;
    if (off < (near > value ? near - value : value - near)) near = one;
    p = end;
  }
  if (near != value)
    buf_printf(why, "%s=%llu: it takes 0 or one of %s; the nearest is %llu", f->name,
               (unsigned long long)value, f->value, (unsigned long long)near);
  return !why->len;
}

bool opt_hint_takes(const char *name, int64_t value, Buf *why) {
  const OptFlag *f = opt_flags;
  while (f->name && strcmp(f->name, name)) f++;
  if (!f->name) die("no flag is called as T.Kernel's %s", name);
  if (value < 0) buf_printf(why, "%s=%lld: the least is 0", name, (long long)value);
  return value >= 0 && opt_flag_takes(f, (uint64_t)value, why);
}

// -fNAME, -fno-NAME, -fNAME=V
static void set_flag(Options *o, const char *text) {
  const char *names[LEN(opt_flags)];
  for (size_t i = 0; i < LEN(opt_flags); i++) names[i] = opt_flags[i].name;
  const char *eq = strchr(text, '=');
  bool off = !strncmp(text, "no-", 3);
  if (!*text || (off && eq)) opt_usage("-f wants NAME, no-NAME or NAME=VALUE, got '-f%s'", text);
  const char *key = off ? text + 3 : text;
  if (eq) key = arena_strn(o->arena, text, (size_t)(eq - text));
  const OptFlag *f = &opt_flags[choice("-f", key, names)];
  uint64_t value = eq ? number(key, eq + 1) : !off;
  if (value > INT32_MAX) opt_usage("-f%s: %s is too large", key, eq + 1);
  Buf why = {0};
  if (!eq && !off && strchr(f->value, '|'))
    opt_usage("-f%s wants one of %s: -f%s=VALUE", key, f->value, key);
  if (!opt_flag_takes(f, value, &why)) opt_usage("-f%s", buf_str(&why));
  map_set(o->flags, key, arena_printf(o->arena, "%llu", (unsigned long long)value));
}

// -d PASS,PASS: names from passes/passes.def.
static void set_dump(Options *o, const char *v) {
  static const char *const names[] = {"all",
#define PASS(fn, name, needs, gives, breaks, claim) name,
#include "passes/passes.def"
#undef PASS
                                      NULL};
  for (const char *s = v; *s;) {
    size_t len = strcspn(s, ",");
    choice("-d", arena_strn(o->arena, s, len), names);
    s += len + (s[len] == ',');
  }
  o->dump = v;
}

static void set_seed(Options *o, const char *v) { o->seed = number("--seed", v); }

static void set_emu_seeds(Options *o, const char *v) {
  o->emu_seeds.len = 0;
  for (const char *s = v;; s++) {
    size_t n = strcspn(s, ",");
    vec_push(o->arena, &o->emu_seeds, number("--emu-seed", arena_strn(o->arena, s, n)));
    s += n;
    if (!*s) break;
  }
}

static void set_rtol(Options *o, const char *v) { o->rtol = real("--rtol", v); }
static void set_atol(Options *o, const char *v) { o->atol = real("--atol", v); }

static void set_max_errors(Options *o, const char *v) {
  uint64_t n = number("--max-errors", v);
  if (n < 1 || n > 1000000) opt_usage("--max-errors wants 1 to 1000000, got '%s'", v);
  o->max_errors = (int)n;
}

static void add_in(Options *o, const char *v) { vec_push(o->arena, &o->in, pair_of(o, "--in", v)); }

static void add_out(Options *o, const char *v) {
  vec_push(o->arena, &o->out, pair_of(o, "--out", v));
}

static void add_expect(Options *o, const char *v) {
  vec_push(o->arena, &o->expect, pair_of(o, "--expect", v));
}

static void add_zero(Options *o, const char *v) { vec_push(o->arena, &o->zero, v); }
static void add_include(Options *o, const char *v) { vec_push(o->arena, &o->include, v); }

static void add_axis(Options *o, const char *v) {
  Pair p = pair_of(o, "--space", v);
  vec_push(o->arena, &o->tune.axes, (EvBinding){p.key, p.value});
}

static int count(const char *option, const char *v) {
  uint64_t n = number(option, v);
  if (n > 1000000) opt_usage("%s wants at most 1000000, got '%s'", option, v);
  return (int)n;
}

static void set_topk(Options *o, const char *v) { o->tune.topk = count("--topk", v); }

static int jobs(const char *option, const char *v) {
  int n = count(option, v);
  if (!n) opt_usage("%s wants at least 1, got '%s'", option, v);
  return n;
}

static void set_jobs(Options *o, const char *v) { o->tune.jobs = jobs("--jobs", v); }
static void set_warmup(Options *o, const char *v) { o->tune.warmup = count("--warmup", v); }
static void set_rep(Options *o, const char *v) {
  o->tune.rep = count("--rep", v);
  if (!o->tune.rep) opt_usage("--rep wants at least 1, got '%s'", v);
}

static void set_rounds(Options *o, const char *v) {
  o->rounds = count("--rounds", v);
  if (!o->rounds) opt_usage("--rounds wants at least 1, got '%s'", v);
}

static void set_finalists(Options *o, const char *v) {
  o->tune.finalists = count("--finalists", v);
  if (o->tune.finalists < 1 || o->tune.finalists > TN_MOST_FINALISTS)
    opt_usage("--finalists wants 1 to %d, got '%s'", TN_MOST_FINALISTS, v);
}

static void set_tune_timeout(Options *o, const char *v) {
  o->tune.timeout = real("--tune-timeout", v);
}
static void set_cache_limit(Options *o, const char *v) {
  o->tune.cache_limit = (int64_t)count("--cache-limit", v) << 20;
  if (!o->tune.cache_limit) opt_usage("--cache-limit wants at least 1, got '%s'", v);
}

static void set_sweep(Options *o, const char *v) {
  const char *before = o->tune.sweep;
  size_t n = strcspn(v, "=");
  if (before && (strcspn(before, "=") != n || strncmp(before, v, n)))
    opt_usage("--sweep %s and --sweep %s: a search sweeps one size", before, v);
  o->tune.sweep = before && v[n] ? arena_printf(o->arena, "%s,%s", before, v + n + 1) : v;
}

#define SETTER(name, member)                                                                       \
  static void name(Options *o, const char *v) { o->member = v; }
#define SWITCH(name, member, value)                                                                \
  static void name(Options *o, const char *v) { o->member = value; }
SETTER(set_output, output)
SETTER(set_entry, entry)
SETTER(set_name, name)
SETTER(set_arch, arch)
SETTER(set_header, header)
SETTER(set_manifest, manifest)
SETTER(set_dep_file, dep_file)
SETTER(set_dep_target, dep_target)
SWITCH(set_run, mode, MODE_RUN)
SWITCH(set_bench, mode, MODE_BENCH)
SWITCH(set_configs, mode, MODE_CONFIGS)
SETTER(set_params, params)
SWITCH(set_survey, mode, MODE_SURVEY)
SWITCH(set_tune, mode, MODE_TUNE)
SWITCH(set_tune_runner, tune.runner, true)
SWITCH(set_strict, tune.strict, true)
SWITCH(set_no_cache, tune.no_cache, true)
SWITCH(set_clear_cache, tune.clear_cache, true)
SETTER(set_save, tune.save)
SETTER(set_report, tune.report)
SETTER(set_tuned, tune.tuned)
SWITCH(set_no_run, tune.no_run, true)
SWITCH(set_roller, tune.roller, true)
SETTER(set_config_file, tune.configs)
SETTER(set_space_flags, tune.flags)
SETTER(set_gpu, tune.figures)
SWITCH(set_json, json, true)
SWITCH(set_integers, integers, true)
SWITCH(set_remarks, remarks, true)
SWITCH(set_debug, debug, true)
SWITCH(set_time, time_passes, true)
SWITCH(set_deps, deps, true)
SWITCH(set_werror, werror, true)

static const Option table[] = {
#define OPTION(name, value, set, value_name, help) {name, value, set, value_name, help},
#include "driver/options.def"
#undef OPTION
};

static void print_help(void) {
  puts("Usage: tlc [OPTIONS] FILE\n"
       "Compile a tile program (.tl, .py or printed IR .tir) to CUDA C++.\n");
  for (size_t i = 0; i < LEN(table); i++) {
    char left[64];
    const Option *t = &table[i];
    if (!t->help) continue; // tlc's own
    snprintf(left, sizeof left, "%s%s%s", t->name, t->value_name ? " " : "",
             t->value_name ? t->value_name : "");
    printf("  %-26s %s\n", left, t->help);
  }
  puts("  -fNAME, -fno-NAME, -fNAME=V  force or forbid a decision (see docs/flags.md)\n"
       "  @FILE                      read more arguments from FILE, one a line\n"
       "  --help, --version\n"
       "\nExit status: 0 done; 1 the program is wrong or a check failed; 2 wrong usage; 3 this\n"
       "machine lacks something; 70 a bug in tlc; 130 a search was interrupted.");
}

static const Option *find_option(const char *arg, const char **value) {
  const char *eq = strchr(arg, '=');
  for (size_t i = 0; i < LEN(table); i++) {
    const Option *t = &table[i];
    size_t n = strlen(t->name);
    if (!strcmp(arg, t->name)) return *value = NULL, t;
    if (t->takes_value && !strncmp(arg, "--", 2) && eq && (size_t)(eq - arg) == n &&
        !strncmp(arg, t->name, n))
      return *value = eq + 1, t;
    bool joined = n == 2 && t->takes_value && arg[1] != '-' && !strncmp(arg, t->name, 2);
    if (joined) return *value = arg + 2, t;
  }
  return NULL;
}

static NORETURN void unknown_option(const char *arg) {
  const char *names[LEN(table) + 3];
  size_t n = 0;
  for (; n < LEN(table); n++) names[n] = table[n].name;
  names[n++] = "--help";
  names[n++] = "--version";
  names[n] = NULL;
  const char *near = near_name(arg, names);
  if (near) opt_usage("unknown option '%s'; did you mean '%s'?", arg, near);
  opt_usage("unknown option '%s'", arg);
}

typedef VEC(const char *) Words;

// Expands @FILE: one argument a line, blank lines and lines starting with '#' skipped.
static void expand(Options *o, Words *words, const char *arg, int depth) {
  if (arg[0] != '@' || !arg[1]) {
    vec_push(o->arena, words, arg);
    return;
  }
  if (depth > 8) opt_usage("argument files nested too deeply at '%s'", arg);
  size_t len;
  char *text = file_read(o->arena, arg + 1, &len);
  if (!text) opt_usage("cannot read argument file '%s': %s", arg + 1, strerror(errno));
  for (char *line = strtok(text, "\r\n"); line;) {
    char *next = strtok(NULL, "\r\n");
    if (*line && *line != '#') vec_push(o->arena, words, line);
    line = next;
  }
}

static const char default_arch[] = "sm_80";

static void defaults(Options *o) {
  o->bindings = map_new(o->arena);
  o->flags = map_new(o->arena);
  o->arch = default_arch;
  o->device = "auto";
  o->color = "auto";
  o->seed = 1;
  o->rtol = o->atol = -1;
  o->tune.topk = o->tune.warmup = o->tune.rep = -1;
}

int opt_parse(Options *o, int argc, char **argv) {
  defaults(o);
  Words words = {0}, given = {0};
  for (int i = 1; i < argc; i++) expand(o, &words, argv[i], 0);
  bool only_files = false;
  for (int i = 0; i < words.len; i++) {
    const char *arg = words.data[i], *value;
    if (only_files || arg[0] != '-' || !arg[1]) {
      if (o->input) opt_usage("one input file at a time: '%s' and '%s'", o->input, arg);
      o->input = arg;
      continue;
    }
    if (!strcmp(arg, "--")) {
      only_files = true;
    } else if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
      print_help();
      return EXIT_OK;
    } else if (!strcmp(arg, "--version")) {
      printf("tlc %s\n", tlc_version);
      return EXIT_OK;
    } else if (!strncmp(arg, "-f", 2)) {
      set_flag(o, arg + 2);
    } else {
      const Option *t = find_option(arg, &value);
      if (!t) unknown_option(arg);
      if (t->takes_value && !value) {
        if (++i >= words.len) opt_usage("%s wants %s", t->name, t->value_name);
        value = words.data[i];
      }
      t->set(o, value);
      vec_push(o->arena, &given, t->name);
    }
  }
  if (!o->input && o->tune.clear_cache) {
    if (tn_clear_cache()) opt_usage("the tuning cache cannot be removed: %s", strerror(errno));
    return EXIT_OK;
  }
  if (!o->input) opt_usage("no input file");
  if (getenv("TLC_JOBS") && o->mode == MODE_TUNE) (void)jobs("TLC_JOBS", getenv("TLC_JOBS"));
  opt_check(o, given.data, given.len);
  // What is measured here is meant for here.
  if (o->mode == MODE_TUNE && !o->tune.no_run && o->arch == default_arch) o->arch = "native";
  return -1;
}
