// What the compiler said of a candidate, as bytes: for the pipe of a worker process, and for the
// database, by the SHA-256 of all that decides: this very tlc, the options, the candidate, and the
// files that were read or looked for.
// SPDX-License-Identifier: MIT
#include <string.h>
#include <unistd.h>

#include "tuner/db.h"
#include "tuner/internal.h"
#include "tuner/search.h"

/* ------------------------------------------------------------------ bytes */

// Texts follow. Never read by another tlc: the layout is the machine's own.
typedef struct {
  TnState state;
  uint8_t sha[32], rest[32];
  int threads, stages, tile[3], warps[2], panel;
  int64_t smem;
  TnModel model;                        // `bound` follows as a text
  uint32_t reason, code, symbol, bound; // bytes, with the final NUL; 0: NULL
  uint32_t numbers, count;              // bytes of the numbers, behind the texts; how many
} Record;

static uint32_t put_text(Buf *b, const char *s) {
  uint32_t size = s ? (uint32_t)strlen(s) + 1 : 0;
  if (s) buf_add(b, s, size);
  return size;
}

// Seven bits a byte, the last one of a number without the eighth.
static void put_number(Buf *b, uint64_t n) {
  for (; n >= 128; n >>= 7) buf_putc(b, (char)(n | 128));
  buf_putc(b, (char)n);
}

static uint64_t take_number(const char **at, const char *end) {
  uint64_t n = 0;
  for (int shift = 0; *at < end && shift < 64; shift += 7) {
    uint8_t byte = (uint8_t) * (*at)++;
    n |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) break;
  }
  return n;
}

void tn_record_put(const TnCandidate *c, Buf *out) {
  Record r;
  Buf texts = {0};
  memset(&r, 0, sizeof r);
  r.state = c->state;
  memcpy(r.sha, c->sha, sizeof r.sha);
  memcpy(r.rest, c->rest, sizeof r.rest);
  r.threads = c->threads;
  r.stages = c->stages;
  memcpy(r.tile, c->tile, sizeof r.tile);
  memcpy(r.warps, c->warps, sizeof r.warps);
  r.panel = c->panel;
  r.smem = c->smem;
  r.model = c->model;
  r.model.bound = NULL;
  r.reason = put_text(&texts, c->reason);
  r.code = put_text(&texts, c->code);
  r.symbol = put_text(&texts, c->symbol);
  r.bound = put_text(&texts, c->model.bound);
  r.count = (uint32_t)c->nnumbers;
  r.numbers = (uint32_t)texts.len;
  for (int i = 0; i < c->nnumbers; i++) {
    put_number(&texts, (uint64_t)c->numbers[i].value);
    buf_putc(&texts, (char)c->numbers[i].exact);
  }
  r.numbers = (uint32_t)texts.len - r.numbers;
  buf_add(out, (const char *)&r, sizeof r);
  buf_add(out, buf_str(&texts), texts.len);
  buf_free(&texts);
}

static const char *take_text(Arena *a, const char **at, uint32_t n) {
  const char *s = n ? arena_strn(a, *at, n - 1) : NULL;
  *at += n;
  return s;
}

bool tn_record_take(Arena *a, const char *data, size_t n, TnCandidate *c) {
  Record r;
  if (n < sizeof r) return false;
  memcpy(&r, data, sizeof r);
  if (n != sizeof r + r.reason + r.code + r.symbol + r.bound + r.numbers) return false;
  if (r.count > r.numbers) return false;
  const char *texts = data + sizeof r;
  c->state = r.state;
  memcpy(c->sha, r.sha, sizeof c->sha);
  memcpy(c->rest, r.rest, sizeof c->rest);
  c->threads = r.threads;
  c->stages = r.stages;
  memcpy(c->tile, r.tile, sizeof c->tile);
  memcpy(c->warps, r.warps, sizeof c->warps);
  c->panel = r.panel;
  c->smem = r.smem;
  c->model = r.model;
  c->reason = take_text(a, &texts, r.reason);
  c->code = take_text(a, &texts, r.code);
  c->symbol = take_text(a, &texts, r.symbol);
  c->model.bound = take_text(a, &texts, r.bound);
  c->numbers = NEWN(a, TnNumber, r.count + 1);
  c->nnumbers = (int)r.count;
  for (int i = 0; i < c->nnumbers; i++) {
    c->numbers[i].value = (int64_t)take_number(&texts, data + n);
    c->numbers[i].exact = texts < data + n && *texts++;
  }
  return true;
}

/* ------------------------------------------------------------------ what decides */

struct TnCompiled {
  const TnSpace *s;
  TnHash base; // of what all candidates share
  Map *now;    // path -> its hash as text, as the file is now
};

static const char *hash_text(Arena *a, const char *data, size_t n) {
  TnKey k;
  char text[65];
  tn_key_begin(&k);
  tn_key_add(&k, "file", data, n);
  TnHash h = tn_key_end(&k);
  tn_hash_text(&h, text);
  return arena_str(a, text);
}

const char *tn_hash_file(Arena *a, const char *path) {
  size_t n;
  Arena *own = arena_new();
  const char *data = file_read(own, path, &n);
  const char *text = data ? hash_text(a, data, n) : "-";
  arena_free(own);
  return text;
}

static const char *hash_now(TnCompiled *t, const char *path) {
  const char *text = map_get(t->now, path);
  if (text) return text;
  text = tn_hash_file(t->s->arena, path);
  map_set(t->now, arena_str(t->s->arena, path), (void *)(uintptr_t)text);
  return text;
}

// Of the options, those that decide about text or model.
static void add_options(TnKey *k, const Options *o, Arena *a) {
  const char *texts[] = {o->input, o->output, o->entry, o->name, o->lines, o->tune.figures};
  for (size_t i = 0; i < LEN(texts); i++) tn_key_text(k, "option", texts[i]);
  tn_key_add(k, "debug", &o->debug, sizeof o->debug);
  tn_key_add(k, "werror", &o->werror, sizeof o->werror);
  tn_key_text(k, "params", o->params ? tn_hash_file(a, o->params) : NULL);
  tn_key_text(k, "params file", o->params);
  for (int i = 0; i < o->include.len; i++) tn_key_text(k, "-I", o->include.data[i]);
  for (int i = 0; i < o->zero.len; i++) tn_key_text(k, "--zero", o->zero.data[i]);
  for (int i = 0; i < map_len(o->flags); i++) {
    tn_key_text(k, "-f", map_key(o->flags, i));
    tn_key_text(k, "-f", map_value(o->flags, i));
  }
}

TnCompiled *tn_compiled_new(const TnSpace *s) {
  if (!tn_db_works(s->db) || s->source) return NULL;
  const char *own =
      tn_hash_file(s->arena, "/proc/self/exe"); // not the version: that is of releases
  if (!strcmp(own, "-")) return NULL;
  TnCompiled *t = NEW(s->arena, TnCompiled);
  TnKey k;
  *t = (TnCompiled){.s = s, .now = map_new(s->arena)};
  tn_key_begin(&k);
  tn_key_text(&k, "compiled by", own);
  tn_key_text(&k, "target", s->target->name);
  tn_key_text(&k, "entry", s->entry);
  add_options(&k, s->options, s->arena);
  t->base = tn_key_end(&k);
  return t;
}

static TnHash key_of(const TnCompiled *t, const TnCandidate *c) {
  TnKey k;
  tn_key_begin(&k);
  tn_key_add(&k, "base", &t->base, sizeof t->base);
  tn_key_bindings(&k, "size", &c->sizes);
  tn_key_bindings(&k, "parameter", &c->bindings);
  tn_key_bindings(&k, "flag", &c->flags);
  tn_key_add(&k, "assembled", &c->as, sizeof c->as);
  return tn_key_end(&k);
}

/* ------------------------------------------------------------------ inputs */

const Source *tn_source_at(const Job *j, const char *path) {
  for (int i = 1; i <= src_count(j->sources); i++)
    if (!strcmp(src_get(j->sources, (uint32_t)i)->path, path))
      return src_get(j->sources, (uint32_t)i);
  return NULL;
}

// A line of each: its hash, a blank, its path.
void tn_compiled_inputs(const Job *j, Buf *out) {
  for (int i = 0; i < j->read.len; i++) {
    const Source *s = tn_source_at(j, j->read.data[i]);
    if (!s || strchr(s->path, '\n')) {
      out->len = 0;
      return;
    }
    buf_printf(out, "%s %s\n", hash_text(j->arena, s->text, s->len), s->path);
  }
  for (int i = 0; i < j->missed.len; i++) buf_printf(out, "- %s\n", j->missed.data[i]);
}

static bool unchanged(TnCompiled *t, const char *inputs) {
  Arena *a = arena_new();
  bool same = *inputs != 0;
  for (const char *p = inputs; *p && same;) {
    size_t n = strcspn(p, "\n"), hash = strcspn(p, " ");
    if (hash >= n) break;
    const char *now = hash_now(t, arena_strn(a, p + hash + 1, n - hash - 1));
    same = strlen(now) == hash && !memcmp(now, p, hash);
    p += n + (p[n] == '\n');
  }
  arena_free(a);
  return same;
}

/* ------------------------------------------------------------------ the database */

bool tn_compiled_get(TnCompiled *t, TnCandidate *c) {
  Buf b = {0};
  if (!t) return false;
  TnHash key = key_of(t, c);
  size_t n = 0;
  bool ok = tn_db_get(t->s->db, &key, &b);
  if (ok) n = strnlen(b.data, b.len) + 1; // of the inputs
  ok = ok && n <= b.len && unchanged(t, b.data) &&
       tn_record_take(t->s->arena, b.data + n, b.len - n, c);
  buf_free(&b);
  return ok;
}

void tn_compiled_put(TnCompiled *t, const TnCandidate *c, const char *inputs) {
  Buf b = {0};
  // What a diagnostic does not name was the end of a process, or a file that was not there.
  bool kept = c->state == TN_QUEUED || (c->state == TN_PRUNED && c->code);
  if (!t || !kept || !*inputs) return;
  buf_add(&b, inputs, strlen(inputs) + 1);
  tn_record_put(c, &b);
  TnHash key = key_of(t, c);
  tn_db_put(t->s->db, &key, b.data, b.len);
  buf_free(&b);
}
