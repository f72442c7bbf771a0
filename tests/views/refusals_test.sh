#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No option is silently ignored: options that do not go together are refused with
# the names of both and status 1, before anything is read or written.
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
# good ARGUMENT...: status 0 and no message, except what --flame says it leaves out.
good() {
  "$analyze" "$@" now.txt >out 2>err </dev/null && ! grep -v '^luatrace-analyze: only the flame graph is written: ' err || fail "$*: $(cat err)"
}

# --diff compares; what shows one profile does not go with it.
for other in "--callers check" "--callees handle" "--hist handle" "--slow handle" --waits --requests "--request 1" "--slow-requests 1ms" "--request-by f" --turns --threads --timeline --symbols --info --compensate \
  "--format pprof" --dump --convert=x; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: ${other%%[ =]*} cannot be combined with --diff, which compares two profiles" --diff before.txt $other
done
wrong "^luatrace-analyze: --coroutines cannot be combined with --diff" --diff before.txt --coroutines
good --diff before.txt --coroutines=separate --report --tree --fields calls --sort name --normalize -F handle
good --diff before.txt --json=j --csv=c --folded=f --flame=p.html --save-profile s --fail-if 'change(self(handle)) > 10%'

# Outputs of the events as they are.
for other in --report "-F handle" "-r 1ms~" --json=x "--group-by file" "--limit 3" "--fail-if lost>0" --quiet; do
  if [ "$other" = --quiet ]; then good --dump $other; continue; fi
  # shellcheck disable=SC2086
  wrong "cannot be combined with --dump, which prints all events" --dump $other
  # shellcheck disable=SC2086
  wrong "cannot be combined with --convert, which writes all events" --convert=x $other
done

# Options that mean something only with another one.
while read -r option others; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: ${option%%[ =]*} needs $others" ${option//=/ }
done <<'TABLE'
--over=5ms --slow FN
--wall --slow FN
--normalize --diff OTHER
--allow-missing --fail-if EXPR
--output=x --format NAME
--frames=L --format NAME
--source-root=x --format NAME
--unit=us --folded or --format folded
--suspended --tree, --flame, --page, --folded or --format
--chart-limit=3 --page
--graph-limit=3 --flame or --page
TABLE
wrong "--fields needs --report" --tree --fields calls
wrong "--sort life needs --coroutines" --report --sort life
for field in start waits others unattributed coroutines; do
  wrong "--sort $field needs --requests" --coroutines --sort $field
  good --requests --sort $field
done
for field in wall running; do good --requests --sort $field; done
wrong "--sort avg needs --report or --symbols: --requests is sorted by wall" --requests --sort avg
wrong "--sort avg needs --report or --symbols: --turns is sorted by wall" --turns --sort avg
wrong "--sort delayed needs --turns" --requests --sort delayed
for field in wall start delayed; do good --turns --sort $field; done
wrong "--request-by @coroutines cannot be combined with other values" --request-by @coroutines --request-by handle
wrong "--request-by label: needs the key" --request-by label:
# Requests are shown whole.
for filter in "-F f" "-N f" "-C f" "-H f" "-D 1" "-t 1ms" "--function f" "--kind c" "--thread 1" "--vm 1" "--coroutine 1"; do
  for view in --requests "--request 1" "--slow-requests 1ms" "--request-by f"; do
    # shellcheck disable=SC2086
    wrong "cannot be combined with ${view% *}, which shows all of each request" $view $filter
  done
  # shellcheck disable=SC2086
  wrong "cannot be combined with --turns, which shows all of each turn" --turns $filter
done
for view in --requests --turns "--request 1" --coroutines; do
  # shellcheck disable=SC2086
  good $view -r 1ms~ --request-by handle
  # shellcheck disable=SC2086
  wrong "--group-by has no effect on ${view% *}" $view --group-by file
  # shellcheck disable=SC2086
  good $view --group-by file --report --request-by handle
done
wrong "^luatrace-analyze: --request needs exactly one trace" --request 1 before.txt
wrong "^luatrace-analyze: --request: '0' is out of range" --request 0
wrong "^luatrace-analyze: --request: there is no request 3: the trace has 2" --request 3 --request-by handle
# --sort without a view that has an order; one such view is enough.
for view in --tree "--callers check" "--callees handle" "--hist handle" "--slow handle" --waits --threads --timeline --info "--diff before.txt --tree" "--csv --tree"; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: --sort needs --report, --symbols, --coroutines, --requests or --turns: the selected views have a fixed order" $view --sort calls
  # shellcheck disable=SC2086
  good $view --report --sort calls
done
for field in name share avg min max stddev complete p50 p99.9; do
  wrong "^luatrace-analyze: --sort $field needs --report or --symbols: --coroutines is sorted by" --coroutines --tree --sort $field
  good --coroutines --report --sort $field
done
for field in suspended running self inclusive total life wall resumes calls; do good --coroutines --tree --sort $field; done
good --symbols --sort name && good --sort name && good --diff before.txt --sort p99 && good --csv --sort name
for view in "--hist handle" --info "--hist handle --info"; do
  for rows in "--limit 1"; do
    # shellcheck disable=SC2086
    wrong "^luatrace-analyze: ${rows% 1} has no effect on --hist and --info" $view $rows
    # shellcheck disable=SC2086
    good $view --tree $rows && good $view ${rows% 1} 0
  done
done
for view in --tree "--callers check" "--callees handle" "--slow handle" --waits --threads --timeline --symbols --coroutines "--diff before.txt --tree"; do
  # shellcheck disable=SC2086
  good $view --limit 1
done

# An option for formats changes the format (perfetto and chrome have suspended time anyway), or is refused.
coroutines=$source/tests/export/coroutines.txt
for format in $("$analyze" --format x now.txt 2>&1 | sed 's/.*; choose //; s/ or / /; s/,//g; s/ (see.*//'); do
  rm -rf plain.out other.out
  "$analyze" -q --force --format "$format" -o plain.out "$coroutines"
  for option in "--unit ms" --suspended "--frames L" "--source-root dir"; do
    # shellcheck disable=SC2086
    if "$analyze" -q --force --format "$format" $option -o other.out "$coroutines" 2>err; then
      case "$format $option" in perfetto*--suspended | chrome*--suspended) continue ;; esac
      ! diff -rq plain.out other.out >diff || fail "--format $format ignores $option"
    else
      same "--format $format $option" "luatrace-analyze: ${option%% *} has no effect with --format $format: leave one of them out (see --help)" "$(cat err)"
      case "$format $option" in json* | *--unit* | csv*--suspended | lua*--suspended | xmake*--suspended | parquet*--suspended) ;; *) fail "$(cat err)" ;; esac
    fi
  done
done
wrong "^luatrace-analyze: --unit has no effect with --format csv" --format csv --unit us
good --format csv --unit us --folded=f && good --format json --suspended --tree && rm -f f
for way in --tree --folded --json "--report --csv"; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: --suspended (with --diff needs --flame or --page|needs --tree)" --diff before.txt --suspended $way
done
good --diff before.txt --suspended --tree --flame=p.html
wrong "--fields: calls is given twice" --fields calls,self,calls
wrong "--fields: inclusive is given twice" --report --tree --fields calls,total,running

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

# A view, and another output on standard output.
for other in --folded --flame=- --page=- --save-profile=- '--format folded' '--format pprof -o -'; do
  for view in --report --info '--callers check'; do
    # shellcheck disable=SC2086
    wrong "^luatrace-analyze: ${other%%[ =]*}.* writes to standard output, where the views are shown: give it a file" $view $other
  done
  # shellcheck disable=SC2086
  good $other && good --report --json=views.json $other
done
good --report --folded=now.folded && good --report --format csv && good --info --json

# Outputs of times as they were measured do not go with --compensate alone; beside corrected ones a message names them.
raws=("--callers check" "--callees handle" "--hist handle" "--slow handle" --coroutines --waits --requests --turns --threads --timeline --symbols --folded=f.txt --flame=p.html --page=p.html "--format csv")
for raw in "${raws[@]}"; do
  # shellcheck disable=SC2086
  wrong "^luatrace-analyze: ${raw%%[ =]*} cannot be combined with --compensate alone, which takes the cost" -q --compensate $raw
  # shellcheck disable=SC2086
  "$analyze" -q --compensate --report $raw now.txt >out 2>err || fail "--compensate --report $raw: $(cat err)"
  same "--compensate --report $raw" "luatrace-analyze: --compensate corrects only --report, --tree and the functions of --json: the times of ${raw%%[ =]*} are as measured" "$(cat err)"
done
for condition in 'self(handle) > 1h' 'calls(handle) > 9 or (lost > 9 and p50(handle) > 1h)' 'idle > 1h' 'share(handle) > 99%'; do
  wrong "^luatrace-analyze: --fail-if cannot be combined with --compensate alone" -q --compensate --fail-if "$condition"
  for view in --report --tree --json ""; do
    # shellcheck disable=SC2086
    "$analyze" --compensate $view --fail-if "$condition" now.txt >out 2>err || fail "--compensate $view --fail-if '$condition': $(cat err)"
    same "--compensate $view --fail-if '$condition'" "luatrace-analyze: --compensate corrects only --report, --tree and the functions of --json: the times of --fail-if are as measured" "$(cat err)"
  done
done
good --compensate --report --fail-if 'calls(handle) > 9 or complete(handle) > 9 or lost > 9'  # No times.
wrong "^luatrace-analyze: --group-by cannot be combined with --symbols" --symbols --group-by file
good --compensate && good --compensate --tree && good --compensate --csv && good --compensate --json

# Rows and columns of tables that are not there.
for rows in "--sort calls" "--limit 1" "--fields calls"; do
  for way in --folded "--format csv" --json "-q --flame=p.html"; do
    # shellcheck disable=SC2086
    wrong "^luatrace-analyze: ${rows%% *} needs a view, such as --report, or --csv" $way $rows
  done
  # shellcheck disable=SC2086
  good -q --csv $rows && good $rows && good --report --folded=f $rows
done

# Mistakes in arguments.
refuses "^luatrace-analyze: no trace given .see --help.$" "$analyze" --callers now.txt
cp now.txt report && good report && rm report

# One grammar for the files of outputs: --flame=FILE, or -o FILE; --flame FILE is explained, also if FILE exists.
for output in flame:html page:html json:json csv:csv folded:folded; do
  name=${output%:*} file=out.${output#*:}
  wrong "^luatrace-analyze: '$file' is taken as a trace; write --$name=$file \(" --$name $file
  good -q --force --$name=by.name && good -q --force --$name -o by.letter && good -q --force -o by.letter --$name
  sed -i -E 's/"madeAt":.*,"chart":/"chart":/' by.name by.letter  # a page has its time and its command
  cmp by.name by.letter || fail "--$name=FILE and -o FILE --$name differ"
  mv by.name $file
  wrong "^luatrace-analyze: '$file' is taken as a trace; write --$name=$file \(" --$name $file
  rm $file
  wrong "^luatrace-analyze: --output needs --format NAME, or one of --json, .* without a file of its own" --$name=x -o y
done
wrong "^luatrace-analyze: --output: several outputs have no file of their own" --json --csv -o y
refuses "^luatrace-analyze: none.bin: cannot open" "$analyze" none.bin --flame
for kind in LUA Lua C Builtin; do "$analyze" --kind $kind now.txt >/dev/null || fail "--kind $kind"; done

# Values.
wrong "'90%~10%' is empty: it does not end after its beginning" -r 90%~10%
wrong "'5ms~5ms' is empty" -r 5ms~5ms
wrong "'@1700000001~@1700000000' is empty" -r @1700000001~@1700000000
wrong "'0:5': Lua VMs are numbered from 1" --coroutine 0:5
wrong "is not the address of a Lua VM" --coroutine @x:5
wrong "is not the address of a Lua VM" --coroutine @:5
wrong "json= needs a value after the '='" --json=
wrong "^luatrace-analyze: --sysroot: 'none' is not a directory" --sysroot none
wrong "^luatrace-analyze: --debug-dir: 'now.txt' is not a directory" --debug-dir now.txt
wrong "the file name of a trace is empty" ""
wrong "invalid value '.x1b.31m'; choose name" --sort $'\e[31m'
good -r 10%~ --coroutine 1:2

# Files that are empty, missing, or given twice.
: >empty
refuses "^luatrace-analyze: empty: the file is empty$" "$analyze" -r 10%~ empty
refuses "^luatrace-analyze: none: cannot open" "$analyze" --diff none now.txt
[ ! -s out ] || fail "a difference to nothing: $(cat out)"
"$analyze" -q now.txt ./now.txt 2>err && same "twice" "luatrace-analyze: ./now.txt: given twice, so it is counted twice" "$(cat err)"

# --quiet is about the summary, not about a view.
same "-q alone" "" "$("$analyze" -q now.txt)"
[ -n "$("$analyze" -q --report now.txt)" ] || fail "-q --report says nothing"
same "-q and a comparison in a test" "" "$("$analyze" -q --diff before.txt --fail-if 'lost > 0' now.txt)"
[ -n "$("$analyze" -q --diff before.txt now.txt)" ] || fail "-q --diff says nothing"

# Without a cost there is nothing to take out.
sed 's/cost_ps=[0-9]*//' now.txt >outside.txt
"$analyze" -q --compensate --report outside.txt >out 2>err || fail "--compensate: $(cat err)"
grep -q "^luatrace-analyze: --compensate: the cost of recording is unknown" err || fail "--compensate of nothing is silent"
cp outside.txt too.txt
"$analyze" -q --compensate --report outside.txt now.txt too.txt >out 2>err || fail "--compensate: $(cat err)"
same "some without a cost" "luatrace-analyze: --compensate: the cost of recording is unknown for outside.txt, too.txt: their times are not corrected" "$(cat err)"

# Empty input, with options that need to know its end.
: >empty
refuses "^luatrace-analyze: standard input: the file is empty" "$analyze" -r 1ms~ - <empty
refuses "^luatrace-analyze: empty: the file is empty" "$analyze" -r 1ms~ empty
refuses "^luatrace-analyze: standard input: " "$analyze" -t 1ms - < <(:)

# What other languages write in a condition is refused, at its place.
while IFS=: read -r place expression; do
  wrong "^luatrace-analyze: --fail-if '.*': .* at '$place" --fail-if "$expression"
done <<'TABLE'
&& lost > 0:calls(handle) > 1 && lost > 0
&& lost > 0:(self(handle) > 1ms && lost > 0) or lost > 3
[|][|] lost > 0:self(handle) > 1ms || lost > 0
[|] lost > 0:self(handle) > 90% | lost > 0
 AND lost > 0:calls(handle) > 1 AND lost > 0
Or lost > 0:self(handle) > 90% Or lost > 0
= 1:calls(handle) = 1
= 5:calls(handle) === 5
= 5:calls(handle) !== 5
> 5:calls(handle) <> 5
~= 5:calls(handle) ~= 5
=> 20%:self(handle) => 20%
=< 20%[)]:(self(handle) =< 20%)
AND lost>1:AND lost>1
or lost > 2:lost > 1 and or lost > 2
and lost > 1[)]:(and lost > 1)
not lost > 1:not lost > 1
lost > 1[)]:NOT(lost > 1)
!lost > 1:!lost > 1
![(]lost > 3[)]:lost > 1 and !(lost > 3)
TABLE
for expression in 'lost == 1' 'lost!=0' 'lost>=1' 'events <=1'; do
  good --fail-if "$expression"
done

# Only one place of luatrace-analyze writes to standard error (see terminal_line.h); luatrace-top has no line there.
if found=$(cd "$source" && scripts/files | grep '^analyzer/.*\.cc$' | grep -vE '/tools/|/top/|/terminal_line.cc$' |
  xargs grep -lE 'std::(cerr|clog)|stderr'); then
  fail "standard error beside TerminalLine: $found"
fi
exit 0
