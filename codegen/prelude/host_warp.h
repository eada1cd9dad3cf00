// Host twins of the helpers with which lanes take values from one another.
// SPDX-License-Identifier: 0BSD

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
