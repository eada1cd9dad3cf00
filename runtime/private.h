// What files of this room share and no other room sees.
// SPDX-License-Identifier: MIT
#ifndef TLC_RUNTIME_PRIVATE_H
#define TLC_RUNTIME_PRIVATE_H

#include "cuda.h"
#include "runtime.h"

/* cache.c: folders named by key, made once and never changed, the least recently used removed when
   all are over 1 GiB */

typedef struct {
  uint64_t hi, lo;
} CacheKey;

// Folder of the cache, made if need be; NULL with a sentence in err: it cannot be made, or is
// `unsafe`, others' too. spare: the one in $TMPDIR, for where the other cannot be written.
const char *cache_root(Arena *a, bool spare, bool *unsafe, Buf *err);
// Path of `file` in the entry, or NULL when there is none. Marks the entry as used.
const char *cache_find(Arena *a, const char *root, CacheKey key, const char *file);
// A new private folder beside the entries, to be published or discarded.
const char *cache_draft(Arena *a, const char *root, Buf *err);
// Makes a draft the entry of the key; where another process was faster, its entry stays.
bool cache_publish(const char *root, const char *draft, CacheKey key, Buf *err);
void cache_discard(const char *draft);

/* gpu.c */

typedef struct Driver Driver; // the functions of libcuda: cuda.h

const Driver *gpu_driver(const RtGpu *g);
// Makes the context current in this thread. Every call into the driver or a library needs it.
void gpu_enter(const RtGpu *g);
// A copy that is done when the stream is.
RtStatus gpu_download_later(RtGpu *g, void *host, const void *device, size_t bytes, Buf *err);
// Pinned memory until the next call.
void *gpu_scratch(RtGpu *g, size_t bytes);
// n events, the GPU's own: whose until another asks for some.
RtStatus gpu_events(RtGpu *g, int n, const Handle **out, Buf *err);
// Kernels have run so long: rt_gpu_busy.
void gpu_was_busy(RtGpu *g, double seconds);
double gpu_idle(const RtGpu *g); // since then
// RT_OK for 0; else "what: CUDA_ERROR_NAME (text)" in err.
RtStatus gpu_result(const RtGpu *g, int result, const char *what, Buf *err);

#endif
