#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The man page and the completions of luatrace-fleet, which are generated from a table, have the
# options and the statuses of its --help, and its parser takes these options.
#   manual.sh FOLDER_OF_PROGRAMS SHARE
. "$(dirname "$0")/../lib.sh"
fleet=$1/luatrace-fleet share=$2
man=$share/man/man1/luatrace-fleet.1
bash_file=$share/bash-completion/completions/luatrace-fleet
zsh_file=$share/zsh/site-functions/_luatrace-fleet

"$fleet" --help >"$scratch/help"
wanted=$(grep -oE '^ +(-[a-z], )? *--[a-z]+' "$scratch/help" | grep -oE -- '--[a-z]+' | sort)
[ "$(wc -l <<<"$wanted")" -ge 12 ] || fail "--help has only: $wanted"
same "--help and the man page" "$wanted" "$(sed 's/\\f.//g; s/\\-/-/g' "$man" | grep -oE '^(-[a-z], )?--[a-z]+' | grep -oE -- '--[a-z]+' | sort)"
# complete WORD...: what bash offers for the last of them.
complete() {
  bash -c '. "$1"; shift; COMP_WORDS=(luatrace-fleet "$@"); COMP_CWORD=$#; _luatrace_fleet
           printf "%s\n" "${COMPREPLY[@]}"' - "$bash_file" "$@"
}
same "--help and bash" "$wanted" "$(complete -- | grep -- '^--' | sort)"
same "places of bash" "local slurm parallel" "$(complete --on '' | paste -sd' ')"
same "--help and zsh" "$wanted" "$(grep -oE "^  '\*?--[a-z]+" "$zsh_file" | grep -oE -- '--[a-z]+' | sort)"
command -v zsh >/dev/null || fail "no zsh here: scripts/deps --test"
zsh -n "$zsh_file" || fail "zsh: syntax"
for option in $wanted; do
  "$fleet" "$option" "" >"$scratch/out" 2>&1 </dev/null || true
  ! grep "unknown option" "$scratch/out" || fail "$option of --help is no option"
done

man -l --warnings=w "$man" >"$scratch/page" 2>"$scratch/err" || fail "man: $(cat "$scratch/err")"
[ ! -s "$scratch/err" ] || fail "the man page has warnings: $(cat "$scratch/err")"
for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" EXAMPLES ENVIRONMENT FILES "SEE ALSO"; do
  sed -n "/^$section\$/,/^[A-Z]/p" "$scratch/page" | grep -E "^ +[^ ]" >/dev/null || fail "no $section in the man page"
done
statuses() { sed -n "/^$1\$/,/^[A-Z]/p" "$2" | grep -oE '^ +[0-9]+  ' | tr -d ' '; }
same "exit statuses" "$(sed -n '/^Exit status:$/,$p' "$scratch/help" | grep -oE '^ +[0-9]' | tr -d ' ')" "$(statuses 'EXIT STATUS' "$scratch/page")"
for other in luatrace luatrace-record luatrace-analyze; do
  grep -qE "(^| )$other\(1\)" "$scratch/page" || fail "no $other in SEE ALSO"
done
