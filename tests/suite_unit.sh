#!/bin/bash
# Suite unit: the Check programs built from tests/unit.
# SPDX-License-Identifier: MIT
case $1 in
  list) for f in tests/unit/test_*.c; do basename "$f" .c; done ;;
  run) exec "$BUILD/unit/$2" ;;
esac
