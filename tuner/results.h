// tuner/results: what a search is printed, written and read back as.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_RESULTS_H
#define TLC_TUNER_RESULTS_H

#include "driver/json.h"
#include "tuner/search.h"

// One size of a sweep, or the only one.
typedef struct {
  TnSpace *space;
  TnFound found;
  const char *swept; // the value of --sweep's parameter; NULL: no sweep
  const char *gpu;   // NULL: nothing ran (--no-run)
} TnResult;

typedef VEC(TnResult) TnResults;

const TnCandidate *tn_best(const TnResult *r); // NULL: none
int tn_count_shared(const TnResult *r);        // candidates measured by builds that sizes share
double tn_best_us(const TnCandidate *c);       // of the final round where it took part

/* results.c */

void tn_print_result(const TnResult *r);                      // stdout
void tn_print_sweep(const TnResults *list, const char *name); // the table of a sweep
void tn_put_config(const TnCandidate *c, Buf *out);           // as Python writes a dict
int tn_write_winner(const TnResult *r, const char *path);     // the .cu; an exit status

/* saved.c: --save, a file of winners that is read by --tuned */

// Ends the run where a file that is asked for could not be written in the end, or the tuning file
// is there and is none of ours.
void tn_check_outputs(const Options *o);
int tn_save(const TnResults *list, const char *path); // an exit status
#define TN_FORMAT "tlc tuning 1"
// The entries of a tuning file, each an object. Ends the run where it is none.
const AstExpr *tn_tuning_entries(const Json *j);
// What an entry is stale without: a hash of the program and of the modules that it imports,
// comments and blanks apart. `listed`: with EvOptions.list, of this job.
uint64_t tn_source_hash(const Job *j, const EvResult *listed);

/* report.c */

int tn_report(const TnResults *list, const char *path, const char *sweep); // an exit status

#endif
