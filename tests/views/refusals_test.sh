#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No option is ignored in silence: what does not go together is refused by the
# names of both, with status 1, before anything is read or written.
#   refusals_test.sh LUATRACE-ANALYZE DATA
. "$(dirname "$0")/../lib.sh"
analyze=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
cd "$scratch"
cp "$2/requests.txt" now.txt && cp now.txt before.txt

# wrong PATTERN ARGUMENT...: status 1, the message on one line, no output.
wrong() {
  local pattern=$1 status=0
  shift
  "$analyze" "$@" now.txt >out 2>err </dev/null || status=$?
  [ $status = 1 ] || fail "$*: status $status: $(cat err)"
  grep -qE -e "$pattern" err || fail "$*: not '$pattern' but: $(cat err)"
  [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || fail "$*: more than a message: $(cat out err)"
}
good() { "$analyze" "$@" now.txt >out 2>err </dev/null && [ ! -s err ] || fail "$*: $(cat err)"; }

# --diff compares; what shows one profile does not go with it.
for other in "--callers check" "--callees handle" "--hist handle" "--slow handle" --threads --timeline --symbols --info --compensate \
  "--format pprof" --dump --convert=x; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: ${other%%[ =]*} does not go with --diff, which compares two profiles" --diff before.txt $other
done
wrong "^luatrace-analyze: --coroutines does not go with --diff" --diff before.txt --coroutines
good --diff before.txt --coroutines=separate --report --tree --fields calls --sort name --normalize -F handle
good --diff before.txt --json=j --csv=c --folded=f --flame=p.html --save-profile s --fail-if 'change(self(handle)) > 10%'

# The events as they are.
for other in --report "-F handle" "-r 1ms~" --json=x "--group-by file" "--limit 3" "--fail-if lost>0" --quiet; do
  if [ "$other" = --quiet ]; then good --dump $other; continue; fi
  # shellcheck disable=SC2086
  wrong "does not go with --dump, which prints all events" --dump $other
  # shellcheck disable=SC2086
  wrong "does not go with --convert, which writes all events" --convert=x $other
done

# What means something only with another one.
while read -r option others; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: ${option%%[ =]*} belongs to $others" ${option//=/ }
done <<'TABLE'
--over=5ms --slow FN
--wall --slow FN
--normalize --diff OTHER
--allow-missing --fail-if EXPR
--output=x --format NAME
--frames=L --format NAME
--source-root=x --format NAME
--unit=us --folded and --format folded
--yielded --tree, --flame, --page, --folded and --format
--chart-limit=3 --flame and --page
--graph-limit=3 --flame and --page
TABLE
wrong "--fields belongs to --report" --tree --fields calls
wrong "--sort life belongs to --coroutines" --report --sort life
# An order that no view has; of several one is enough.
for view in --tree "--callers check" "--callees handle" "--hist handle" "--slow handle" --threads --timeline --info "--diff before.txt --tree" "--csv --tree"; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: --sort belongs to --report, --symbols and --coroutines: give one of them" $view --sort calls
  # shellcheck disable=SC2086
  good $view --report --sort calls
done
for field in name share avg min max stddev complete p50 p99.9; do
  wrong "^luatrace-analyze: --sort $field belongs to --report and --symbols: --coroutines is sorted by" --coroutines --tree --sort $field
  good --coroutines --report --sort $field
done
for field in suspended running self total life wall resumes calls; do good --coroutines --tree --sort $field; done
good --symbols --sort name && good --sort name && good --diff before.txt --sort p99 && good --csv --sort name
for view in "--hist handle" --info "--hist handle --info"; do
  for rows in "--limit 1" "--top 1"; do
    # shellcheck disable=SC2086
    wrong "^luatrace-analyze: ${rows% 1} belongs to other views than --hist and --info" $view $rows
    # shellcheck disable=SC2086
    good $view --tree $rows && good $view ${rows% 1} 0
  done
done
for view in --tree "--callers check" "--callees handle" "--slow handle" --threads --timeline --symbols --coroutines "--diff before.txt --tree"; do
  # shellcheck disable=SC2086
  good $view --limit 1
done

# What is for a format changes something of it (perfetto and chrome have suspended time anyway), or is refused.
coroutines=$source/tests/export/coroutines.txt
for format in $("$analyze" --format x now.txt 2>&1 | sed 's/.*; choose //; s/ or / /; s/,//g; s/ (see.*//'); do
  "$analyze" -q --format "$format" -o plain.out "$coroutines"
  for option in "--unit ms" --yielded "--frames L" "--source-root dir"; do
    # shellcheck disable=SC2086
    if "$analyze" -q --format "$format" $option -o other.out "$coroutines" 2>err; then
      case "$format $option" in perfetto*--yielded | chrome*--yielded) continue ;; esac
      ! cmp -s plain.out other.out || fail "--format $format ignores $option"
    else
      same "--format $format $option" "luatrace-analyze: ${option%% *} does not go with --format $format, which has no use for it: leave one of them out (see --help)" "$(cat err)"
      case "$format $option" in json* | *--unit* | csv*--yielded | lua*--yielded | xmake*--yielded) ;; *) fail "$(cat err)" ;; esac
    fi
  done
done
wrong "^luatrace-analyze: --unit does not go with --format csv" --format csv --unit us
good --format csv --unit us --folded=f && good --format json --yielded --tree && rm -f f
for way in --tree --folded --json "--report --csv"; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: --yielded (with --diff belongs to --flame and --page|belongs to --tree)" --diff before.txt --yielded $way
done
good --diff before.txt --yielded --tree --flame=p.html
wrong "--top and --limit are the same" --top 3 --limit 4
wrong "--fields: calls is there twice" --fields calls,self,calls
good --report --tree --fields calls,total,running

# Two outputs in one place.
wrong "--json and --csv both write to standard output: give each a file of its own \(--csv=FILE\)" --json --csv
wrong "--json and --output both write to standard output" --json --format folded
wrong "--csv and --save-profile both write to 'x'" --csv=x --save-profile x
[ ! -e x ] || fail "something was written"
good --json --csv=x --folded=/dev/null --save-profile /dev/null

ln -s . here && mkdir -p sub
wrong "--json and --csv both write to 'x.out'" --json=x.out --csv=./x.out
wrong "--json and --csv both write to 'here/x.out'" --json=here/x.out --csv=sub/../x.out
: >there.out && ln there.out linked.out
wrong "--json and --csv both write to 'there.out'" --json=there.out --csv=linked.out
good --json=x.out --csv=sub/x.out && rm -f x.out

# A view that something else leaves no room for.
for other in --folded --flame=- --page=- --save-profile=- '--format folded' '--format pprof -o -'; do
  for view in --report --info '--callers check'; do
    # shellcheck disable=SC2086
    wrong "^luatrace-analyze: ${other%%[ =]*}.* writes to standard output, where the views are shown: give it a file" $view $other
  done
  # shellcheck disable=SC2086
  good $other && good --report --json=views.json $other
done
good --report --folded=now.folded && good --report --format csv && good --info --json

# What shows times as they were measured does not go with --compensate alone; beside what is corrected it is named.
raws=("--callers check" "--callees handle" "--hist handle" "--slow handle" --coroutines --threads --timeline --symbols --folded=f.txt --flame=p.html --page=p.html "--format csv")
for raw in "${raws[@]}"; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: ${raw%%[ =]*} does not go with --compensate, which takes the cost" -q --compensate $raw
  # shellcheck disable=SC2086
  "$analyze" -q --compensate --report $raw now.txt >out 2>err || fail "--compensate --report $raw: $(cat err)"
  same "--compensate --report $raw" "luatrace-analyze: --compensate is for --report, --tree and the functions of --json: the times of ${raw%%[ =]*} are as they were measured" "$(cat err)"
done
for condition in 'self(handle) > 1h' 'calls(handle) > 9 or (lost > 9 and p50(handle) > 1h)' 'idle > 1h' 'share(handle) > 99%'; do
  wrong "^luatrace-analyze: --fail-if does not go with --compensate" -q --compensate --fail-if "$condition"
  for view in --report --tree --json ""; do
    # shellcheck disable=SC2086
    "$analyze" --compensate $view --fail-if "$condition" now.txt >out 2>err || fail "--compensate $view --fail-if '$condition': $(cat err)"
    same "--compensate $view --fail-if '$condition'" "luatrace-analyze: --compensate is for --report, --tree and the functions of --json: the times of --fail-if are as they were measured" "$(cat err)"
  done
done
good --compensate --report --fail-if 'calls(handle) > 9 or complete(handle) > 9 or lost > 9'  # No times.
wrong "^luatrace-analyze: --group-by does not go with --symbols" --symbols --group-by file
good --compensate && good --compensate --tree && good --compensate --csv && good --compensate --json

# Rows and columns of tables that are not there.
for rows in "--sort calls" "--limit 1" "--top 1" "--fields calls"; do
  for way in --folded "--format csv" --json "-q --flame=p.html"; do
    # shellcheck disable=SC2086
    wrong "^luatrace-analyze: ${rows%% *} belongs to the views and --csv" $way $rows
  done
  # shellcheck disable=SC2086
  good --csv $rows && good $rows && good --report --folded=f $rows
done

# Slips.
refuses "^luatrace-analyze: no trace given .'now.txt' was taken as the function of --callers." "$analyze" --callers now.txt
refuses "^luatrace-analyze: no trace given .see --help.$" "$analyze" --callers handle
wrong "^luatrace-analyze: 'ms' is no file; write --over 5ms " --slow handle --over 5 ms
wrong "'report' is no file; did you mean --report\?" report
wrong "'graph' is no file; did you mean --tree\?" graph
wrong "'diff' is no file; did you mean --diff\?" diff before.txt
wrong "'merged' is no file; did you mean --coroutines=merged\?" --coroutines merged
cp now.txt report && good report && rm report
for kind in LUA Lua C Builtin; do "$analyze" --kind $kind now.txt >/dev/null || fail "--kind $kind"; done

# Values.
wrong "'90%~10%' is empty: it does not end after its beginning" -r 90%~10%
wrong "'5ms~5ms' is empty" -r 5ms~5ms
wrong "'@1700000001~@1700000000' is empty" -r @1700000001~@1700000000
wrong "'0:5': states are numbered from 1" --coroutine 0:5
wrong "json= needs a value after the '='" --json=
wrong "^luatrace-analyze: --sysroot: 'none' is no directory" --sysroot none
wrong "^luatrace-analyze: --debug-dir: 'now.txt' is no directory" --debug-dir now.txt
wrong "the name of a trace is empty" ""
wrong "not '.x1b.31m'" --sort $'\e[31m'
good -r 10%~ --coroutine 1:2

# An empty file is no pipe; to nothing there is no difference; twice is twice.
: >empty
refuses "^luatrace-analyze: empty: the file is empty$" "$analyze" -r 10%~ empty
refuses "^luatrace-analyze: none: cannot open" "$analyze" --diff none now.txt
[ ! -s out ] || fail "a difference to nothing: $(cat out)"
"$analyze" -q now.txt ./now.txt 2>err && same "twice" "luatrace-analyze: ./now.txt: is given twice, and counts twice" "$(cat err)"

# --quiet is about the summary, not about a view.
same "-q alone" "" "$("$analyze" -q now.txt)"
[ -n "$("$analyze" -q --report now.txt)" ] || fail "-q --report says nothing"
same "-q and a comparison in a test" "" "$("$analyze" -q --diff before.txt --fail-if 'lost > 0' now.txt)"
[ -n "$("$analyze" -q --diff before.txt now.txt)" ] || fail "-q --diff says nothing"

# Without a cost there is nothing to take out.
sed 's/cost_ps=[0-9]*//' now.txt >outside.txt
"$analyze" -q --compensate --report outside.txt >out 2>err || fail "--compensate: $(cat err)"
grep -q "^luatrace-analyze: --compensate: what recording cost is not known" err || fail "--compensate of nothing is silent"
cp outside.txt too.txt
"$analyze" -q --compensate --report outside.txt now.txt too.txt >out 2>err || fail "--compensate: $(cat err)"
same "some without a cost" "luatrace-analyze: --compensate: what recording cost is not known of outside.txt, too.txt: nothing is taken out of their times" "$(cat err)"

# Nothing, of which more must be known than its beginning.
: >empty
refuses "^luatrace-analyze: standard input: the file is empty" "$analyze" -r 1ms~ - <empty
refuses "^luatrace-analyze: empty: the file is empty" "$analyze" -r 1ms~ empty
refuses "^luatrace-analyze: standard input: " "$analyze" -t 1ms - < <(:)

# What other languages write in a condition.
while IFS=, read -r slip right expression; do
  wrong "^luatrace-analyze: --fail-if '.*': write '$right' in place of '$slip' at '$slip " --fail-if "$expression"
done <<'TABLE'
&&,and,calls(handle) > 1 && lost > 0
&&,and,(self(handle) > 1ms && lost > 0) or lost > 3
\|\|,or,self(handle) > 1ms || lost > 0
\|,or,self(handle) > 90% | lost > 0
AND,and,calls(handle) > 1 AND lost > 0
Or,or,self(handle) > 90% Or lost > 0
=,==,calls(handle) = 1
===,==,calls(handle) === 5
!==,!=,calls(handle) !== 5
<>,!=,calls(handle) <> 5
~=,!=,calls(handle) ~= 5
=>,>=,self(handle) => 20%
=<,<=,(self(handle) =< 20%)
TABLE
for expression in 'AND lost>1' 'lost > 1 and or lost > 2' '(and lost > 1)'; do
  wrong "'(AND|or|and)' stands between two conditions, and the one before it is missing at '(AND|or|and) lost" --fail-if "$expression"
done
for expression in 'not lost > 1' 'NOT(lost > 1)' '!lost > 1' 'lost > 1 and !(lost > 3)'; do
  wrong "there is no '(not|NOT|!)': write the opposite comparison .*<=.* at '(not|NOT|!)" --fail-if "$expression"
done
for expression in 'lost == 1' 'lost!=0' 'lost>=1' 'events <=1'; do
  good --fail-if "$expression"
done

# Only one place writes to standard error (see terminal_line.h).
if found=$(cd "$source" && scripts/files | grep '^analyzer/.*\.cc$' | grep -vE '/tools/|/terminal_line.cc$' |
  xargs grep -lE 'std::(cerr|clog)|stderr'); then
  fail "standard error beside TerminalLine: $found"
fi
exit 0
