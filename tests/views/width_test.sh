#!/bin/bash
# SPDX-License-Identifier: MIT
#
# On a terminal (a real one, of script(1)) no line of any view is longer than the
# terminal, from 40 columns on.
#   width_test.sh LUATRACE-ANALYZE LUATRACE-RECORD LUAJIT SOURCE
. "$(dirname "$0")/../lib.sh"
analyze=$1 record=$2 luajit=$3 source=$4
export TERM=xterm LC_ALL=C.UTF-8
unset COLUMNS NO_COLOR
setting=  # Of a variable, inside the shell of script(1), which sets COLUMNS itself.
cd "$scratch"
"$record" -q -o now.bin -- "$luajit" "$source/examples/server.lua" 60 slow >/dev/null
# Of segments the cost of recording is not known.
"$record" -q --times events -o single.bin -- "$luajit" "$source/examples/server.lua" 60 slow >/dev/null
"$record" -q -o before.bin -- "$luajit" "$source/examples/server.lua" 60 >/dev/null
# Names that are longer than any terminal.
name=$(printf 'd%.0s' {1..300})
sed "s|@plugins/auth/init.lua|@$name/$name|; s|name=\"handle\"|name=\"$name\"|" "$source/tests/views/data/requests.txt" >long.txt

# on COLUMNS ARGUMENT...: what a terminal of so many shows, without colours and the progress that was
# written over.
on() {
  local columns=$1
  shift
  script -qec "stty cols $columns rows 50; $setting $analyze $(printf '%q ' "$@")" /dev/null </dev/null |
    sed 's/.*\r\x1b\[K//; s/\x1b\[[0-9;]*m//g' | tr -d '\r' >screen
}
views=("" --info --report --tree "--tree --suspended" "--callers find" "--callees handle" "--hist handle"
  "--slow handle --limit 2" "--slow handle --wall --limit 2" --coroutines --waits --threads --timeline --symbols
  "--request-by handle" "--request 1 --request-by handle" "--turns --request-by handle"
  "--timeline --limit 0" "--report --group-by file" "--tree --group-by coroutine --limit 10"
  "--report --fields calls,inclusive,self,share,avg,min,max,stddev,wall,complete,p50,p90,p99,p99.9"
  "--diff before.bin" "--tree --diff before.bin" "--diff before.bin --normalize" --help)
for columns in 40 60 80 120 200; do
  for view in "${views[@]}" "--report --compensate single.bin"; do
    case $view in *single.bin) trace= ;; *) trace=now.bin ;; esac
    # shellcheck disable=SC2086
    on $columns $view $trace
    [ -s screen ] || fail "$view on $columns columns says nothing"
    [ "$(wc -L <screen)" -le "$columns" ] || fail "$view on $columns columns:
$(awk -v limit=$columns 'length > limit' screen)"
  done
  for view in "" --info --report --tree --coroutines --waits --timeline --threads --symbols "--slow /d/" "--request-by /d/" "--request 1 --request-by /d/" --turns; do
    [ $columns -le 80 ] || continue
    # shellcheck disable=SC2086
    on $columns $view long.txt
    [ "$(wc -L <screen)" -le "$columns" ] || fail "$view of long names on $columns columns: $(cat screen)"
  done
done

# All of the width is used: by the name, the bars, the time line.
on 40 --report now.bin
grep -q '  check$' screen || fail "no name in a narrow table: $(cat screen)"
on 40 --hist handle now.bin
grep -q '%' screen && grep -q '█$' screen || fail "--hist in 40 columns: $(cat screen)"
grep -q '\.\.\.' screen && fail "a bar is cut: $(cat screen)"
on 40 --timeline now.bin
same "the time line is as wide as the terminal" 40 "$(grep '^thread' screen | wc -L)"

# The corrected columns of --compensate, with their marks, are left out last, but for the one by
# which the rows are sorted; of the columns of --fields the last ones are left out first.
for view in "" --report; do
  # shellcheck disable=SC2086
  on 40 --compensate $view "$source/tests/views/data/requests.txt"
  grep -qE "^ *self▼ +self' +function" screen && grep -qE '([0-9.]+ ms +){2}! .*auth' screen ||
    fail "--compensate $view in 40 columns: $(cat screen)"
done
for columns in 50 80 100; do
  for view in "" --report --tree; do
    # shellcheck disable=SC2086
    on $columns --compensate $view "$source/tests/views/data/requests.txt"
    grep -qE "inclusive' +self' +" screen && grep -qE '([0-9.]+ ms +){2}! .*auth' screen ||
      fail "--compensate $view in $columns columns: $(cat screen)"
  done
done
on 80 --compensate --report --sort p99 "$source/tests/views/data/requests.txt"
grep -qE "^calls .* p99▼ +inclusive' +self' +function" screen || fail "--compensate --sort p99 in 80 columns: $(cat screen)"
on 60 --compensate --report --fields calls,inclusive,self,avg,max "$source/tests/views/data/requests.txt"
grep -qE "^calls +inclusive +self▼ +avg +max " screen || fail "--compensate --fields in 60 columns: $(cat screen)"

# In 80 columns a coroutine's life, its birth and what it waited for are in sight.
on 80 --coroutines now.bin
grep -qE '^ *VM +id +life +running +suspended +resumes +longest.* body +created in *$' screen || fail "--coroutines in 80 columns: $(cat screen)"
grep -qE '^ *coroutines +running +suspended +resumes +body +created in +longest' screen || fail "--coroutines in 80 columns: $(cat screen)"

# An exported COLUMNS overrides the width of the terminal; it does not matter for a pipe.
setting=COLUMNS=70
on 120 --timeline now.bin
same "COLUMNS" 70 "$(grep '^thread' screen | wc -L)"
for setting in COLUMNS=0 COLUMNS=x COLUMNS=99999999999999999999; do
  on 60 --timeline now.bin
  same "$setting" 60 "$(grep '^thread' screen | wc -L)"
done
COLUMNS=40 "$analyze" --report now.bin | grep >/dev/null "(.*server.lua:21)$" || fail "COLUMNS cuts what a pipe gets"
exit 0
