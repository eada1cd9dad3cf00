"""What stands behind the stand-in `tilelang` package: recording, compiling through tlc, calling."""
# SPDX-License-Identifier: MIT
