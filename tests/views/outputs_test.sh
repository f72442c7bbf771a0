#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The outputs of luatrace-analyze that no row of views.table can express: terminals, several files,
# memory. Each case_NAME is a test of its own.
#   outputs_test.sh LUATRACE-ANALYZE DATA NAME
. "$(dirname "$0")/../lib.sh"
analyze=$1 data=$2 trace=$2/requests.txt
cd "$scratch"

# Several tables are one in CSV: each line has a value, or nothing, for each key of the first one.
case_tables() {
  "$analyze" --csv --report --coroutines --threads --info "$trace" >csv
  python3 - csv <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1]), restkey="more"))
assert all("more" not in row and None not in row.values() for row in rows)
views = [row["view"] for row in rows]
assert list(dict.fromkeys(views)) == ["info", "report", "creation_sites", "coroutines", "threads"], views
assert sum(int(row["self_ns"]) for row in rows if row["view"] == "report") == 100000000
assert [row["tid"] for row in rows if row["view"] == "threads"] == ["10"]
assert [row["tid"] for row in rows if row["view"] == "report"][0] == ""
PY
}

# --quiet is about the summary: a view that was asked for is printed.
case_quiet() {
  local view
  for view in --report --tree --coroutines --waits --threads --timeline --info --requests "--request 1" --turns; do
    # shellcheck disable=SC2086
    "$analyze" -q $view "$data/nginx.txt" >out
    [ -s out ] || fail "-q $view prints nothing"
  done
}

# A profile is the same if it is saved beside another output; the order of merging does not matter.
case_profiles() {
  "$analyze" -q --save-profile one.prof "$trace" && "$analyze" --json --save-profile same.prof "$trace" >json
  cmp one.prof same.prof || fail "two profiles of one trace differ"
  "$analyze" -q --save-profile sum1 one.prof "$trace" && "$analyze" -q --save-profile sum2 "$trace" one.prof
  cmp sum1 sum2 || fail "the order of merging matters"
}

case_unwritten() {
  "$analyze" --page=/dev/full "$trace" >out 2>err && fail "a page on a full disk"
  ! grep "flame graph:" out || fail "says that it wrote the page"
  # A part of a file on a full disk is removed; a file that existed stays as it was.
  for way in --page=part --folded=part --json=part --csv=part "--save-profile part" "--format pprof -o part" "--format chrome -o part"; do
    rm -f part
    # shellcheck disable=SC2086
    message=$( (ulimit -f 0; trap '' XFSZ; exec "$analyze" -q $way "$trace") 2>&1 >/dev/null) && fail "$way: written to a full disk"
    same "$way" "$message" "luatrace-analyze: part: cannot write: File too large"
    [ ! -e part ] || fail "$way: a part is left"
    # shellcheck disable=SC2086
    "$analyze" -q $way "$trace" && cp part whole
    # shellcheck disable=SC2086
    (ulimit -f 0; trap '' XFSZ; exec "$analyze" -q $way "$trace") 2>/dev/null >&2 && fail "$way: written to a full disk"
    cmp part whole || fail "$way: the file that existed is not as it was"
  done
  same "other names" "$(ls -A | grep -v '^\(out\|err\)$' | sort | xargs)" "part whole"
  [ -c /dev/full ] || fail "/dev/full was removed"
  "$analyze" --json=closed.json "$trace" >&- 2>err && fail "good without a standard output"
  jq -e . closed.json >json || fail "the summary is in the file"
}

# Each way of writing one file; %s is its name.
one_file=(--json=%s --csv=%s --folded=%s --page=%s --flame=%s "--save-profile %s" "--json -o %s" "--csv --report --fields calls -o %s"
  "--csv --info -o %s" "--csv --jit -o %s" "--json --jit -o %s" "--folded --group-by file -o %s" "--folded --diff $trace -o %s")
for format in folded speedscope perfetto chrome pprof callgrind csv json luaprofiler xmake luaprofile; do
  one_file+=("--format $format -o %s")
done

# Only an output of the same kind is overwritten, unless --force is given.
case_others() {
  printf 'local t = {}\nreturn t\n' >prog.lua
  printf 'id,name,email\n1,a,a@b\n' >users.csv
  printf 'worker 4;\nlisten 80\n' >app.conf
  printf 'worker 4\nlisten 80\n' >plain.conf
  printf '{\n "trace": true\n}\n' >other.json
  printf '<!DOCTYPE html>\n<html lang="en">\n<head>\n<title>luatrace</title>\n' >other.html
  echo text | gzip >other.gz
  printf '{"traceEvents":[]}\n' >other.chrome
  local way file others="prog.lua users.csv app.conf plain.conf other.json other.html other.gz other.chrome"
  # shellcheck disable=SC2086
  sha256sum $others >sums
  for way in "${one_file[@]}"; do
    for file in $others; do
      # shellcheck disable=SC2086
      refuses "^luatrace-analyze: $file: it exists and is not .*--force overwrites it" "$analyze" -q ${way//%s/$file} "$trace"
    done
    sha256sum --quiet -c sums || fail "$way: a file of others is not as it was"
    rm -f ours && : >empty
    # shellcheck disable=SC2086
    for file in ours ours empty; do "$analyze" -q ${way//%s/$file} "$trace" 2>err || fail "$way: its own file: $(cat err)"; done
    cp prog.lua forced
    # shellcheck disable=SC2086
    "$analyze" -q --force ${way//%s/forced} "$trace" || fail "$way: --force"
    # shellcheck disable=SC2086
    "$analyze" -q ${way//%s//dev/stdout} "$trace" >out || fail "$way: /dev/stdout"
    cmp prog.lua forced >err && fail "$way: --force has not overwritten the file"
    [ -s out ] || fail "$way: nothing in /dev/stdout"
  done
  refuses "prog.lua: it exists and is not a trace" "$analyze" --convert prog.lua "$trace"
  "$analyze" --convert t.bin "$trace" && "$analyze" --convert t.bin "$trace" || fail "--convert of its own file"
  # The page next to the trace; and the head of a page of version 0.1.
  cp "$trace" t.txt && cp prog.lua t.html
  refuses "t.html: it exists and is not a page of luatrace" "$analyze" --flame t.txt
  printf '<!DOCTYPE html>\n<!-- SPDX-License-Identifier: MIT -->\n<html lang="en">\n<head>\n<meta charset="utf-8">\n' >t.html
  echo "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-x'; style-src 'unsafe-inline'\">" >>t.html
  "$analyze" -q --flame t.txt || fail "a page of version 0.1 is not overwritten"
}

# A signal leaves an older file as it is, and no other one.
sleeping() { grep -E '^State:.*S' "/proc/$1/status" >/dev/null; }
case_killed() {
  "$analyze" -q --format chrome -o calls.json "$trace" && cp calls.json before
  mkfifo trace
  "$analyze" -q --format chrome -o calls.json --json=new.json trace &
  local pid=$!
  exec 5>trace
  head -c 2000 "$trace" >&5
  within 20 "the trace to be read" sleeping $pid
  kill -TERM $pid
  wait $pid && fail "not ended by the signal"
  exec 5>&-
  cmp calls.json before || fail "the file is not as it was"
  same "files" "$(ls -A | sort | xargs)" "before calls.json trace"
}

# One grammar: whatever is meant is done, or the message has the right form.
case_grammar() {
  refuses "'out.txt' is taken as a trace; write --folded=out.txt" "$analyze" --folded out.txt "$trace"
  refuses "'out.pb.gz' is taken as a trace; write --format pprof -o out.pb.gz" "$analyze" --format pprof out.pb.gz "$trace"
  "$analyze" --format pprof -o out.pb.gz "$trace"
  refuses "'out.pb.gz' is taken as a trace; write --format pprof -o out.pb.gz" "$analyze" --format pprof out.pb.gz "$trace"
  refuses "'out.txt' is taken as a trace; write --dump TRACE > out.txt" "$analyze" --dump out.txt "$trace"
  refuses "--dump writes to standard output: redirect it \(--dump TRACE > out.txt\)" "$analyze" --dump -o out.txt "$trace"
  refuses "none.bin: cannot open: No such file" "$analyze" --folded none.bin
  [ ! -e out.txt ] || fail "out.txt was written"
}

# At any width main chunks have their names, no number is cut, and the column of the order is there.
case_widths() {
  local width view chunk
  for width in 40 41 44 50 60 70 80 100 120; do
    for view in --report --tree --waits --timeline --turns "--callers ngx.sleep" --coroutines; do
      # shellcheck disable=SC2086
      "$analyze" --width $width $view "$data/nginx.txt" >out
      for chunk in 'access_by_lua(nginx.conf:12)' 'content_by_lua(nginx.conf:20)'; do
        grep -F "$chunk" out >/dev/null || fail "$view has no $chunk in $width columns: $(cat out)"
      done
      # The longest of them, header_filter_by_lua(nginx.conf:30), has no space beside a column of numbers in 46 columns.
      [ $width -le 46 ] || ! grep -E '_by_[^ ]*\.\.\.|\.\.\.[^ ]*nginx\.conf' out || fail "$view cuts main chunks in $width columns"
      [ "$(LC_ALL=C.UTF-8 wc -L <out)" -le $width ] || fail "$view is wider than $width columns"
    done
    for view in --requests "--requests --sort running" --turns --report "--report --sort p99"; do
      # shellcheck disable=SC2086
      "$analyze" --width $width $view "$data/nginx.txt" >out
      head -n 1 out | grep '▼' >/dev/null || fail "$view has no order in $width columns: $(cat out)"
      ! grep -E '[0-9]\.\.\.|[0-9]{3}\.?[0-9]* ?\.\.\.' out || fail "$view cuts numbers in $width columns"
    done
  done
}

# What a limit leaves out is in JSON, and beside CSV in a message.
case_limits() {
  "$analyze" --json --report --requests --waits --limit 2 "$data/nginx.txt" >json
  same "left out" "$(jq -c '[.left_out.report > 0, .left_out.requests, .left_out.waits > 0, (.requests | length)]' json)" "[true,3,true,2]"
  same "left out of all" "$("$analyze" --json --requests --limit 0 "$data/nginx.txt" | jq -c .left_out)" null
  "$analyze" --csv --requests --limit 2 "$data/nginx.txt" >csv 2>err
  same "message" "$(cat err)" "luatrace-analyze: --csv: requests: 3 more rows: --limit 0 writes them"
  same "with -q" "$("$analyze" -q --csv --requests --limit 2 "$data/nginx.txt" 2>&1 >csv)" ""
}

# The summary's table is that of --report, with a mark at the column by which it is sorted.
case_default() {
  "$analyze" "$trace" >summary && "$analyze" --report "$trace" >report
  same "the tables" "$(sed -n '/^calls/,/^$/p' summary)" "$(sed -n '/^calls/,/^$/p' report)"
  same "the columns" "$(sed -n '/^calls/{s/  */ /g;p}' summary)" "calls inclusive self▼ self % avg p50 p99 max function"
  same "the keys of --csv" "$("$analyze" --csv "$trace" | head -n 1)" "$("$analyze" --csv --report "$trace" | head -n 1)"
  same "by calls" "$("$analyze" --sort calls "$trace" | sed -n '/^calls/{s/  */ /g;p}')" "calls▼ inclusive self self % avg p50 p99 max function"
  same "by name" "$("$analyze" --report --sort name --fields self,p99 "$trace" | sed -n '1s/^ *//;1s/  */ /gp')" "self p99 function▲"
  same "by a field without a column" "$("$analyze" --report --sort p50 --fields self "$trace" | sed -n '1s/^ *//;1s/  */ /gp')" "self function"
}

# Colour only where it is wanted; no wider than the terminal.
case_terminal() {
  export TERM=xterm
  on_terminal() { script -qec "$1" /dev/null </dev/null; }
  on_terminal "$analyze --format pprof $trace; echo status \$?" >out
  grep "is binary: give it a file" out && grep "status 1" out || fail "pprof on a terminal: $(head -c 300 out)"
  local report="$analyze --report $trace 2>err" colour=$'\033'
  $analyze --color=always --report "$trace" | grep "$colour" || fail "--color=always"
  ! $analyze --report "$trace" | grep "$colour" || fail "colour in a pipe"
  on_terminal "$report" | grep "$colour" || fail "no colour on a terminal"
  ! NO_COLOR=1 on_terminal "$report" | grep "$colour" || fail "NO_COLOR"
  ! TERM=dumb on_terminal "$report" | grep "$colour" || fail "TERM=dumb"
  on_terminal "stty cols 90; $report" | tr -d '\r' | sed 's/\x1b\[[0-9;]*m//g' | grep -v '^trust' |
    awk 'length > 90 && /lua/ && !/\.\.\.$/ { bad = 1 } END { exit bad }' || fail "wider than the terminal"
}

# A call of a coroutine that began before the slow call, or goes on after it: of its time the slow
# call has what ran in it; the call itself is one of those that it made if it began in it.
case_slow() {
  slow_of() { # WHAT EXPECTED RECORD...
    { sed '/^0 1 entry 1/q' "$data/own.txt"; echo '20 1 resume 2'; printf '%s\n' "${@:3}" '110 1 return 1' '110 1 stop close' 'end exit=0'; } |
      sed '/^func 1:2/a func 1:3 lua line=1 chunk="@z.lua" name="f3"' >slow.txt
    same "$1" "$2" "$("$analyze" -q --json --slow f3 -t 20ns slow.txt | jq -c '[.slow[]|[.name,.calls,.self_ns]]')"
  }
  slow_of "a call that began before" '[["f3",1,20],["f2",0,10]]' \
    '20 1 entry 2' '60 1 suspend yield' '70 1 entry 3' '75 1 resume 2' '85 1 return 2' '85 1 suspend done' '100 1 return 3'
  slow_of "a short one that began before" '[["f3",1,30]]' \
    '20 1 entry 2' '25 1 suspend yield' '70 1 entry 3' '75 1 resume 2' '85 1 return 2' '85 1 suspend done' '100 1 return 3'
  slow_of "a call that goes on" '[["f3",1,20],["f2",1,35]]' '20 1 suspend yield' '20 1 entry 3' '25 1 resume 2' '25 1 entry 2' \
    '60 1 suspend yield' '75 1 return 3' '80 1 resume 2' '85 1 return 2' '85 1 suspend done'
}

# Times apportioned in compiled segments are marked wherever they are shown; those of `exact` are not.
case_segments() {
  local seg=$data/segments.txt of='map([.name,.apportioned_ns//0,.self_apportioned_ns//0,.inside//0])'
  same "rows" "main ~350 ~190 350
exact 100 100 100
work ~60 ~60 ~20" "$("$analyze" -q --report --fields inclusive,self,avg "$seg" | sed -n '/ ns/s/ ns//gp' | awk '{print $4, $1, $2, $3}')"
  same "note" "  (~: more than 1 % of it is apportioned inside compiled segments; -: not known)" "$("$analyze" -q --report "$seg" | grep '~:')"
  same "trust line" "42.9 % of the time apportioned inside compiled segments" "$("$analyze" --report "$seg" | sed -n 's/^trust:.*, //p')"
  same "JSON" '[["exact",0,0,0],["main",150,90,0],["work",60,60,3]]' "$("$analyze" -q --json "$seg" | jq -c ".functions|$of")"
  same "JSON, rows" '[["main",150,90,0],["exact",0,0,0],["work",60,60,3]]' "$("$analyze" -q --report --json "$seg" | jq -c ".report|$of")"
  same "JSON, sum" 150 "$("$analyze" -q --json "$seg" | jq .trace.apportioned_ns)"
  same "what is not known" '[null,null,20]' "$("$analyze" -q --json "$seg" | jq -c '.functions[2]|[.min_ns,.max_ns,.avg_ns]')"
  same "--csv" "150,90,0 0,0,0 60,60,3" "$("$analyze" -q --csv --report "$seg" | tail -n +2 | grep -o '[0-9]*,[0-9]*,[0-9]*,[0-9]*$' | cut -d, -f1-3 | xargs)"
  same "--format csv" "apportioned_ns,self_apportioned_ns,inside 150,90,0 0,0,0 60,60,3" \
    "$("$analyze" -q --format csv -o - "$seg" | cut -d, -f15- | xargs)"
  same "--format csv without segments" "function,file,line,kind,calls,complete,wall_ns,inclusive_ns,self_ns,min_ns,max_ns,avg_ns,hint,running_ns" \
    "$("$analyze" -q --format csv -o - "$trace" | head -1)"
  same "--slow" '[["main",150,90,0],["exact",0,0,0],["work",60,60,0]]' "$("$analyze" -q --json --slow main "$seg" | jq -c ".slow|$of")"
  "$analyze" -q --slow main "$seg" >slow
  same "--slow, rows" "main ~350 ~190
exact 100 100
work ~60 ~60" "$(sed -n '/^ *[0-9].*(x.lua/s/ ns//gp' slow | awk '{print $6, $2, $3}')"
  "$analyze" -q --page=page.html "$seg" && grep -q '"apportioned":\[' page.html || fail "the page does not say what is apportioned"
  "$analyze" -q --save-profile seg.prof "$seg"
  same "a saved profile" "$("$analyze" -q --format csv -o - "$seg")" "$("$analyze" -q --format csv -o - seg.prof)"
}

# Short calls within each other that went through many threads: their pieces of time are not kept
# once for each of them.
case_memory() {
  python3 - deep.txt "$analyze" <<'PY'
import resource, subprocess, sys
deep = range(3000)
head = ('#luatrace-text 1\nclock monotonic mult=1 shift=0\nprocess 1 pid=7\nstream 1 process=1 tid=7 recording=1\n'
        'func 1:1 lua line=1 chunk="@x.lua" name="f1"\n0 1 start\n0 1 ringblock co=1 tid=7 rec=1\n')
with open(sys.argv[1], "w") as out:
    out.write(head + "".join(f"{i} 1 entry 1\n" for i in deep) +
              "".join(f"{3000 + i} 1 thread {100 + i}\n" for i in deep) + "6000 1 return 1\n" * 3000 + "end exit=0\n")
def megabytes(view, *more):  # The peak so far, of all runs.
    subprocess.run([sys.argv[2], "-q", *more, view, sys.argv[1]], check=True, stdout=-3, stderr=-3)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
for view in "--threads", "--timeline":
    plain, short = megabytes(view), megabytes(view, "-t", "1s")
    assert short < plain + 64, (view, plain, short)
PY
}

"case_$3"
