#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel refuses two tools that count users of one site in different ways, such as bpftrace and
# luatrace-record --via bpf. So every script that attaches by either holds the lock "uprobes".
#   locks.sh BUILD_FOLDER CTEST
source "$(dirname "$0")/../lib.sh"

"$2" --test-dir "$1" --show-only=json-v1 >"$scratch/tests.json"
jq -r '.tests[] | select(.command) | [.name, .command[0], (.command[1:] | join(" ")),
    ([.properties[] | select(.name == "RESOURCE_LOCK").value[]] | join(" "))] | @tsv' \
  "$scratch/tests.json" >"$scratch/tests"
declare -A via_bpf
while IFS= read -r program; do
  via_bpf[$program]=yes
done < <(cut -f 2 "$scratch/tests" | grep -E '/tests/.*\.sh$' | sort -u | tr '\n' '\0' | xargs -0 grep -lse '--via bpf')
scripts=0
while IFS=$'\t' read -r name program arguments locks; do
  [[ $program == */tests/*.sh && $name != repo.* ]] || continue
  case " $arguments " in
    *" direct "*) continue ;;
    *" bpf "* | *" bpftrace "*) ;;
    *) [ -n "${via_bpf[$program]-}" ] || continue ;;
  esac
  scripts=$((scripts + 1))
  [[ " $locks " == *" uprobes "* ]] || fail "$name attaches to tracepoints through the kernel: add LOCK uprobes"
done <"$scratch/tests"
[ $scripts -gt 15 ] || fail "only $scripts such scripts were found"
