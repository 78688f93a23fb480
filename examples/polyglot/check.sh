#!/bin/sh
# Runs every job by hand, without Sluice: twice, to see that the bytes are the same; then with a bug, to see it found.
set -eu
cd "$(dirname "$0")"
python=$(sh tools/python-for)
exec "$python" -B tools/check.py "$@"
