// The walk: which accesses may have happened since the last barrier, on every path. Loops are taken
// all at once where nothing in them conflicts; else their body is walked again until what may be
// pending at its head stops growing, accesses of earlier iterations being expressed in the current
// one's variable.
// SPDX-License-Identifier: MIT
#include "passes/sync.h"

static void visit(Sync *s, Stmt *x);

/* states */

static bool same_place(const Place *a, const Place *b) {
  if (!ex_equal(a->index, b->index) || a->conds.len != b->conds.len) return false;
  if (a->privates.len != b->privates.len) return false;
  for (int i = 0; i < a->conds.len; i++)
    if (!ex_equal(a->conds.data[i], b->conds.data[i])) return false;
  for (int i = 0; i < a->privates.len; i++)
    if (a->privates.data[i].var != b->privates.data[i].var) return false;
  return true;
}

static bool same(const Pending *a, const Pending *b) {
  return a->mode == b->mode && a->buf == b->buf && a->async == b->async && a->waited == b->waited &&
         a->count == b->count && a->depth == b->depth && a->seen.lo == b->seen.lo &&
         a->seen.hi == b->seen.hi && a->path[a->npath - 1] == b->path[b->npath - 1] &&
         same_place(&a->at, &b->at);
}

// False when an equal entry was there already. Of equal ones the fewest commits count.
static bool add(Sync *s, State *state, Pending *p) {
  for (int i = 0; i < state->len; i++) {
    Pending *q = state->data[i];
    if (!same(p, q)) continue;
    bool grows = p->commits < q->commits;
    if (grows) state->data[i] = p;
    return grows;
  }
  vec_push(s->a, state, p);
  return true;
}

static State copy_state(Sync *s, const State *x) {
  State y = {0};
  for (int i = 0; i < x->len; i++) vec_push(s->a, &y, x->data[i]);
  return y;
}

static bool merge(Sync *s, State *into, const State *x) {
  bool grown = false;
  for (int i = 0; i < x->len; i++) grown = add(s, into, x->data[i]) || grown;
  return grown;
}

// What the walk carries, to come back to.
typedef struct {
  State state;
  int facts, lets, exact, unknown, conds, path;
  Crew crew;
} Snap;

static Snap save(Sync *s) {
  return (Snap){copy_state(s, &s->state), facts_mark(s->facts), s->lets.from.len, s->exact.from.len,
                s->unknown.len,           s->conds.len,         s->path.len,      s->crew};
}

// Forgets the conflict as well.
static void restore(Sync *s, const Snap *to) {
  s->state = copy_state(s, &to->state);
  facts_pop(s->facts, to->facts);
  s->lets.from.len = s->lets.to.len = to->lets;
  s->exact.from.len = s->exact.to.len = to->exact;
  s->unknown.len = to->unknown;
  s->conds.len = to->conds;
  s->path.len = to->path;
  s->crew = to->crew;
  s->loops = 0;
  s->from = s->to = NULL;
  s->resume_block = NULL;
}

static bool flying(const Pending *p) { return p->async && !p->waited; }

static void barrier(Sync *s) {
  State kept = {0};
  for (int i = 0; i < s->state.len; i++)
    if (flying(s->state.data[i])) vec_push(s->a, &kept, s->state.data[i]);
  s->state = kept;
}

// From here on it is the wait that a barrier must follow.
static void arrived(Sync *s, Pending *p) {
  p->waited = true;
  p->path = arena_copy(s->a, s->path.data, sizeof(Stmt *) * (size_t)s->path.len);
  p->npath = p->depth = s->path.len;
}

// A commit (wait < 0) or a wait changes what is in flight.
static void groups(Sync *s, int64_t wait) {
  State next = {0};
  for (int i = 0; i < s->state.len; i++) {
    Pending *p = s->state.data[i];
    if (flying(p) && !p->bulk) {
      p = arena_copy(s->a, p, sizeof *p);
      if (wait < 0) p->commits += p->commits <= s->max_wait; // saturates once any wait covers it
      else if (p->commits > wait) arrived(s, p);
    }
    add(s, &next, p);
  }
  s->state = next;
}

enum { BULK_GROUPS = 8 }; // as many are told apart

// Thread 0's groups of TMA stores: a commit (wait < 0), or a wait until all but the newest `wait`
// have read their tiles.
static void bulk_groups(Sync *s, int64_t wait) {
  State next = {0};
  for (int i = 0; i < s->state.len; i++) {
    Pending *p = s->state.data[i];
    if (flying(p) && p->bulk) {
      p = arena_copy(s->a, p, sizeof *p);
      if (wait < 0) p->commits += p->commits < BULK_GROUPS;
      else if (p->commits > wait) arrived(s, p);
    }
    add(s, &next, p);
  }
  s->state = next;
}

/* places */

static Place place_subst(Sync *s, const Place *p, const Subst *by) {
  Place q = {subst_expr(by, p->index), {0}, {0}};
  for (int i = 0; i < p->conds.len; i++) vec_push(s->a, &q.conds, subst_expr(by, p->conds.data[i]));
  for (int i = 0; i < p->privates.len; i++) {
    Private r = p->privates.data[i];
    vec_push(s->a, &q.privates,
             ((Private){r.var, subst_expr(by, r.min), subst_expr(by, r.extent)}));
  }
  return q;
}

static Var *twin(Sync *s, Var *v) {
  for (int i = 0; i < s->twins.from.len; i++)
    if (s->twins.from.data[i] == v) return s->twins.to.data[i]->u.var;
  Var *t = var_new(s->a, v->name, v->type, v->kind, v->span);
  subst_add(&s->twins, v, ex_var(s->a, t));
  return t;
}

// The current access as one that others will be compared with: another thread, its own iterations.
static Pending *as_pending(Sync *s, const Pending *b) {
  Pending *p = arena_copy(s->a, b, sizeof *b);
  Subst by = {.arena = s->a};
  subst_add(&by, s->kernel->thread, ex_var(s->a, s->other));
  for (int i = 0; i < b->at.privates.len; i++)
    subst_add(&by, b->at.privates.data[i].var, ex_var(s->a, twin(s, b->at.privates.data[i].var)));
  p->at = place_subst(s, &b->at, &by);
  for (int i = 0; i < p->at.privates.len; i++)
    p->at.privates.data[i].var = twin(s, b->at.privates.data[i].var);
  return p;
}

/* leaves */

static void check(Sync *s, const Pending *b) {
  for (int i = 0; i < s->state.len && !s->from; i++) {
    const Pending *a = s->state.data[i];
    Conflict kind = sync_conflict(s, a, b);
    if (kind == CONFLICT_NONE || sync_by_hand(s, a, b)) continue;
    s->from = a;
    s->to = b;
    s->kind = kind;
  }
}

typedef struct {
  Sync *s;
  Stmt *stmt;
  State now;
} Leaf;

static Private expand_private(Sync *s, const Private *p) {
  return (Private){p->var, subst_expr(&s->lets, p->min), subst_expr(&s->lets, p->extent)};
}

static bool stores_in_bulk(OpCode op) { return op == OP_TMA_STORE || op == OP_TMA_REDUCE; }

static void leaf_access(void *ctx, const Access *acc) {
  Leaf *leaf = ctx;
  Sync *s = leaf->s;
  Buffer *buf = acc->region.buf;
  if (buf->scope != SC_SHARED && buf->scope != SC_GLOBAL) return;
  // Nobody else touches a tensor that TMA writes (plan_tma_store_why).
  OpCode op = leaf->stmt->kind == ST_OP ? leaf->stmt->u.op.op : OP_SYNC;
  bool bulk = stores_in_bulk(op), warp = op == OP_LDMATRIX || op == OP_STMATRIX;
  if (bulk && buf->scope == SC_GLOBAL) return;
  Pending *b = NEW(s->a, Pending);
  *b = (Pending){acc->mode, acc->async, bulk, warp, .buf = buf, .count = 1, .span = acc->span};
  b->crew = s->crew;
  if (acc->region.n != 1 || !ex_const(acc->region.extent[0], &b->count))
    die("sync: an access of %s is not one flat run", buf->name);
  b->at.index = subst_expr(&s->lets, acc->region.min[0]);
  for (int i = 0; i < s->conds.len; i++) vec_push(s->a, &b->at.conds, s->conds.data[i]);
  if (acc->mode == ACC_READ) sync_load_guards(s, leaf->stmt, acc->region.min, &b->at.conds);
  for (int i = 0; i < s->around.len; i++)
    vec_push(s->a, &b->at.privates, expand_private(s, &s->around.data[i]));
  b->npath = b->depth = s->path.len;
  b->path = arena_copy(s->a, s->path.data, sizeof(Stmt *) * (size_t)s->path.len);
  vec_push(s->a, &leaf->now, b);
}

// A store to the place that its value reads: if two threads meet there, their stores do, which is
// the program's own race.
static void check_within(Sync *s, const State *now) {
  for (int i = 0; i < now->len && !s->from; i++) {
    for (int j = i + 1; j < now->len && !s->from; j++) {
      const Pending *p = now->data[i], *q = now->data[j];
      bool own = q->mode == ACC_WRITE && p->buf == q->buf && ex_equal(p->at.index, q->at.index);
      if (p->async || q->async || own) continue;
      if (p->mode != ACC_READ || q->mode == ACC_READ) continue;
      const Pending *a = as_pending(s, p);
      if (sync_conflict(s, a, q) == CONFLICT_NONE) continue;
      s->from = a;
      s->to = q;
      s->kind = CONFLICT_BARRIER;
    }
  }
}

static void visit_accesses(Sync *s, Stmt *x) {
  Leaf leaf = {s, x, {0}};
  st_accesses(s->a, x, leaf_access, &leaf);
  if (s->collect) {
    for (int i = 0; i < leaf.now.len; i++) vec_push(s->a, s->collect, leaf.now.data[i]);
    return;
  }
  for (int i = 0; i < leaf.now.len && !s->from; i++) check(s, leaf.now.data[i]);
  check_within(s, &leaf.now);
  for (int i = 0; i < leaf.now.len && !s->from; i++)
    add(s, &s->state, as_pending(s, leaf.now.data[i]));
}

/* loops */

static void note_special(void *ctx, Stmt *x) {
  if (x->kind != ST_OP) return;
  bool bulk = x->u.op.op == OP_BULK_WAIT || x->u.op.op == OP_BULK_COMMIT;
  if (op_info(x->u.op.op)->sync > SYNC_WARP || bulk) *(bool *)ctx = true;
}

// All accesses of a loop at once: false when some pair of them conflicts between iterations.
static bool gather(Sync *s, Stmt *x, State *all) {
  bool special = false;
  st_walk(x, note_special, &special);
  if (special) return false;
  State *outer = s->collect;
  s->collect = all;
  int n = s->around.len;
  Private self = {x->u.loop.var[0], x->u.loop.min[0], x->u.loop.extent[0]};
  vec_push(s->a, &s->around, self);
  visit(s, x->u.loop.body);
  s->around.len = n;
  s->collect = outer;
  if (outer) return true; // an outer loop is being gathered: it compares
  for (int i = 0; i < all->len; i++) {
    Pending *a = as_pending(s, all->data[i]);
    for (int j = 0; j < all->len; j++) {
      // Where any thread conflicts, one access does with itself: what counts is another place.
      bool own = i == j && (a->async || a->warp) && a->mode != ACC_READ;
      if (own && sync_repeats(s, all->data[i])) return false;
      if (!own && sync_conflict(s, a, all->data[j]) != CONFLICT_NONE) return false;
    }
  }
  return true;
}

static bool mentions(const Place *p, const Var *v) {
  if (ex_uses(p->index, v)) return true;
  for (int i = 0; i < p->conds.len; i++)
    if (ex_uses(p->conds.data[i], v)) return true;
  for (int i = 0; i < p->privates.len; i++)
    if (ex_uses(p->privates.data[i].min, v) || ex_uses(p->privates.data[i].extent, v)) return true;
  return false;
}

// Moves p one iteration of the loop into the past; few steps are told apart, beyond them (`leave`
// too) the access stands for any iteration.
static void shift(Sync *s, const Stmt *loop, Pending *p, bool leave) {
  Var *k = loop->u.loop.var[0];
  if (p->loop != loop) {
    if (!mentions(&p->at, k)) return;
    p->loop = loop;
    p->first = p->at;
    p->shifts = 0;
  }
  p->shifts++;
  Subst by = {.arena = s->a};
  bool any = leave || p->shifts > (p->async ? s->max_wait + 2 : 1);
  if (any) subst_add(&by, k, ex_var(s->a, twin(s, k)));
  else subst_add(&by, k, ex_sub(s->a, ex_var(s->a, k), ex_index(s->a, p->shifts)));
  p->at = place_subst(s, &p->first, &by);
  if (any && ex_uses(p->first.index, k)) {
    Private r = {twin(s, k), subst_expr(&s->lets, loop->u.loop.min[0]),
                 subst_expr(&s->lets, loop->u.loop.extent[0])};
    vec_push(s->a, &p->at.privates, r);
  }
  if (leave) p->loop = NULL;
}

// Accesses pending at the end of an iteration as the next one, or what follows the loop, sees them;
// what a persistent block's tiles do to tensors, blocks did in no order.
static void cross(Sync *s, const Stmt *loop, const State *out, State *into, bool leave) {
  int kept = s->path.len + 1; // path entries up to the loop's body
  for (int i = 0, tiles = !leave && persist_walks(s->kernel, loop); i < out->len; i++) {
    if (tiles && out->data[i]->buf->scope == SC_GLOBAL && !flying(out->data[i])) continue;
    Pending *p = arena_copy(s->a, out->data[i], sizeof *p);
    shift(s, loop, p, leave);
    if (!leave && p->depth > kept) p->depth = kept;
    add(s, into, p);
  }
}

static int in_flight(const State *x) {
  int n = 0;
  for (int i = 0; i < x->len; i++) n += flying(x->data[i]) && !x->data[i]->bulk;
  return n;
}

// Iterations 0, 1, ... `exact - 1` one by one: what a prologue issued is told apart from the ring.
// True when the loop has no more.
static bool exact_passes(Sync *s, Stmt *x, int exact, State *exits) {
  int64_t trips;
  bool known = ex_const(x->u.loop.extent[0], &trips) && !x->u.loop.cond;
  for (int i = 0; i < exact && !s->from; i++) {
    Expr *at = ex_add(s->a, subst_expr(&s->lets, x->u.loop.min[0]), ex_index(s->a, i));
    subst_add(&s->exact, x->u.loop.var[0], at);
    visit(s, x->u.loop.body);
    s->exact.from.len--;
    s->exact.to.len--;
    if (!known || i == trips - 1) merge(s, exits, &s->state);
    if (known && i == trips - 1) return true;
    State next = {0};
    cross(s, x, &s->state, &next, false);
    s->state = next;
  }
  return false;
}

static void later_passes(Sync *s, Stmt *x, State *exits) {
  State head = copy_state(s, &s->state);
  for (int pass = 0; !s->from; pass++) {
    if (pass > 100) die("sync: no fixpoint");
    s->state = copy_state(s, &head);
    visit(s, x->u.loop.body);
    merge(s, exits, &s->state);
    State next = {0};
    cross(s, x, &s->state, &next, false);
    if (!merge(s, &head, &next)) break;
  }
}

static void repeat(Sync *s, Stmt *x, bool enters) {
  State exits = copy_state(s, &s->state); // no iteration
  if (enters) exits.len = 0;
  int64_t trips;
  int exact = in_flight(&s->state) ? s->max_wait + 2 : ex_is(x->u.loop.extent[0], 1);
  // All of a short loop: its ring slots may have lost their modulus to its small range.
  if (exact > 1 && ex_const(x->u.loop.extent[0], &trips) && trips <= 8) exact = 8;
  if (!exact_passes(s, x, exact, &exits)) later_passes(s, x, &exits);
  s->state = (State){0};
  cross(s, x, &exits, &s->state, true);
}

static void visit_again(Sync *s, Stmt *x) {
  int mark = facts_mark(s->facts);
  // Asked before the loop is among the facts, which hold inside it.
  Expr *extent = subst_expr(&s->lets, x->u.loop.extent[0]);
  bool enters = !x->u.loop.cond && facts_prove(s->facts, ex_lt(s->a, ex_index(s->a, 0), extent));
  facts_push_loop(s->facts, x->u.loop.var[0], subst_expr(&s->lets, x->u.loop.min[0]), extent);
  s->loops++;
  repeat(s, x, enters);
  s->loops--;
  facts_pop(s->facts, mark);
}

// Barriers inside a loop that others, found later, made superfluous go.
static void prune(Sync *s, Stmt *x, const Snap *entry) {
  bool settled = true;
  for (int i = 0; i < s->placed.len; i++) {
    Stmt *b = s->placed.data[i], *parent = b ? sync_parent(x, b) : NULL;
    if (!parent) continue;
    Stmt *next = sync_next(parent, b);
    sync_remove(parent, b);
    restore(s, entry);
    visit_again(s, x);
    settled = !s->from;
    if (settled) s->placed.data[i] = NULL;
    else sync_insert(s->a, parent, next, b);
    s->from = NULL;
  }
  if (settled) return;
  restore(s, entry);
  visit_again(s, x);
}

static void visit_for(Sync *s, Stmt *x) {
  visit_accesses(s, x);
  State all = {0};
  int mark = facts_mark(s->facts);
  bool gathered = gather(s, x, &all);
  facts_pop(s->facts, mark);
  if (gathered && s->collect) {
    merge(s, s->collect, &all);
    return;
  }
  if (gathered) {
    for (int i = 0; i < all.len && !s->from; i++) check(s, all.data[i]);
    for (int i = 0; i < all.len && !s->from; i++) add(s, &s->state, as_pending(s, all.data[i]));
    return;
  }
  Snap entry = save(s);
  visit_again(s, x);
  if (!s->loops && !s->from) prune(s, x, &entry);
}

// The producers' accesses are ordered by their channels; barriers inside are the consumers' own.
static void visit_roles(Sync *s, Stmt *x) {
  int mark = facts_mark(s->facts), n = s->conds.len;
  facts_push_cond(s->facts, x->u.branch.cond);
  vec_push(s->a, &s->conds, x->u.branch.cond);
  visit(s, x->u.branch.yes);
  s->conds.len = n;
  facts_pop(s->facts, mark);
}

// Thread 0's branch: the others have no TMA stores to close groups of or to wait for.
static bool only_bulk(const Stmt *x) {
  const Stmt *yes = x->u.branch.yes;
  for (int i = 0; i < yes->u.block.len; i++) {
    const Stmt *y = yes->u.block.data[i];
    OpCode op = y->kind == ST_OP ? y->u.op.op : OP_SYNC;
    if (!stores_in_bulk(op) && op != OP_BULK_COMMIT && op != OP_BULK_WAIT) return false;
  }
  return !x->u.branch.no;
}

static void visit_if(Sync *s, Stmt *x) {
  if (x->u.branch.roles) {
    visit_roles(s, x);
    return;
  }
  visit_accesses(s, x);
  Expr *cond = subst_expr(&s->lets, x->u.branch.cond);
  State entry = copy_state(s, &s->state);
  int mark = facts_mark(s->facts), n = s->conds.len;
  facts_push_cond(s->facts, cond);
  vec_push(s->a, &s->conds, cond);
  Crew crew = s->crew;
  s->crew = sync_enter(s, x->u.branch.yes, cond);
  visit(s, x->u.branch.yes);
  s->crew = crew;
  s->conds.len = n;
  facts_pop(s->facts, mark);
  if (s->from) return;
  State yes = s->state;
  if (only_bulk(x)) return;
  // Under a condition that varies, the other threads run `no` after these ran `yes`.
  s->state = entry;
  if (x->u.branch.no && !uniform_expr(s->uniform, x->u.branch.cond)) merge(s, &s->state, &yes);
  if (x->u.branch.no) {
    Expr *other = ex_un(s->a, UN_NOT, cond);
    facts_push_cond(s->facts, other);
    vec_push(s->a, &s->conds, other);
    s->crew = sync_enter(s, x->u.branch.no, other);
    visit(s, x->u.branch.no);
    s->crew = crew;
    s->conds.len = n;
    facts_pop(s->facts, mark);
  }
  if (!s->from) merge(s, &s->state, &yes);
}

typedef struct {
  const Sync *s;
  bool varies;
} Fixed;

static void fixed_node(void *ctx, Expr *x) {
  Fixed *f = ctx;
  if (x->kind == EX_LOAD) f->varies = true;
  if (x->kind != EX_VAR || x->u.var->kind == VAR_BLOCK || x->u.var->kind == VAR_WORKERS) return;
  if (x->u.var->kind == VAR_TEAM) return;
  if (x->u.var->kind == VAR_SIZE || x->u.var->kind == VAR_SCALAR) return;
  for (int i = 0; i < f->s->fixed.len; i++)
    if (f->s->fixed.data[i] == x->u.var) return;
  f->varies = true;
}

// Lets are expanded in addresses, but for those of one value in the whole block, which cancel out
// as they are: T.use_swizzle makes long ones.
static void visit_let(Sync *s, Stmt *x) {
  visit_accesses(s, x);
  Fixed f = {s, false};
  ex_walk(x->u.let.value, fixed_node, &f);
  Expr *value = subst_expr(&s->lets, x->u.let.value);
  if (!f.varies) {
    vec_push(s->a, &s->fixed, x->u.let.var);
    facts_push_let(s->facts, x->u.let.var, value);
  } else if (sync_reads_memory(s, value)) {
    vec_push(s->a, &s->unknown, x->u.let.var);
  } else {
    subst_add(&s->lets, x->u.let.var, value);
  }
}

// A wait for the cluster right behind the arrival: a barrier of the block's threads as well.
static bool meets_cluster(const Sync *s, const Stmt *x) {
  const Stmt *in = s->path.data[s->path.len - 2], *before = NULL;
  if (x->u.op.op != OP_CLUSTER_WAIT || in->kind != ST_BLOCK) return false;
  for (int i = 0; i < in->u.block.len && in->u.block.data[i] != x; i++)
    before = in->u.block.data[i];
  return before && before->kind == ST_OP && before->u.op.op == OP_CLUSTER_ARRIVE;
}

static void visit_op(Sync *s, Stmt *x) {
  const OpInfo *info = op_info(x->u.op.op);
  bool all = crew_is_all(s->kernel, s->crew);
  if (info->sync == SYNC_BLOCK && !all) sync_crew_barrier(s);
  else if (info->sync == SYNC_BLOCK || (all && meets_cluster(s, x))) barrier(s);
  else if (info->sync == SYNC_COMMIT) groups(s, -1);
  else if (info->sync == SYNC_WAIT) groups(s, x->u.op.arg[0].i);
  else if (x->u.op.op == OP_BULK_COMMIT) bulk_groups(s, -1);
  else if (x->u.op.op == OP_BULK_WAIT) bulk_groups(s, x->u.op.arg[0].i);
  else visit_accesses(s, x);
}

/* blocks: where the walk goes on after a conflict */

// The child of block x to walk again; -1 when the change lies further out.
static int resume_at(const Sync *s, const Stmt *x, int current) {
  if (s->resume_block == x) return s->resume_index < current ? s->resume_index : current;
  for (int i = s->to->npath - 1; i >= 0; i--) {
    if (s->to->path[i] == x) return -1;
    if (s->to->path[i] == s->resume_block) return current;
  }
  return -1;
}

static void visit_block(Sync *s, Stmt *x) {
  VEC(Snap) snaps = {0};
  bool saves = !s->loops && !s->collect;
  for (int i = 0; i < x->u.block.len && !s->failed; i++) {
    if (saves) vec_push(s->a, &snaps, save(s));
    visit(s, x->u.block.data[i]);
    if (!s->from) continue;
    if (!saves) return;
    if (!s->resume_block && !sync_separate(s)) s->failed = true;
    int at = s->failed ? -1 : resume_at(s, x, i);
    if (at < 0) return;
    restore(s, &snaps.data[at]);
    snaps.len = at;
    i = at - 1;
  }
}

static void visit(Sync *s, Stmt *x) {
  if (!x || s->from || s->failed) return;
  int lets = s->lets.from.len, mark = facts_mark(s->facts);
  vec_push(s->a, &s->path, x);
  switch (x->kind) {
  case ST_BLOCK:
    visit_block(s, x);
    if (s->from) return;
    s->lets.from.len = s->lets.to.len = lets;
    facts_pop(s->facts, mark);
    break;
  case ST_FOR: visit_for(s, x); break;
  case ST_IF: visit_if(s, x); break;
  case ST_LET: visit_let(s, x); break;
  case ST_STORE: visit_accesses(s, x); break;
  case ST_OP: visit_op(s, x); break;
  case ST_ASSUME: facts_push_cond(s->facts, subst_expr(&s->lets, x->u.assume)); break;
  }
  s->path.len--;
}

static void note_wait(void *ctx, Stmt *x) {
  Sync *s = ctx;
  if (x->kind == ST_OP && x->u.op.op == OP_ASYNC_WAIT && x->u.op.arg[0].i > s->max_wait)
    s->max_wait = (int)x->u.op.arg[0].i;
}

bool sync_run(Sync *s) {
  s->facts = facts_new(s->a, s->program, s->kernel);
  s->uniform = uniform_new(s->a, s->kernel);
  st_walk(s->kernel->body, note_wait, s);
  visit(s, s->kernel->body);
  return !s->failed;
}
