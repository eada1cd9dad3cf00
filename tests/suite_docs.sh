#!/bin/bash
# Suite docs: the examples, commands and outputs of docs/*.md are what tlc does today, and every word
# and builtin has its place there; see tests/docs.py.
# SPDX-License-Identifier: MIT
case $1 in
  list) python3 tests/docs.py list ;;
  run) exec python3 tests/docs.py run "$2" ;;
esac
