// The cache: one table from key to value in SQLite, in write-ahead mode, so that several tuners
// read and write at once and one that is killed loses nothing that it had finished.
// SPDX-License-Identifier: MIT
#include "tuner/db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BUSY_MS = 20000, USED_STEP = 600 /* s: how exact "last used" is */ };
#define DEFAULT_LIMIT ((int64_t)64 << 20)

struct TnDb {
  Arena *arena; // holds the TnDb itself
  TnDbOptions o;
  const char *path;
  sqlite3 *sql; // NULL: goes on without
  bool fixed;   // it cannot be written
  sqlite3_stmt *get, *put, *touch;
};

static int64_t clock_now(void) { return (int64_t)time(NULL); }

/* ------------------------------------------------------------------ place */

const char *tn_db_path(Arena *a, const TnDbOptions *o) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (o->path) return o->path;
  if (cache && *cache == '/') return arena_printf(a, "%s/tlc/tune.db", cache);
  return home && *home ? arena_printf(a, "%s/.cache/tlc/tune.db", home) : NULL;
}

static void make_folders(Arena *a, const char *path) {
  char *p = arena_str(a, path);
  for (char *s = strchr(p + 1, '/'); s; s = strchr(s + 1, '/')) {
    *s = 0;
    mkdir(p, 0700); // an error shows when the file is opened
    *s = '/';
  }
}

static const char *const suffixes[] = {"", "-wal", "-shm"};

int tn_db_clear(const TnDbOptions *o) {
  Arena *a = arena_new();
  const char *path = tn_db_path(a, o);
  int status = 0;
  for (size_t i = 0; path && i < LEN(suffixes); i++)
    if (unlink(arena_printf(a, "%s%s", path, suffixes[i])) && errno != ENOENT) status = -1;
  arena_free(a);
  return status;
}

/* ------------------------------------------------------------------ opening */

static void shut(TnDb *d) {
  sqlite3_finalize(d->get);
  sqlite3_finalize(d->put);
  sqlite3_finalize(d->touch);
  sqlite3_close(d->sql);
  d->sql = NULL;
  d->get = d->put = d->touch = NULL;
}

static void go_without(TnDb *d, const char *why) {
  fprintf(d->o.say, "tlc: tuning goes on without its cache %s: %s\n", d->path, why);
  shut(d);
}

static bool is_damage(int code) {
  return (code & 255) == SQLITE_CORRUPT || (code & 255) == SQLITE_NOTADB;
}

// SQLITE_OK when the file's pages are in order; SQLITE_CORRUPT when the check finds fault.
static int check_pages(sqlite3 *sql) {
  sqlite3_stmt *s;
  int code = sqlite3_prepare_v2(sql, "PRAGMA quick_check(1)", -1, &s, NULL);
  if (code != SQLITE_OK) return code;
  code = sqlite3_step(s);
  if (code == SQLITE_ROW) {
    const char *text = (const char *)sqlite3_column_text(s, 0);
    code = text && !strcmp(text, "ok") ? SQLITE_OK : SQLITE_CORRUPT;
  }
  sqlite3_finalize(s);
  return code;
}

static const char setup[] =
    "PRAGMA auto_vacuum=INCREMENTAL;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=NORMAL;" // the death of a process loses nothing; that of the machine may
    "CREATE TABLE IF NOT EXISTS result(key BLOB PRIMARY KEY, value BLOB NOT NULL,"
    " used INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS by_use ON result(used);"
    "BEGIN IMMEDIATE; COMMIT;"; // may we write?

static int prepare_all(TnDb *d) {
  int code =
      sqlite3_prepare_v2(d->sql, "SELECT value, used FROM result WHERE key=?", -1, &d->get, NULL);
  if (code == SQLITE_OK)
    code = sqlite3_prepare_v2(d->sql, "INSERT OR REPLACE INTO result VALUES(?,?,?)", -1, &d->put,
                              NULL);
  if (code == SQLITE_OK)
    code = sqlite3_prepare_v2(d->sql, "UPDATE result SET used=? WHERE key=?", -1, &d->touch, NULL);
  return code;
}

static int try_open(TnDb *d) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW;
  int code = sqlite3_open_v2(d->path, &d->sql, flags, NULL);
  if (code != SQLITE_OK) return code;
  sqlite3_busy_timeout(d->sql, BUSY_MS);
  code = check_pages(d->sql);
  if (code == SQLITE_OK) code = sqlite3_exec(d->sql, setup, NULL, NULL, NULL);
  if (code == SQLITE_OK) code = prepare_all(d);
  return code == SQLITE_ERROR ? SQLITE_CORRUPT : code; // its tables are others than ours
}

// As "file:PATH?..." takes it.
static const char *uri_of(TnDb *d, const char *query) {
  Buf b = {0};
  buf_puts(&b, "file:");
  for (const char *s = d->path; *s; s++) {
    if (strchr("%?#", *s)) buf_printf(&b, "%%%02x", (unsigned char)*s);
    else buf_putc(&b, *s);
  }
  buf_puts(&b, query);
  const char *uri = arena_str(d->arena, buf_str(&b));
  buf_free(&b);
  return uri;
}

// Where it cannot be written: what was known can be read, unless another has not finished writing.
static bool try_fixed(TnDb *d) {
  struct stat st;
  int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_URI;
  if (stat(arena_printf(d->arena, "%s-wal", d->path), &st) == 0 && st.st_size > 0) return false;
  shut(d);
  int code = sqlite3_open_v2(uri_of(d, "?immutable=1"), &d->sql, flags, NULL);
  if (code == SQLITE_OK) code = check_pages(d->sql);
  if (code == SQLITE_OK) code = prepare_all(d);
  d->fixed = code == SQLITE_OK;
  return d->fixed;
}

// Renames the damaged file, unless another tuner was faster, and opens a new one.
static int set_aside(TnDb *d) {
  const char *lock = arena_printf(d->arena, "%s.lock", d->path), *to = NULL;
  int fd = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) flock(fd, LOCK_EX);
  int code = try_open(d);
  if (is_damage(code)) {
    shut(d);
    to = arena_printf(d->arena, "%s.damaged-%lld", d->path, (long long)d->o.now());
    for (size_t i = 0; i < LEN(suffixes); i++)
      rename(arena_printf(d->arena, "%s%s", d->path, suffixes[i]),
             arena_printf(d->arena, "%s%s", to, suffixes[i]));
    fprintf(d->o.say, "tlc: the tuning cache was damaged: it is now %s, and a new one begins\n",
            to);
    code = try_open(d);
  }
  if (fd >= 0) close(fd);
  return code;
}

static void reopen(TnDb *d) {
  shut(d);
  int code = try_open(d);
  if (is_damage(code)) {
    shut(d);
    code = set_aside(d);
  }
  if (code == SQLITE_OK) return;
  const char *why = d->sql ? sqlite3_errmsg(d->sql) : sqlite3_errstr(code);
  why = arena_str(d->arena, why);
  if (!try_fixed(d)) go_without(d, why);
  else
    fprintf(d->o.say, "tlc: the tuning cache %s is read, and not written to: %s\n", d->path, why);
}

TnDb *tn_db_open(const TnDbOptions *o) {
  Arena *a = arena_new();
  TnDb *d = NEW(a, TnDb);
  *d = (TnDb){.arena = a, .o = *o, .path = tn_db_path(a, o)};
  if (!d->o.say) d->o.say = stderr;
  if (!d->o.now) d->o.now = clock_now;
  if (!d->o.limit) d->o.limit = DEFAULT_LIMIT;
  if (!d->path) {
    d->path = "(no folder)";
    go_without(d, "neither XDG_CACHE_HOME nor HOME is set");
    return d;
  }
  make_folders(a, d->path);
  reopen(d);
  return d;
}

void tn_db_close(TnDb *d) {
  if (!d) return;
  shut(d);
  arena_free(d->arena);
}

bool tn_db_works(const TnDb *d) { return d && d->sql; }

bool tn_db_keeps(const TnDb *d) { return tn_db_works(d) && !d->fixed; }

/* ------------------------------------------------------------------ use */

// After a failed step: a damaged file is set aside, anything else ends the use of the cache.
static void trouble(TnDb *d, int code) {
  if (is_damage(code)) reopen(d);
  else go_without(d, sqlite3_errmsg(d->sql));
}

static void mark_used(TnDb *d, const TnHash *key, int64_t now) {
  sqlite3_bind_int64(d->touch, 1, now);
  sqlite3_bind_blob(d->touch, 2, key->bytes, sizeof key->bytes, SQLITE_STATIC);
  sqlite3_step(d->touch); // a failure costs the entry its place in the order, no more
  sqlite3_reset(d->touch);
}

// What follows a value: SQLite looks at the order of its pages, not at what is in them.
enum { SEAL = 8 };

static void seal(const TnHash *key, const char *value, size_t n, uint8_t out[SEAL]) {
  struct sha256_ctx ctx;
  sha256_init(&ctx);
  sha256_update(&ctx, sizeof key->bytes, key->bytes);
  sha256_update(&ctx, n, (const uint8_t *)value);
  sha256_digest(&ctx, SEAL, out);
}

// The value of a row without its seal; false: it is not as it was written.
static bool take_value(TnDb *d, const TnHash *key, Buf *out) {
  uint8_t own[SEAL];
  const char *value = sqlite3_column_blob(d->get, 0);
  int n = sqlite3_column_bytes(d->get, 0) - SEAL;
  if (n < 0) return false;
  seal(key, value, (size_t)n, own);
  if (memcmp(own, value + n, SEAL)) return false;
  buf_add(out, value, (size_t)n);
  return true;
}

bool tn_db_get(TnDb *d, const TnHash *key, Buf *out) {
  if (!tn_db_works(d)) return false;
  sqlite3_bind_blob(d->get, 1, key->bytes, sizeof key->bytes, SQLITE_STATIC);
  int code = sqlite3_step(d->get);
  int64_t now = d->o.now(), used = now;
  bool found = code == SQLITE_ROW && take_value(d, key, out);
  if (found) used = sqlite3_column_int64(d->get, 1);
  sqlite3_reset(d->get);
  if (found && used + USED_STEP <= now && !d->fixed) mark_used(d, key, now);
  if (code != SQLITE_ROW && code != SQLITE_DONE) trouble(d, code);
  return found;
}

static int64_t number(TnDb *d, const char *query) {
  sqlite3_stmt *s;
  int64_t n = -1;
  if (!tn_db_works(d) || sqlite3_prepare_v2(d->sql, query, -1, &s, NULL) != SQLITE_OK) return -1;
  if (sqlite3_step(s) == SQLITE_ROW) n = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return n;
}

int64_t tn_db_count(TnDb *d) { return number(d, "SELECT count(*) FROM result"); }

// Down to nine tenths of the limit, so that it is not for every new entry.
static void keep_limit(TnDb *d) {
  static const char size[] = "SELECT (page_count - freelist_count) * page_size FROM "
                             "pragma_page_count, pragma_freelist_count, pragma_page_size";
  int64_t bytes = number(d, size), entries;
  if (bytes <= d->o.limit || (entries = tn_db_count(d)) < 2) return;
  int64_t drop = (int64_t)((double)entries * (1 - 0.9 * (double)d->o.limit / (double)bytes));
  char text[160];
  snprintf(text, sizeof text,
           "DELETE FROM result WHERE key IN (SELECT key FROM result ORDER BY used LIMIT %lld);"
           "PRAGMA incremental_vacuum",
           (long long)(drop < 1 ? 1 : drop));
  sqlite3_exec(d->sql, text, NULL, NULL, NULL);
}

void tn_db_put(TnDb *d, const TnHash *key, const char *value, size_t n) {
  Buf sealed = {0};
  uint8_t own[SEAL];
  if (!tn_db_keeps(d)) return;
  seal(key, value, n, own);
  buf_add(&sealed, value, n);
  buf_add(&sealed, (const char *)own, SEAL);
  for (int attempt = 0; attempt < 2 && tn_db_keeps(d); attempt++) {
    sqlite3_bind_blob(d->put, 1, key->bytes, sizeof key->bytes, SQLITE_STATIC);
    sqlite3_bind_blob(d->put, 2, sealed.data, (int)sealed.len, SQLITE_STATIC);
    sqlite3_bind_int64(d->put, 3, d->o.now());
    int code = sqlite3_step(d->put);
    sqlite3_reset(d->put);
    if (code == SQLITE_DONE) {
      keep_limit(d);
      break;
    }
    trouble(d, code);
  }
  buf_free(&sealed);
}
