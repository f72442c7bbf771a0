#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --help, the man page, the completions of bash and zsh, and the parser know the
# same options.
#   options_test.sh PROGRAM SHARE NUMBER    (at least so many options)
. "$(dirname "$0")/../lib.sh"
program=$1 share=$2 number=$3
name=$(basename "$program")
function=_${name//-/_}
man=$share/man/man1/$name.1
bash_file=$share/bash-completion/completions/$name
zsh_file=$share/zsh/site-functions/_$name

"$program" --help >"$scratch/help"
# The long options in each of them, one a line.
from_help() { grep -oE '^ {2,6}(-[A-Za-z], )?--[a-z-]+' "$scratch/help" | grep -oE -- '--[a-z-]+' | sort; }
from_man() { grep -oE '^(\\fB\\-.\\fR, )?\\fB\\-\\-[a-z\\-]+' "$man" | sed 's/\\-/-/g' | grep -oE -- '--[a-z-]+' | sort; }
# complete_bash WORD...: what bash offers for the last of them.
complete_bash() {
  bash -c '. "$1"; function=$2 name=$3; shift 3; COMP_WORDS=("$name" "$@"); COMP_CWORD=$#; $function
           printf "%s\n" "${COMPREPLY[@]}"' - "$bash_file" "$function" "$name" "$@"
}
from_bash() { complete_bash -- | grep -- '^--' | sort; }
from_zsh() { grep -oE "^  '\*?--[a-z-]+" "$zsh_file" | grep -oE -- '--[a-z-]+' | sort; }
letters_help() { grep -oE '^ +-[A-Za-z],' "$scratch/help" | grep -oE '[A-Za-z]' | sort; }
letters_zsh() { grep -oE "^  '\*?-[A-Za-z](\+)?\[" "$zsh_file" | grep -oE '[A-Za-z]' | sort; }
letters_man() { grep -oE '^\\fB\\-[A-Za-z]\\fR' "$man" | sed 's/.*\\-\(.\).*/\1/' | sort; }
letters_bash() { complete_bash - | grep -E '^-[A-Za-z]$' | tr -d - | sort; }

[ "$(from_help | wc -l)" -ge "$number" ] || fail "--help has only $(from_help | wc -l) options"
same "--help and the man page" "$(from_help)" "$(from_man)"
same "--help and bash" "$(from_help)" "$(from_bash)"
same "--help and zsh" "$(from_help)" "$(from_zsh)"
same "short options of --help and zsh" "$(letters_help)" "$(letters_zsh)"
same "short options of --help and bash" "$(letters_help)" "$(letters_bash)"
same "short options of --help and the man page" "$(letters_help)" "$(letters_man)"

# In a narrow terminal no line of --help is wider than the terminal, and no option is missing.
all=$(from_help)
script -qec "stty cols 60; '$program' --help" /dev/null </dev/null | tr -d '\r' >"$scratch/help"
same "--help in a narrow terminal" "$all" "$(from_help)"
[ -z "$(awk 'length > 60' "$scratch/help")" ] || fail "too wide: $(awk 'length > 60' "$scratch/help")"

# The parser takes each of them (whatever it then says about the value), and no other.
for option in $(from_help) $(letters_help | sed 's/^/-/'); do
  [ $option = --help ] || [ $option = -h ] || [ $option = --version ] && continue
  "$program" $option 1 >/dev/null 2>"$scratch/err" </dev/null || true
  grep -q "unrecognised option" "$scratch/err" && fail "$option of --help is no option"
done
refuses "unrecognised option" "$program" --frobnicate x
refuses "unrecognised option" "$program" --qui x   # No guessing.
[[ $name =~ ^luatrace(-top)?$ ]] || refuses "unrecognised option '--quie'; did you mean --quiet\?" "$program" --quie x
refuses "unrecognised option '--versoin'; did you mean --version\?" "$program" --versoin x
refuses "unrecognised option '--zzz'( |$)" "$program" --zzz x
refuses "version. does not take|does not take any" "$program" --version=3
"$program" --version | grep -E "^$name [0-9.]+$" >/dev/null || fail "--version: $("$program" --version)"

# Values of a choice are completed, files elsewhere.
offers() { same "completion of ${*:2}" "$1" "$(complete_bash "${@:2}" | paste -sd' ')"; }
cd "$scratch" && : >some.bin && : >"my trace.bin"
if [ "$name" = luatrace-analyze ]; then
  offers "lua" --kind l
  offers "merged" --coroutines = m
  offers "auto always never" --color ''
  offers some.bin so
  offers some.bin --diff so
  offers "my trace.bin" --diff my
  offers some.bin -- so
  offers "" -- --
  offers "self,inclusive" --fields self,in
  refuses "'-1' is not a number" "$program" --limit=-1 x
  refuses "'99999999999999999999' is out of range" "$program" --limit 99999999999999999999 x
elif [ "$name" = luatrace ]; then
  offers "record analyze top" ''
  offers some.bin analyze --diff so
  offers "auto direct bpf" record --via ''
  offers "my trace.bin" analyze my
  complete_bash record -o x ca | grep -x cat >/dev/null || fail "bash does not complete the command of record"
  # It runs the programs of its own folder, by the name by which it was called, and with their statuses.
  mkdir bin && cp "$program" bin/ && printf '#!/bin/sh\necho "$0 $#: $*"; exit 7\n' >bin/luatrace-record && chmod +x bin/luatrace-record
  status=0
  out=$(bin/luatrace record -o "a b" -- -x --help) || status=$?
  same "luatrace record" "$status $out" "7 $PWD/bin/luatrace-record 5: -o a b -- -x --help"
  same "luatrace analyze --version" "$("$program" analyze --version)" "$("$(dirname "$program")/luatrace-analyze" --version)"
  refuses "^luatrace: missing program: record, analyze or top" "$program"
  refuses "^luatrace: 'recrd': no such program; choose record, analyze or top" "$program" recrd -o x
  rm bin/luatrace-record
  refuses "^luatrace: luatrace-record: cannot execute: No such file" env PATH=/nowhere "$PWD/bin/luatrace" record
elif [ "$name" = luatrace-top ]; then
  offers "self samples suspended" --sort s
  offers "--requests --request-by" --req
  offers "auto direct bpf" --via ''
  complete_bash -p "$$" | grep -x "$$" >/dev/null || fail "bash does not complete -p"
  offers "" so
  refuses "may be given only once" "$program" -p 1 --count 1 --count 2
else
  offers "none" --c-functions n
  offers "auto direct bpf" --via ''
  offers some.bin -o so
  complete_bash -o x -d 3 ca | grep -x cat >/dev/null || fail "bash does not complete the command"
  offers some.bin -o x cat so
  complete_bash -p "$$" | grep -x "$$" >/dev/null || fail "bash does not complete -p"
  refuses "may be given only once" "$program" -o x -o y true
  refuses "invalid value 'x'; choose none, user, default, all or ffi" "$program" -o x --c-functions x true
fi

man -l --warnings=w "$man" >"$scratch/page" 2>"$scratch/err" || fail "man: $(cat "$scratch/err")"
[ ! -s "$scratch/err" ] || fail "the man page has warnings: $(cat "$scratch/err")"
for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" EXAMPLES ENVIRONMENT FILES "SEE ALSO"; do
  sed -n "/^$section\$/,/^[A-Z]/p" "$scratch/page" | grep -E "^ +[^ ]" >/dev/null || fail "no $section in the man page"
done
for other in luatrace luatrace-record luatrace-analyze; do
  [ $other = "$name" ] || grep -qE "(^| )$other\(1\)" "$scratch/page" || fail "no $other in SEE ALSO"
done
"$program" --help | grep -A1 '^Examples:$' | grep "^  $name " >/dev/null || fail "no examples in --help"

# zsh reads its file, and completes with it.
command -v zsh >/dev/null || fail "no zsh here: scripts/deps --test"
zsh -n "$zsh_file" || fail "zsh: syntax"
mkdir -p "$scratch/functions" && cp "$zsh_file" "$scratch/functions/"
[ "$name" != luatrace ] || cp "$(dirname "$zsh_file")"/_luatrace-* "$scratch/functions/"
cat >"$scratch/complete.zsh" <<'ZSH'
# complete.zsh FUNCTIONS PROGRAMS LINE...: prints what Tab makes of each line.
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=($1 \$fpath); path+=($2); autoload -Uz compinit; compinit -D -u; unsetopt BEEP; LISTMAX=0"
# A key that shows the line. Keys are taken one after the other: the completion is done by then.
zpty -w z 'show() { zle -I; print -r -- "<<$BUFFER>>"; BUFFER=; }; zle -N show; bindkey "^Xs" show'
for line in "${@:3}"; do
  zpty -w -n z "$line"$'\t\x18s'
  zpty -r -m z out "*<<${line%% *} *>>*"
  print -r -- "${${out##*<<}%%>>*}"
done
zpty -d z
ZSH
# completes LINE RESULT LINE RESULT...
completes() {
  local lines=() wanted=()
  while [ $# -gt 0 ]; do
    lines+=("$name $1") wanted+=("$name $2")
    shift 2
  done
  # The limit is for a zsh that hangs.
  timeout 300 zsh -f "$scratch/complete.zsh" "$scratch/functions" "$(dirname "$program")" "${lines[@]}" \
    >"$scratch/zout" 2>"$scratch/err" || fail "zsh: status $?: $(cat "$scratch/err")"
  same "completions of zsh" "$(cat "$scratch/zout")" "$(printf '%s\n' "${wanted[@]}")"
}
if [ "$name" = luatrace-analyze ]; then
  completes --caller-f --caller-filter= --coroutines=m '--coroutines=merged ' --kind=l '--kind=lua ' \
    so 'some.bin ' '--diff so' '--diff some.bin ' '-o so' '-o some.bin ' --allow-m '--allow-missing '
elif [ "$name" = luatrace ]; then
  completes rec 'record ' 'record --ring' 'record --ring-size=' 'analyze so' 'analyze some.bin ' 'record -o so' 'record -o some.bin ' \
    'analyze --kind=l' 'analyze --kind=lua '
  exit 0 # no option has a choice of values
elif [ "$name" = luatrace-top ]; then
  completes --interv --interval= --via=b '--via=bpf ' --chil '--children ' so so
else
  completes --ring --ring-size= '-o x --c-functions n' '-o x --c-functions none ' --block '--block ' \
    '-o so' '-o some.bin ' '-o x cat so' '-o x cat some.bin '
fi

# bash and zsh offer the same values of each choice.
choices=0
while read -r option words; do
  same "values of $option of bash and zsh" "$(complete_bash "$option" = '' | paste -sd' ')" "$words"
  choices=$((choices + 1))
done < <(sed -nE "s/^  '\*?(--[a-z-]+)=-?\[.*:\(([^()]*)\)' .$/\1 \2/p" "$zsh_file")
[ $choices -ge 3 ] || fail "only $choices options with a choice of values in $zsh_file"
