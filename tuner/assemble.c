// What the assembler says of candidates, for a ranking without a GPU: nvcc -Xptxas -v, kept beside
// what it made.
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/runtime.h"
#include "tuner/db.h"
#include "tuner/internal.h"
#include "tuner/pool.h"
#include "tuner/search.h"

typedef struct {
  TnCandidate *c;
  TnHash key; // of what the assembler says
  RtPlan plan;
} Item;

static int number_before(const char *line, const char *words) {
  const char *at = strstr(line, words);
  while (at && at > line && at[-1] == ' ') at--;
  while (at && at > line && at[-1] >= '0' && at[-1] <= '9') at--;
  return at ? atoi(at) : -1;
}

static void worst(int *to, int value) {
  if (value > *to) *to = value;
}

void tn_read_ptxas(const char *said, TnAsm *out) {
  *out = (TnAsm){-1, -1, -1, -1};
  for (const char *line = said; line && *line;) {
    const char *end = strchr(line, '\n');
    size_t n = end ? (size_t)(end - line) : strlen(line);
    char one[512];
    if (n >= sizeof one) n = sizeof one - 1;
    memcpy(one, line, n);
    one[n] = 0;
    if (strstr(one, "spill stores")) {
      worst(&out->stack, number_before(one, "bytes stack frame"));
      worst(&out->spills, number_before(one, "bytes spill stores"));
    }
    if (strstr(one, "Used ") && strstr(one, " registers")) {
      worst(&out->registers, number_before(one, "registers"));
      worst(&out->shared, strstr(one, "bytes smem") ? number_before(one, "bytes smem") : 0);
    }
    line = end ? end + 1 : NULL;
  }
}

static char *log_of(Arena *a, const char *path) { return arena_printf(a, "%s.ptxas", path); }

// The model again, which now knows registers and spills.
static void model_again(const TnSpace *s, TnCandidate *c) {
  Arena *a = arena_new();
  TnCandidate copy = *c;
  Buf inputs = {0};
  Job j;
  bool known = tn_compiled_get(s->compiled, &copy);
  if (!known && tn_compile(a, s, &copy, &j)) {
    tn_compiled_inputs(&j, &inputs);
    tn_compiled_put(s->compiled, &copy, buf_str(&inputs));
    copy.model.bound = arena_str(s->arena, copy.model.bound);
    known = true;
  }
  if (known) c->model = copy.model;
  buf_free(&inputs);
  arena_free(a);
}

// What decides about the assembler's words: the code and the assembler.
static TnHash key_of(const TnSpace *s, const TnCandidate *c, const char *nvcc) {
  struct stat st = {0};
  TnKey k;
  stat(nvcc, &st);
  tn_key_begin(&k);
  tn_key_add(&k, "assembled", c->sha, sizeof c->sha);
  tn_key_text(&k, "target", s->target->name);
  tn_key_text(&k, "nvcc", nvcc);
  tn_key_add(&k, "size", &st.st_size, sizeof st.st_size);
  tn_key_add(&k, "time", &st.st_mtim, sizeof st.st_mtim);
  return tn_key_end(&k);
}

static void facts(const TnSpace *s, TnCandidate *c, const TnHash *key, const char *said) {
  tn_read_ptxas(said, &c->as);
  if (c->as.registers >= 0) tn_db_put(s->db, key, (const char *)&c->as, sizeof c->as);
  if (c->as.registers >= 0) model_again(s, c);
}

const char *tn_error_of(Arena *a, const Buf *said) {
  enum { MOST = 300 };
  const char *text = buf_str(said), *at = strstr(text, "error");
  while (at && at > text && at[-1] != '\n') at--;
  if (!at) at = said->len > MOST ? text + said->len - MOST : text;
  size_t n = strcspn(at, "\n");
  return tn_plain(a, arena_strn(a, at, n < MOST ? n : MOST));
}

static void failed(Arena *a, TnCandidate *c, const char *why, const Buf *said) {
  const char *error = said ? tn_error_of(a, said) : "";
  c->state = TN_BUILD_FAILED;
  c->reason = arena_printf(a, "nvcc: %s%s%s", why, *error ? ": " : "", error);
}

static void finish(TnSpace *s, Item *i, TnJobResult *r) {
  Buf err = {0}, end = {0};
  bool good = r->end == TN_EXITED && !r->code;
  tn_end_text(r->end, r->code, tn_limit(s), &end);
  if (rt_build_done(s->arena, &i->plan, good, &err) == RT_OK && good) {
    (void)file_write(log_of(s->arena, i->plan.path), buf_str(&r->said), r->said.len);
    facts(s, i->c, &i->key, buf_str(&r->said));
  } else {
    failed(s->arena, i->c, good ? buf_str(&err) : buf_str(&end), &r->said);
  }
  buf_free(&err);
  buf_free(&end);
  buf_free(&r->said);
}

static bool recall(TnSpace *s, Item *i) {
  Buf b = {0};
  bool found = tn_db_get(s->db, &i->key, &b) && b.len == sizeof i->c->as;
  if (found) memcpy(&i->c->as, b.data, b.len);
  buf_free(&b);
  if (found) model_again(s, i->c);
  return found;
}

// Queues it, or answers at once from the cache. False when there is no nvcc.
static bool begin(TnSpace *s, TnPool *pool, Item *i, int tag, bool *queued, Buf *err) {
  static const char *const flags[] = {"-Xptxas", "-v", NULL};
  TnCandidate *c = i->c;
  *queued = false;
  const char *nvcc = rt_nvcc(s->arena, err);
  if (!nvcc) return false;
  if (c->as.registers >= 0) return true;
  i->key = key_of(s, c, nvcc);
  if (recall(s, i)) return true;
  Buf why = {0};
  if (!tn_need_text(s, c, &why)) failed(s->arena, c, buf_str(&why), NULL);
  buf_free(&why);
  if (!c->text) return true;
  RtBuild b = {.name = c->symbol,
               .text = c->text,
               .len = c->len,
               .arch = s->target->name,
               .kind = RT_CUBIN,
               .flags = flags};
  if (rt_build_plan(s->arena, &b, &i->plan, err) != RT_OK) return false;
  if (i->plan.path) {
    size_t n;
    const char *said = file_read(s->arena, log_of(s->arena, i->plan.path), &n);
    if (said) facts(s, c, &i->key, said);
    return true;
  }
  TnCommand command = {.argv = i->plan.argv,
                       .folder = i->plan.folder,
                       .timeout = tn_limit(s),
                       .file_limit = TN_FILE_LIMIT};
  tn_pool_add(pool, &command, tag);
  return *queued = true;
}

// The draft of a build that did not end.
static void drop(const TnSpace *s, Item *i) {
  Buf none = {0};
  if (i->plan.folder && !i->plan.path) rt_build_done(s->arena, &i->plan, false, &none);
  buf_free(&none);
}

int tn_assemble(TnSpace *s, const int *order, int n, void (*progress)(void *, int, int),
                void *ctx) {
  Item *items = NEWN(s->arena, Item, n + 1);
  TnPool *pool = tn_pool_new(&(TnPoolOptions){.jobs = s->options->tune.jobs});
  Buf err = {0};
  int done = 0, status = EXIT_OK;
  for (int i = 0; i < n && !status; i++) {
    bool queued;
    items[i].c = &s->all.data[order[i]];
    if (!begin(s, pool, &items[i], i, &queued, &err)) status = EXIT_MACHINE;
    else if (!queued) done++;
  }
  if (status) fprintf(stderr, "tlc: %s\n", buf_str(&err));
  while (!status && done < n && !tn_interrupted) {
    TnJobResult r;
    progress(ctx, done, n);
    while (tn_pool_take(pool, &r)) {
      finish(s, &items[r.tag], &r);
      done++;
    }
    if (done < n) (void)tn_pool_wait(pool, NULL, 0, 1000);
  }
  if (!status && !tn_interrupted) progress(ctx, n, n);
  tn_pool_free(pool);
  for (int i = 0; tn_interrupted && i < n; i++) drop(s, &items[i]);
  buf_free(&err);
  return status;
}
