"""tilelang.contrib: only nvcc is spelt out."""
# SPDX-License-Identifier: MIT
