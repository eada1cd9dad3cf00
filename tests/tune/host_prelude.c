// Prints the host prelude, for host_nvcc.sh.
// SPDX-License-Identifier: MIT
#include "codegen/codegen.h"

int main(void) {
  Buf b = {0};
  cg_host_prelude(&b);
  fputs(buf_str(&b), stdout);
  buf_free(&b);
  return 0;
}
