#!/usr/bin/env bash
# apt_install.sh WHAT PACKAGE...: installs Debian packages where that is allowed, otherwise says how and fails.
set -euo pipefail
what=$1
shift
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "$what is missing: installing $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq "$@" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq "$@" >/dev/null; }
else
  echo "$what is missing: run 'sudo apt-get install $*'" >&2
  exit 1
fi
