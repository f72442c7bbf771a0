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
# Long options as each of them tells them, one a line.
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

# In a narrow terminal no line of --help is longer than that, and none is missing.
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
refuses "unrecognised option '--quie'; did you mean --quiet\?" "$program" --quie x
refuses "unrecognised option '--versoin'; did you mean --version\?" "$program" --versoin x
refuses "unrecognised option '--zzz'( |$)" "$program" --zzz x
refuses "version. does not take|does not take any" "$program" --version=3
"$program" --version | grep -qE "^$name [0-9.]+$" || fail "--version: $("$program" --version)"

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
  offers "self,total" --fields self,to
  refuses "'-1' is not a number" "$program" --top=-1 x
  refuses "'99999999999999999999' is out of range" "$program" --limit 99999999999999999999 x
  partial=--caller full=--caller-filter
else
  offers "none" --c-functions n
  offers "auto direct bpf" --via ''
  offers some.bin -o so
  complete_bash -o x -d 3 ca | grep -x cat >/dev/null || fail "bash does not complete the command"
  offers some.bin -o x cat so
  complete_bash -p "$$" | grep -x "$$" >/dev/null || fail "bash does not complete -p"
  refuses "may be given only once" "$program" -o x -o y true
  refuses "invalid value 'x'; choose none, user, default or all" "$program" -o x --c-functions x true
  partial=--ring full=--ring-size
fi

man -l --warnings=w "$man" >"$scratch/page" 2>"$scratch/err" || fail "man: $(cat "$scratch/err")"
[ ! -s "$scratch/err" ] || fail "the man page has warnings: $(cat "$scratch/err")"
grep -q "EXIT STATUS" "$scratch/page" || fail "no EXIT STATUS in the man page"

# zsh reads its file, and completes with it.
command -v zsh >/dev/null || fail "no zsh here: scripts/deps --test"
zsh -n "$zsh_file" || fail "zsh: syntax"
mkdir -p "$scratch/functions" && cp "$zsh_file" "$scratch/functions/"
cat >"$scratch/complete.zsh" <<'ZSH'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u; zstyle ':completion:*' list-prompt ''; LISTMAX=0; unsetopt BEEP; path+=($2)"
zpty -w z "print READY"
zpty -r -m z out '*READY*READY*' || zpty -r -m z out '*READY*'
zpty -w -n z "$3"$'\t'
sleep 2
zpty -w -n z $'\n'
zpty -r -m z out "*$4*" && print -r -- "$out"
zpty -d z
ZSH
timeout 30 zsh -f "$scratch/complete.zsh" "$scratch/functions" "$(dirname "$program")" "$name $partial" "$full" \
  >"$scratch/zout" 2>&1 || true
grep -qE -- "$full" "$scratch/zout" || fail "zsh does not complete $partial: $(tail -c 300 "$scratch/zout")"
