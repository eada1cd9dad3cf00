// Inside tuner: what its files share beside the types of tuner.h.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_INTERNAL_H
#define TLC_TUNER_INTERNAL_H

#include "driver/driver.h"

/* space.c */

// Does the list name it?
bool tn_binds(const TnBindings *list, const char *name);
// Splits "NAME=V,V" (commas within brackets and quotes do not count) for an option.
void tn_axis(Arena *a, const char *option, const char *text, EvBinding *out);
// The next value of such a list; NULL after the last.
const char *tn_next_value(Arena *a, const char **list, char separator);

/* flags.c */

// Every combination of the options that --space-flags names, at least the empty one. Ends the run
// where a name is unknown.
typedef VEC(TnBindings) TnFlagSets;
TnFlagSets tn_flag_sets(Arena *a, const struct Options *o);

/* compile.c */

// The text without what names the file and its parameters: from the first line of code on.
const char *tn_code(const char *text);

// The options that compile a candidate.
struct Options tn_options(Arena *a, const TnSpace *s, const TnCandidate *c);

/* model.c */

// The model's time of all programs of a compiled job, into c->model.
void tn_model_job(const TnSpace *s, const struct Job *j, TnCandidate *c);

/* tune.c */

// The space of a size (NULL: as -p says), compiled, duplicates marked. An exit status, after a
// message where it is not 0.
int tn_prepare(const struct Options *o, const TnBindings *sizes, TnSpace *s);

/* measure.c: --tune with a GPU; an exit status */

int tn_measure(const struct Options *o);

#endif
