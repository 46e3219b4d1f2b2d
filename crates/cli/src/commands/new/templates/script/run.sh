#!/usr/bin/env bash
# Does the mechanical part of the skill. Results go to standard output, everything else to
# standard error; nothing is asked.
set -euo pipefail

if [[ "${1:-}" == "--help" ]]; then
  echo "usage: run.sh [--help]"
  exit 0
fi

echo "nothing to do yet"
