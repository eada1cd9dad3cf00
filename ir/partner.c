// The partner of an atom, kept while nothing is pushed or popped: searches ask for the same ones at
// every step. An answer is taken again only where it would be computed to the same, at the same
// cost: what the budget or the depth cut short is not kept, nor what found bounds of atoms that
// were not at hand yet, and would be by now.
// SPDX-License-Identifier: MIT
#include "ir/facts.h"

static bool compute(Facts *f, const Atom *a, Aff *out) {
  if (a->kind == AT_FDIV) return aff_floormod(f, out, a->inner, a->d);
  if (a->kind == AT_MOD) return aff_floordiv(f, out, a->inner, a->d);
  bool simplifying = f->simplifying;
  f->simplifying = false;
  bool known = to_aff(f, a->expr, out);
  f->simplifying = simplifying;
  return known;
}

static bool usable(const Facts *f, const Partner *p) {
  return p->version == f->version && p->simplifying == f->simplifying &&
         p->dividing == f->dividing && p->nest >= f->nest &&
         (!f->searching || p->steps < f->steps);
}

static void keep(Facts *f, Partner *p, const Aff *x) {
  if (!p->aff || p->room < x->n) {
    p->room = x->n < 4 ? 4 : x->n;
    p->aff = arena_alloc(f->arena, offsetof(Aff, t) + sizeof *x->t * (size_t)p->room);
  }
  aff_copy(p->aff, x);
}

bool atom_partner(Facts *f, int atom, Aff *out) {
  Atom *a = atom_at(f, atom);
  if (!a->partner) a->partner = NEWN(f->arena, Partner, 2);
  Partner *p = &a->partner[f->searching];
  if (usable(f, p)) {
    if (f->searching) f->steps -= p->steps;
    if (p->good) aff_copy(out, p->aff);
    return p->good;
  }
  uint32_t version = f->version, starved = f->starved, sunk = f->sunk, missed = f->missed;
  int steps = f->steps;
  Aff r;
  bool good = compute(f, a, &r);
  bool whole = (starved == f->starved || !f->searching) && sunk == f->sunk && missed == f->missed;
  if (whole && version == f->version) {
    if (good) keep(f, p, &r);
    p->version = version;
    p->steps = steps - f->steps;
    p->nest = f->nest;
    p->good = good;
    p->simplifying = f->simplifying;
    p->dividing = f->dividing;
  }
  if (good) aff_copy(out, &r);
  return good;
}
