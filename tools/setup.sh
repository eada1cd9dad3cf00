#!/bin/sh
# Installs the packages tlc is built and tested with on Debian or Ubuntu (as root or through sudo);
# where that cannot be, prints the exact line to run. Nothing happens when all is there.
#   tools/setup.sh [build]   `build`: only what `make` needs, not the tests' packages
# SPDX-License-Identifier: MIT
set -u
build="gcc g++ make flex bison libsqlite3-dev nettle-dev"
tests="check libsubunit-dev pkg-config python3 python3-numpy"
have() {
  case $1 in
    check) [ -f /usr/include/check.h ] ;;
    libsqlite3-dev) [ -f /usr/include/sqlite3.h ] ;;
    nettle-dev) [ -f /usr/include/nettle/sha2.h ] ;;
    libsubunit-dev) [ -f /usr/include/subunit/child.h ] ;;
    pkg-config) command -v pkg-config > /dev/null ;;
    python3-numpy) python3 -c 'import numpy' 2> /dev/null ;;
    *) command -v "$1" > /dev/null ;;
  esac
}
wanted=$build
[ "${1-}" = build ] || wanted="$build $tests"
missing=
for p in $wanted; do have "$p" || missing="$missing $p"; done
if [ -n "$missing" ]; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  line="apt-get install -y --no-install-recommends$missing"
  if ! command -v apt-get > /dev/null || { [ -n "$sudo" ] && ! command -v sudo > /dev/null; }; then
    echo "tlc needs these Debian packages:$missing"
    echo "  run as root: $line"
    exit 3
  fi
  echo "installing:$missing"
  export DEBIAN_FRONTEND=noninteractive
  # shellcheck disable=SC2086
  if ! { $sudo apt-get update -qq && $sudo $line -qq; } > /dev/null; then
    echo "could not install; run: $sudo $line"
    exit 3
  fi
fi
# A python3 that apt's NumPy does not serve (pyenv and the like) takes it from pip.
if [ "${1-}" != build ] && ! python3 -c 'import numpy' 2> /dev/null; then
  python3 -m pip install -q numpy || { echo "run: python3 -m pip install numpy"; exit 3; }
fi
exit 0
