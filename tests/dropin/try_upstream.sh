#!/bin/bash
# SPDX-License-Identifier: MIT
#
# try-upstream says whether the patches fit a tree, a tarball or a commit, names the hunks that do
# not, and reads only. A tree between two flavours gets the newest patches of its branch that apply.
#
#   try_upstream.sh TARBALL     of a flavour
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
try=$root/luajit-usdt/scripts/try-upstream
tarball=$1

"$try" --fast "$tarball" >"$scratch/said"
grep -q '^hunks      all patches for ' "$scratch/said" || fail "the tarball of a flavour: $(cat "$scratch/said")"

# The same tree as a repository with a second commit that changes what a hunk needs.
repo=$scratch/repo
"$root/luajit-usdt/scripts/unpack" "$tarball" "$repo"
git=(git -C "$repo" -c user.name=test -c user.email=test@localhost -c commit.gpgsign=false)
commit() { "${git[@]}" add -A -f && "${git[@]}" commit -q -m "$1"; }
git init -q "$repo"
commit first
"${git[@]}" tag fits
sed -i 's/crec_call_args(J, rd, cts, ct), func);/crec_call_args(J, rd, cts, ct), (func));/' "$repo/src/lj_crecord.c"
commit second
"${git[@]}" status --porcelain --ignored >"$scratch/before"

"$try" --fast "file://$repo" fits >"$scratch/said"
grep -q '^commit     ' "$scratch/said" || fail "no commit is named: $(cat "$scratch/said")"
same statuses "$("$try" --fast "$repo" fits >/dev/null; echo $?)" 0
status=0
"$try" "$repo" HEAD >"$scratch/said" 2>&1 || status=$?
same "status of a hunk that does not apply" $status 4
grep -q '^hunks      1 do not apply' "$scratch/said" || fail "not one hunk: $(cat "$scratch/said")"
grep -q 'src/lj_crecord.c: hunk 1, near line .*does not apply' "$scratch/said" || fail "the hunk is not named: $(cat "$scratch/said")"
grep -q 'with the patches of ' "$scratch/said" || fail "the other flavours are not named"
same "the repository" "$("${git[@]}" status --porcelain --ignored)" "$(cat "$scratch/before")"

# Objects that differ with the tracepoints off are named.
cp -r "$root/luajit-usdt" "$scratch/ours"
printf '%s\n' '--- a/src/lj_char.c' '+++ b/src/lj_char.c' '@@ -7,1 +7,2 @@' '-#define lj_char_c' '+#define lj_char_c' \
  '+int lj_never_off = 1;' >>"$scratch/ours/patches/$(tail -n 1 "$scratch/ours/patches/series")"
"${git[@]}" checkout -q fits
status=0
"$scratch/ours/scripts/try-upstream" "$repo" fits >"$scratch/said" 2>&1 || status=$?
same "status of objects that differ ($(cat "$scratch/said"))" $status 6
grep -q '^off        lj_char.o differs' "$scratch/said" || fail "not named: $(cat "$scratch/said")"

refuses "no such file" "$try" "$scratch/nowhere"
refuses "there is no commit nonsense" "$try" "$repo" nonsense
refuses "there is no commit nonsense" "$try" --fast "file://$repo" nonsense
refuses "cannot be fetched" "$try" "file://$scratch/nowhere" HEAD
refuses usage "$try"
refuses usage "$try" --nonsense "$repo"
mkdir "$scratch/empty" "$scratch/two" "$scratch/two/one" "$scratch/two/other"
refuses "empty: not a LuaJIT source tree \(there is no src" "$try" "$scratch/empty"

# Not a tarball, half of one, and one of something else: the message names what the user named.
# stays_out STATUS PATTERN TARBALL
stays_out() {
  status=0
  "$try" --fast "$3" >"$scratch/said" 2>&1 || status=$?
  same "status of $3" $status "$1"
  grep -qE "^try-upstream: ${3//[&|]/.}: $2" "$scratch/said" || fail "$3: $(cat "$scratch/said")"
  same "lines about $3" "$(wc -l <"$scratch/said")" 1
}
echo garbage >"$scratch/a&b|c"
stays_out 1 "neither a folder nor a whole tar archive \(This does not look like a tar archive\)" "$scratch/a&b|c"
head -c 100000 "$tarball" >"$scratch/half.tar.${tarball##*.}"
stays_out 1 "neither a folder nor a whole tar archive \(.*[Uu]nexpected end" "$scratch/half.tar.${tarball##*.}"
tar -C "$scratch/two" -cf "$scratch/two.tar" .
stays_out 2 "not a LuaJIT source tree \(there is no src, and 2 folders\)" "$scratch/two.tar"
rmdir "$scratch/two/other"
tar -C "$scratch/two" -cf "$scratch/one.tar" .
stays_out 2 "not a LuaJIT source tree \(there is no Makefile\)" "$scratch/one.tar"
