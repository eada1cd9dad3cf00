// The inside of Facts, shared by the files of the affine module: aff.c, divmod.c, partner.c,
// to_aff.c, bounds.c, facts.c, recall.c, prove.c, simplify.c. An Aff is an exact integer sum over
// interned atoms; it never holds an overflowed number: operations that would overflow report
// failure, and callers then know nothing.
// SPDX-License-Identifier: MIT
#ifndef TLC_FACTS_H
#define TLC_FACTS_H

#include "ir/internal.h"

enum { AFF_MAX = 20, PROD_MAX = 4 };

typedef struct {
  int atom;
  int64_t coeff; // not 0
} Term;

typedef struct {
  int n;
  int64_t c;
  Term t[AFF_MAX]; // by rising atom number
} Aff;

typedef enum {
  AT_VAR,
  AT_FDIV,   // floor(inner / d), d > 1
  AT_MOD,    // inner mod d, in [0, d)
  AT_MIN,    // of inner and inner2
  AT_MAX,
  AT_SELECT, // cond ? inner : inner2
  AT_PROD,   // product of atoms that are no AT_PROD
  AT_OTHER,  // any other integer expression
} AtomKind;

// A fact times the other factors of a product of the atom, kept: searches ask again and again.
typedef struct Multiple Multiple;
struct Multiple {
  int product;
  Aff *aff; // NULL: it does not fit
  Multiple *next;
};

// Facts about an atom: places in the stack, newest first.
typedef struct Mention Mention;
struct Mention {
  int fact;
  Mention *older;
  Multiple *multiples;
};

// An atom's partner (partner.c), as computed last.
typedef struct {
  Aff *aff;
  int room; // terms that `aff` can hold
  uint32_t version;
  int steps, nest; // what it cost, and how deep conversions were
  bool good, simplifying, dividing;
} Partner;

typedef struct {
  AtomKind kind;
  Expr *expr; // AT_VAR, AT_OTHER; else built on demand
  Expr *cond;
  Aff *inner, *inner2;
  int64_t d;
  int nfactors, factor[PROD_MAX]; // rising
  int64_t vlo, vhi; // AT_VAR: its pushed range
  int64_t lo, hi;   // cached bounds, good at `version`
  Aff *let;        // AT_VAR: its value, while a let of it is pushed
  Mention *facts;  // GE, EQ, NE and CONG ones with the atom among their terms
  uint32_t version;
  bool busy;
  Partner *partner; // outside of searches, and inside
  int64_t least, most; // AT_VAR: what facts_bounds said at `asked`
  uint32_t asked;
  uint64_t hash;
  int next; // in its bucket
} Atom;

typedef enum {
  FACT_RANGE, // saved range and let of an atom
  FACT_GE,    // aff >= 0
  FACT_EQ,    // aff == 0
  FACT_NE,    // aff != 0
  FACT_CONG,  // aff % d == 0
  FACT_RAW,   // expr is true
  FACT_LET,   // expr's variable has the boolean value raw
} FactKind;

typedef struct {
  FactKind kind;
  int atom;
  int64_t lo, hi, d;
  Aff *aff; // RANGE: the saved let
  Expr *expr, *raw;
  int state; // of Facts, before the push
  uint32_t version;
} FactEntry;

// A call of facts_push_*.
typedef struct {
  enum { PUSH_COND, PUSH_LOOP, PUSH_LET } kind;
  Var *var;
  Expr *x, *y;
  int mark;      // the stack's length before
  uint64_t hash; // 0: not to be recalled
} Push;

typedef struct Recall Recall;

enum { BUCKETS = 512, RECALL_BUCKETS = 256 };

struct Facts {
  Arena *arena;
  VEC(FactEntry) stack;
  VEC(Atom *) atoms;
  int bucket[BUCKETS]; // atom number + 1
  uint32_t version;    // another one with every push; a pop brings back the one before
  uint32_t versions;   // the last one given
  int state, states;   // a number for the stack's entries, -1: none; the last one given
  Recall *recall[RECALL_BUCKETS];
  int steps;        // what is left of the search budget
  bool searching;   // a search is under way: inner ones share its budget
  bool dividing;    // the parts of an atom are converted to find what divides it
  int nest;         // depth of conversions in progress
  // Times that an answer was cut short by the budget, by the depth; that bounds were not at hand.
  uint32_t starved, sunk, missed;
  bool simplifying; // lets and bit operations stay as they are written
};

static inline Atom *atom_at(Facts *f, int atom) { return f->atoms.data[atom]; }

#define NO_LO INT64_MIN
#define NO_HI INT64_MAX

/* facts.c */

// Neither a search nor a conversion is under way: answers do not depend on how far it is.
static inline bool facts_idle(const Facts *f) {
  return !f->searching && !f->dividing && !f->nest;
}

void facts_put(Facts *f, FactEntry e); // on top of the stack
void facts_bind(Facts *f, int atom, int64_t lo, int64_t hi, Aff *let);

/* recall.c */

bool recall_push(Facts *f, Push *p);       // true: was made before, and has been put back
void recall_keep(Facts *f, const Push *p); // after the push that recall_push did not know

/* aff.c: false (nothing stored) on overflow or too many terms */

// Inline, and without clearing the unused terms: they are made by the million.
static inline Aff aff_const(int64_t c) {
  Aff x;
  x.n = 0;
  x.c = c;
  return x;
}

static inline Aff aff_atom(int atom) {
  Aff x;
  x.n = 1;
  x.c = 0;
  x.t[0] = (Term){atom, 1};
  return x;
}

// Kept Affs are cut short: never copy one with `=`.
static inline void aff_copy(Aff *to, const Aff *from) {
  to->n = from->n;
  to->c = from->c;
  for (int i = 0; i < from->n; i++) to->t[i] = from->t[i];
}

bool aff_add(Aff *x, const Aff *y, int64_t scale); // x += y * scale
bool aff_scale(Aff *x, int64_t k);
bool aff_sub(Aff *out, const Aff *x, const Aff *y);
bool aff_equal(const Aff *x, const Aff *y);
int64_t aff_coeff(const Aff *x, int atom);
int64_t aff_gcd(const Aff *x); // of the coefficients without the constant; 0 when there are none
Aff *aff_keep(Facts *f, const Aff *x);
int atom_intern(Facts *f, const Atom *key); // by everything but bounds
int atom_expr(Facts *f, Expr *x);           // AT_VAR or AT_OTHER
bool aff_mul(Facts *f, Aff *out, const Aff *x, const Aff *y);
Expr *aff_expr(Facts *f, const Aff *x); // of index type
int64_t floor_div64(int64_t a, int64_t b); // b > 0
int64_t gcd64(int64_t a, int64_t b);       // of magnitudes; gcd(0, x) = |x|

/* divmod.c */

bool aff_floordiv(Facts *f, Aff *out, const Aff *x, int64_t d); // d > 0
bool aff_floormod(Facts *f, Aff *out, const Aff *x, int64_t d);
bool aff_recombine(Facts *f, Aff *x); // (e // d) * d + e % d is e
int64_t aff_divisor(Facts *f, const Aff *x, int depth);
// A power of two that divides a bitwise expression; 0 for the constant 0, 1 where none is known.
int64_t expr_divisor(Facts *f, Expr *x, int depth);

/* partner.c */

// What completes an atom: of a quotient the remainder, of a remainder the quotient, of another
// expression the sum that it is.
bool atom_partner(Facts *f, int atom, Aff *out);

/* to_aff.c */

bool to_aff(Facts *f, Expr *x, Aff *out); // of an integer (not uint64) expression's value
void type_range(DType t, int64_t *lo, int64_t *hi);
bool has_load(Expr *x);

/* bounds.c */

void atom_bounds(Facts *f, int atom, int64_t *lo, int64_t *hi);
int64_t aff_lower(Facts *f, const Aff *x, int64_t goal, int depth); // NO_LO: none known
int64_t aff_upper(Facts *f, const Aff *x, int depth);               // NO_HI: none known
bool aff_expand(Facts *f, Aff *x); // pushed lets replaced by their values
void expr_bounds(Facts *f, Expr *x, int64_t *lo, int64_t *hi);
// What follows from how an atom is made. The i-th of them: FACT_GE or FACT_EQ; false past the end.
bool atom_fact(Facts *f, int atom, int i, FactKind *kind, Aff *out);

/* prove.c */

bool disprove(Facts *f, Expr *cond);

/* simplify.c */

// A part of a sum that is no sum itself, its own parts simplified.
Expr *facts_simplify_leaf(Facts *f, Expr *x);

#endif
