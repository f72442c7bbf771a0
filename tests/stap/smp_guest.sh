# SPDX-License-Identifier: MIT
# The part of quick.sh that runs in a guest with two processors.

# All processes that map the library, on two processors, one of them moved from one to
# the other while it runs.
gated left "$linked" "$programs/mixed.lua"
left=$gated
gated right "$linked" "$programs/mixed.lua"
right=$gated
start both shared
open_gate left
open_gate right
for ((i = 0; i < 200; i++)); do
  taskset -cp $((i & 1)) $left >/mnt/taskset 2>&1 || break
done
wait $left $right
kill -INT $stap
finish both
