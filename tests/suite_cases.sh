#!/bin/bash
# Suite cases: tests/cases/*.tl against the NumPy statement in their heads; see tests/cases.py.
# SPDX-License-Identifier: MIT
case $1 in
  list) python3 tests/cases.py list ;;
  run) exec python3 tests/cases.py run "$2" ;;
  many) exec python3 tests/cases.py "$@" ;;
esac
