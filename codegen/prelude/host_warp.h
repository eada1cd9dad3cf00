// Host twins of the helpers with which lanes take values from one another.
// SPDX-License-Identifier: 0BSD

static void tlc_host_meet(void *const *) {}
static inline void __syncwarp() { tlc_host_collective(tlc_host_meet, nullptr); }

struct tlc_host_shuffle {
  unsigned char *v;
  int size, from, width;
};

// Lane i takes the value of the lane it names, its own where that is not of its segment.
static void tlc_host_shuffle_warp(void *const *lanes) {
  unsigned char old[32][8];
  const int n = tlc_host_lanes();
  for (int i = 0; i < n; i++) {
    const tlc_host_shuffle *mine = static_cast<const tlc_host_shuffle *>(lanes[i]);
    memcpy(old[i], mine->v, size_t(mine->size));
  }
  for (int i = 0; i < n; i++) {
    const tlc_host_shuffle *mine = static_cast<const tlc_host_shuffle *>(lanes[i]);
    const int first = i / mine->width * mine->width;
    const bool other = mine->from >= first && mine->from < first + mine->width;
    if (other && mine->from >= n) tlc_host_fail("a shuffle from a lane that does not exist");
    memcpy(mine->v, old[other ? mine->from : i], size_t(mine->size));
  }
}

template <typename T>
static T tlc_host_shuffle_lane(T v, int from, int width) {
  tlc_host_shuffle mine = {reinterpret_cast<unsigned char *>(&v), int(sizeof(T)), from, width};
  tlc_host_collective(tlc_host_shuffle_warp, &mine);
  return v;
}

static inline int tlc_host_lane() { return tlc_host.current & 31; }

template <typename T>
static inline T tlc_shuffle_index(uint32_t, T v, int lane, int width) {
  return tlc_host_shuffle_lane(v, tlc_host_lane() / width * width + (lane & (width - 1)), width);
}
template <typename T>
static inline T tlc_shuffle_xor(uint32_t, T v, int bits, int width) {
  return tlc_host_shuffle_lane(v, tlc_host_lane() ^ bits, width);
}
template <typename T>
static inline T tlc_shuffle_up(uint32_t, T v, int by, int width) {
  return tlc_host_shuffle_lane(v, tlc_host_lane() - by, width);
}
template <typename T>
static inline T tlc_shuffle_down(uint32_t, T v, int by, int width) {
  return tlc_host_shuffle_lane(v, tlc_host_lane() + by, width);
}

/* ---------------------------------------------------------------- votes */

// Which lanes say yes, to each.
static void tlc_host_vote_warp(void *const *lanes) {
  uint32_t yes = 0;
  for (int i = 0; i < tlc_host_lanes(); i++) yes |= *static_cast<uint32_t *>(lanes[i]) << i;
  for (int i = 0; i < tlc_host_lanes(); i++) *static_cast<uint32_t *>(lanes[i]) = yes;
}

static inline uint32_t tlc_warp_ballot(uint32_t, bool x) {
  uint32_t mine = x;
  tlc_host_collective(tlc_host_vote_warp, &mine);
  return mine;
}
static inline bool tlc_warp_any(uint32_t lanes, bool x) { return tlc_warp_ballot(lanes, x) != 0; }
static inline bool tlc_warp_all(uint32_t lanes, bool x) { return !tlc_warp_ballot(lanes, !x); }
static inline int tlc_warp_count(uint32_t lanes, bool x) {
  return __builtin_popcount(tlc_warp_ballot(lanes, x));
}

// Which lanes have the same value, to each.
static void tlc_host_match_warp(void *const *lanes) {
  uint64_t x[32];
  for (int i = 0; i < tlc_host_lanes(); i++) x[i] = *static_cast<uint64_t *>(lanes[i]);
  for (int i = 0; i < tlc_host_lanes(); i++) {
    uint64_t same = 0;
    for (int k = 0; k < tlc_host_lanes(); k++) same |= uint64_t(x[k] == x[i]) << k;
    *static_cast<uint64_t *>(lanes[i]) = same;
  }
}

template <typename T>
static inline uint32_t tlc_match_any(uint32_t, T x) {
  uint64_t mine = x;
  tlc_host_collective(tlc_host_match_warp, &mine);
  return uint32_t(mine);
}
template <typename T>
static inline uint32_t tlc_match_all(uint32_t lanes, T x) {
  const uint32_t same = tlc_match_any(lanes, x);
  return __builtin_popcount(same) == tlc_host_lanes() ? same : 0;
}

static int tlc_host_votes, tlc_host_voters;

static inline int tlc_block_count(bool x) {
  if (!tlc_host_voters++) tlc_host_votes = 0;
  tlc_host_votes += x;
  __syncthreads();
  const int yes = tlc_host_votes;
  tlc_host_voters = 0;
  __syncthreads();
  return yes;
}
static inline bool tlc_block_any(bool x) { return tlc_block_count(x) != 0; }
static inline bool tlc_block_all(bool x) { return !tlc_block_count(!x); }

static inline void tlc_fence() {}

[[noreturn]] static inline void tlc_assert(const char *text) { tlc_host_fail(text); }
