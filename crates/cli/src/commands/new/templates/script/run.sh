#!/usr/bin/env bash
# Does the mechanical part of the skill. Prints results to standard output and everything else to
# standard error. Never prompts.
set -euo pipefail

if [[ "${1:-}" == "--help" ]]; then
  echo "usage: run.sh [--help]"
  exit 0
fi

echo "nothing to do yet"
