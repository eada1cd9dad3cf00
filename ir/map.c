// Tensor maps, and how kernels are launched.
// SPDX-License-Identifier: MIT
#include "ir/ir.h"

int64_t map_elems(const TensorMap *m, int rank) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++) n *= (m->box[i] + m->step[i] - 1) / m->step[i];
  return n;
}

int kernel_threads(const Kernel *k) { return k->launch_threads ? k->launch_threads : k->threads; }

int kernel_cluster(const Kernel *k) {
  int n = 1;
  for (int i = 0; i < 3; i++) n *= k->cluster[i] > 0 ? k->cluster[i] : 1;
  return n;
}
