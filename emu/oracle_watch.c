// Iterations of a parallel loop that disturb one another: by element, which iteration touched it in
// this run of the loop. Only buffers are watched whose elements iterations do not provably keep
// apart (ir/iterations.h), and only in their loops.
// SPDX-License-Identifier: MIT
#include <string.h>

#include "emu/oracle.h"
#include "ir/iterations.h"

enum { SEVERAL = -1, INNER = 1 << 12 };

struct Watch {
  uint64_t run;           // of the loop that the rest speaks of
  int64_t writer, reader; // iteration + 1, SEVERAL, or 0: none
};

static void note_written(void *ctx, Stmt *s) {
  BufferList *out = ctx;
  if (s->kind != ST_STORE) return;
  Buffer *b = s->u.store.buf;
  bool own = b->scope != SC_FRAGMENT && b->scope != SC_SHARED && b->scope != SC_GLOBAL;
  for (int i = 0; i < out->all.len; i++) own |= out->all.data[i] == b;
  if (!own) vec_push(out->arena, &out->all, b);
}

void oracle_compile_watch(Oracle *o, OStmt *d, const Stmt *loop) {
  Meeting m;
  Arena *scratch = arena_new();
  BufferList list = {.arena = scratch};
  st_walk(loop->u.loop.body, note_written, &list);
  d->watched = NEWN(o->c.arena, Mem *, list.all.len + 1);
  for (int i = 0; i < list.all.len; i++) {
    Buffer *b = list.all.data[i];
    if (iterations_of(scratch, loop, b, &m) == ITERATIONS_APART) continue;
    d->watched[d->nwatched++] = &o->mem[emu_buffer(&o->c, b)];
  }
  arena_free(scratch);
}

void watch_begin(Oracle *o, const OStmt *s, int64_t total) {
  o->runs += s->nwatched > 0;
  o->total = total;
  o->iteration = o->inner = 0;
  for (int i = 0; i < s->nwatched; i++) {
    Mem *m = s->watched[i];
    if (m->watch_room < m->elems) {
      m->watch_of = NEWN(o->c.arena, Watch, m->elems);
      m->watch_room = m->elems;
    }
    m->watch = m->watch_of;
  }
}

void watch_end(const OStmt *s) {
  for (int i = 0; i < s->nwatched; i++) s->watched[i]->watch = NULL;
}

int64_t watch_inner(const Oracle *o, int64_t it) { return o->inner * INNER + it; }

// The iteration of a lane; of a value that is one for all lanes: several.
static int64_t iteration_of(const Oracle *o, int lane, int n) {
  if (n == 1 && o->total > 1) return SEVERAL;
  return (o->iteration + lane) * INNER * INNER + o->inner + 1;
}

static Watch *watch_at(const Oracle *o, const Mem *m, int64_t at) {
  Watch *w = &m->watch[at];
  if (w->run != o->runs) *w = (Watch){.run = o->runs};
  return w;
}

static bool other(int64_t seen, int64_t now) { return seen && (seen != now || now == SEVERAL); }

static void report(Oracle *o, const void *key, Span span, const char *does, const Mem *m,
                   int64_t at, const char *did) {
  EMU_FAIL(&o->m, key, DIAG_EMU_ITERATIONS, span, does, m->buf->name, (long long)at, did);
}

void watch_read(Oracle *o, const Mem *m, int64_t at, int lane, int n, const Node *x) {
  Watch *w = watch_at(o, m, at);
  int64_t now = iteration_of(o, lane, n);
  if (other(w->writer, now)) report(o, x, x->span, "reads", m, at, "which another one writes");
  w->reader = other(w->reader, now) ? SEVERAL : now;
}

void watch_write(Oracle *o, const OStmt *s, int64_t at, int lane, int n, Val v) {
  Watch *w = watch_at(o, s->mem, at);
  int64_t now = iteration_of(o, lane, n);
  Val old;
  mem_get(s->mem, at, 1, 1, &old, NULL);
  if (other(w->reader, now)) report(o, s, s->span, "writes", s->mem, at, "which another one reads");
  if (other(w->writer, now) && memcmp(&old, &v, sizeof v))
    report(o, s, s->span, "writes", s->mem, at, "to which another one gives another value");
  w->writer = now;
}
