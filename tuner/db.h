// tuner/db: what has been found out, kept in an SQLite database by the SHA-256 of all that decided.
// SPDX-License-Identifier: MIT
#ifndef TLC_TUNER_DB_H
#define TLC_TUNER_DB_H

#include <nettle/sha2.h>

#include "base/base.h"

/* key.c */

typedef struct {
  struct sha256_ctx ctx;
} TnKey;

typedef struct {
  uint8_t bytes[32];
} TnHash;

void tn_key_begin(TnKey *k);
// One named part. Parts are told apart by their lengths: no two lists of parts hash the same bytes.
void tn_key_add(TnKey *k, const char *name, const void *data, size_t n);
void tn_key_text(TnKey *k, const char *name, const char *value); // NULL is not ""
TnHash tn_key_end(TnKey *k);
void tn_hash_text(const TnHash *h, char out[65]);

/* db.c */

typedef struct {
  const char *path;     // NULL: $XDG_CACHE_HOME/tlc/tune.db, or ~/.cache/tlc/tune.db
  int64_t limit;        // bytes; the least recently used goes when all takes more; 0: 64 MiB
  int64_t (*now)(void); // seconds; NULL: the clock's. For tests
  FILE *say;            // where trouble is told; NULL: stderr
} TnDbOptions;

typedef struct TnDb TnDb;

// Never NULL. Where the database cannot be used it has said so, and the rest does nothing. A file
// that is no database, or is damaged, is renamed and a new one begun.
TnDb *tn_db_open(const TnDbOptions *o);
void tn_db_close(TnDb *d);
bool tn_db_works(const TnDb *d);
bool tn_db_keeps(const TnDb *d); // what is put is there the next time
// The value of a key appended to `out`. NULL fine for d: never found.
bool tn_db_get(TnDb *d, const TnHash *key, Buf *out);
// Stored for good when it returns, whatever then happens to this process.
void tn_db_put(TnDb *d, const TnHash *key, const char *value, size_t n);
int64_t tn_db_count(TnDb *d);
// Removes the database's files. Returns 0, or -1 with errno set.
int tn_db_clear(const TnDbOptions *o);
const char *tn_db_path(Arena *a, const TnDbOptions *o); // NULL: there is no home

#endif
