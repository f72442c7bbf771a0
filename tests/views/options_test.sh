#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --help, the man page, the completions of bash and zsh, and the parser know the
# same options.
#   options_test.sh LUATRACE-ANALYZE SHARE
. "$(dirname "$0")/../lib.sh"
analyze=$1 share=$2
man=$share/man/man1/luatrace-analyze.1
bash_file=$share/bash-completion/completions/luatrace-analyze
zsh_file=$share/zsh/site-functions/_luatrace-analyze

"$analyze" --help >"$scratch/help"
# Long options as each of them tells them, one a line.
from_help() { grep -oE '^ +(-[A-Za-z], )?--[a-z-]+' "$scratch/help" | grep -oE -- '--[a-z-]+' | sort; }
from_man() { grep -oE '^(\\fB\\-.\\fR, )?\\fB\\-\\-[a-z\\-]+' "$man" | sed 's/\\-/-/g' | grep -oE -- '--[a-z-]+' | sort; }
from_bash() {
  bash -c '. "$1"; COMP_WORDS=(luatrace-analyze --); COMP_CWORD=1; _luatrace_analyze
           printf "%s\n" "${COMPREPLY[@]}"' - "$bash_file" | grep -- '^--' | sort
}
from_zsh() { grep -oE "^  '\*?--[a-z-]+" "$zsh_file" | grep -oE -- '--[a-z-]+' | sort; }
letters_help() { grep -oE '^ +-[A-Za-z],' "$scratch/help" | grep -oE '[A-Za-z]' | sort; }
letters_zsh() { grep -oE "^  '\*?-[A-Za-z](\+)?\[" "$zsh_file" | grep -oE '[A-Za-z]' | sort; }
letters_man() { grep -oE '^\\fB\\-[A-Za-z]\\fR' "$man" | sed 's/.*\\-\(.\).*/\1/' | sort; }

[ "$(from_help | wc -l)" -gt 40 ] || fail "--help has only $(from_help | wc -l) options"
same "--help and the man page" "$(from_help)" "$(from_man)"
same "--help and bash" "$(from_help)" "$(from_bash)"
same "--help and zsh" "$(from_help)" "$(from_zsh)"
same "short options of --help and zsh" "$(letters_help)" "$(letters_zsh)"
same "short options of --help and the man page" "$(letters_help)" "$(letters_man)"

# The parser takes each of them (whatever it then says about the value), and no other.
for option in $(from_help) $(letters_help | sed 's/^/-/'); do
  [ $option = --help ] || [ $option = -h ] || [ $option = --version ] && continue
  "$analyze" $option 1 >/dev/null 2>"$scratch/err" </dev/null || true
  grep -q "unrecognised option" "$scratch/err" && fail "$option of --help is no option"
done
refuses "unrecognised option" "$analyze" --frobnicate x
refuses "unrecognised option" "$analyze" --repor x   # No guessing.

# Values of a choice are completed, files elsewhere.
complete_bash() {
  bash -c '. "$1"; shift; COMP_WORDS=(luatrace-analyze "$@"); COMP_CWORD=$#; _luatrace_analyze
           echo ${COMPREPLY[@]}' - "$bash_file" "$@"
}
same "completion of --kind" "lua" "$(complete_bash --kind l)"
same "completion of --coroutines=" "merged" "$(complete_bash --coroutines = m)"
same "completion of --color" "auto always never" "$(complete_bash --color '')"
cd "$scratch" && : >some.bin
same "completion of a trace" some.bin "$(complete_bash so)"
same "completion of --diff" some.bin "$(complete_bash --diff so)"

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
zpty -w -n z $'luatrace-analyze --caller\t'
sleep 2
zpty -w -n z $'\n'
zpty -r -m z out '*--caller*filter*|*callers*' && print -r -- "$out"
zpty -d z
ZSH
timeout 30 zsh -f "$scratch/complete.zsh" "$scratch/functions" "$(dirname "$analyze")" >"$scratch/zout" 2>&1 || true
grep -qE -- "--caller(s|-filter)" "$scratch/zout" || fail "zsh does not complete --caller: $(tail -c 300 "$scratch/zout")"
