// One tuner at a time on the GPU: times of two that ran at once would mean nothing.
// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tuner/session.h"
#include "tuner/tuner.h"

void tn_lock_open(TnLock *l, Arena *a) {
  const char *path = getenv("TLC_GPU_LOCK");
  *l = (TnLock){.fd = -1, .path = path && *path ? arena_str(a, path) : "/tmp/tlc-gpu.lock"};
  // Another user's file in a shared folder opens only without O_CREAT.
  l->fd = open(l->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (l->fd < 0 && errno == ENOENT) {
    l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (l->fd >= 0) fchmod(l->fd, 0666); // whatever the umask is
  }
  if (l->fd < 0)
    fprintf(stderr, "tlc: cannot open %s: %s: nothing keeps others from the GPU meanwhile\n",
            l->path, strerror(errno));
}

bool tn_lock_try(TnLock *l) {
  if (l->fd < 0 || l->held) return true;
  l->held = flock(l->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  return l->held;
}

void tn_lock_say(const TnLock *l) {
  fprintf(stderr, "tlc: another tlc has the GPU (%s): waiting\n", l->path);
}

void tn_gpu_claim(Arena *a) {
  TnLock l;
  tn_lock_open(&l, a);
  if (tn_lock_try(&l)) return;
  tn_lock_say(&l);
  while (flock(l.fd, LOCK_EX) && errno == EINTR) {}
}

void tn_lock_close(TnLock *l) {
  if (l->fd >= 0) close(l->fd);
  l->fd = -1;
}
