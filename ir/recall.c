// Pushes that were made before from the same stack: passes that walk a loop's body again and again
// push the same conditions, whose conversion is the dear part. A state is a number for what is on
// the stack; a push from a state leads to one state, and its entries are put back as they were.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

struct Recall {
  Push push;
  uint64_t hash;
  int from, to;
  int n;
  FactEntry *entry; // of FACT_RANGE: the new range and value
  Recall *next;     // in its bucket
};

static bool same_expr(const Expr *x, const Expr *y) { return !x || !y ? x == y : ex_equal(x, y); }

static uint64_t hash_push(const Facts *f, const Push *p) {
  uint64_t h = hash_mix((uint64_t)f->state * 4 + (uint64_t)p->kind, (uint64_t)(uintptr_t)p->var);
  if (p->x) h = ex_hash(h, p->x);
  return p->y ? ex_hash(h, p->y) : h;
}

// Conversions under way see less of the facts: what they push is not what another push would be.
static bool usable(const Facts *f) { return f->state >= 0 && facts_idle(f); }

static void put_back(Facts *f, const Recall *r) {
  for (int i = 0; i < r->n; i++) {
    FactEntry e = r->entry[i];
    if (e.kind == FACT_RANGE) facts_bind(f, e.atom, e.lo, e.hi, e.aff);
    else facts_put(f, e);
  }
  f->state = r->to;
}

bool recall_push(Facts *f, Push *p) {
  p->mark = f->stack.len;
  p->hash = 0;
  if (!usable(f)) return false;
  p->hash = hash_push(f, p) | 1;
  for (const Recall *r = f->recall[p->hash % RECALL_BUCKETS]; r; r = r->next) {
    const Push *q = &r->push;
    if (r->hash != p->hash || r->from != f->state || q->kind != p->kind || q->var != p->var ||
        !same_expr(q->x, p->x) || !same_expr(q->y, p->y))
      continue;
    put_back(f, r);
    return true;
  }
  return false;
}

void recall_keep(Facts *f, const Push *p) {
  int n = f->stack.len - p->mark;
  if (!p->hash) {
    if (n) f->state = -1;
    return;
  }
  Recall *r = NEW(f->arena, Recall), **head = &f->recall[p->hash % RECALL_BUCKETS];
  *r = (Recall){
      *p, p->hash, f->state, n ? ++f->states : f->state, n, NEWN(f->arena, FactEntry, n), *head};
  for (int i = 0; i < n; i++) {
    r->entry[i] = f->stack.data[p->mark + i];
    if (r->entry[i].kind != FACT_RANGE) continue;
    const Atom *a = atom_at(f, r->entry[i].atom);
    r->entry[i].lo = a->vlo;
    r->entry[i].hi = a->vhi;
    r->entry[i].aff = a->let;
  }
  *head = r;
  f->state = r->to;
}
