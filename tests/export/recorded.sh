#!/bin/bash
# SPDX-License-Identifier: MIT
# totals.py with a trace of a real program.
#   recorded.sh BIN EXAMPLE
source "$(dirname "$0")/../lib.sh"
"$1/luatrace-record" -q --block -o "$scratch/trace.bin" -- "$1/luajit" "$2" 1 >/dev/null
python3 "$(dirname "$0")/totals.py" "$1/luatrace-analyze" "$scratch/trace.bin" 1
