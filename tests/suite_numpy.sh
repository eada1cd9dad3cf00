#!/bin/bash
# Suite numpy: results against NumPy through --in and --out, each case a line of tests/numpy.py.
# SPDX-License-Identifier: MIT
case $1 in
  list) python3 tests/numpy_cases.py list ;;
  run) exec python3 tests/numpy_cases.py run "$2" ;;
  many) exec python3 tests/numpy_cases.py "$@" ;;
esac
