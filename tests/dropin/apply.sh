#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The apply script: what it accepts, what it refuses and with which status, and that a refused tree
# is unchanged. Works on toy trees and toy patches.
source "$(dirname "$0")/../lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
apply=$root/luajit-usdt/scripts/apply

# toy_tree DIRECTORY VERSION [openresty]: just enough to be taken for LuaJIT.
toy_tree() {
  local header=luajit.h
  [ "$2" != 2.1.ROLLING ] || header=luajit_rolling.h
  rm -rf "$1"
  mkdir -p "$1/src"
  touch "$1/Makefile" "$1/src/Makefile" "$1/src/vm_x86.dasc" "$1/src/lj_gc.c"
  printf 'one\ntwo\nthree\n' >"$1/src/lj_record.c"
  printf 'four\nfive\nsix\n' >"$1/src/lj_dispatch.c"
  printf '#define LUAJIT_VERSION\t\t"LuaJIT %s"\n' "$2" >"$1/src/$header"
  [ "${3-}" != openresty ] || echo '#define OPENRESTY_LUAJIT' >>"$1/src/$header"
}

export LUATRACE_PATCHES=$scratch/patches LUATRACE_SOURCES=$scratch/sources
mkdir -p "$LUATRACE_PATCHES/quirks" "$LUATRACE_SOURCES"
echo '/* ours */' >"$LUATRACE_SOURCES/lj_toy.c"
cat >"$LUATRACE_PATCHES/01-record.patch" <<'END'
--- a/src/lj_record.c
+++ b/src/lj_record.c
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
END
# The second patch builds on the first: a dry run of each alone would not do.
cat >"$LUATRACE_PATCHES/02-both.patch" <<'END'
--- a/src/lj_record.c
+++ b/src/lj_record.c
@@ -1,3 +1,3 @@
 one
-TWO
+two and a half
 three
--- a/src/lj_dispatch.c
+++ b/src/lj_dispatch.c
@@ -1,3 +1,3 @@
 four
-five
+FIVE
 six
END
printf '# a comment\n01-record.patch\n\n02-both.patch -p1 # why\n' >"$LUATRACE_PATCHES/series"
# One line for each flavour, after the common series.
for flavour in openresty-20250117 luajit2-20230119 luajit-20220320; do
  cat >"$LUATRACE_PATCHES/quirks/$flavour.patch" <<END
--- a/src/lj_dispatch.c
+++ b/src/lj_dispatch.c
@@ -3,1 +3,2 @@
-six
+six
+$flavour
END
done

# untouched STATUS PATTERN DIRECTORY [COMMAND...]: refused so, and no byte or file changed.
untouched() {
  local want=$1 pattern=$2 tree=$3 status=0
  shift 3
  [ $# -gt 0 ] || set -- "$apply" "$tree"
  cp -a "$tree" "$scratch/before"
  "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
  same "statuses of '$pattern'" "$status" "$want"
  grep -qE -e "$pattern" "$scratch/err" || fail "no message '$pattern', but: $(cat "$scratch/err")"
  diff -r "$scratch/before" "$tree" || fail "a refused tree was changed"
  rm -rf "$scratch/before"
}

toy_tree "$scratch/good" 2.1.ROLLING openresty
chmod 640 "$scratch/good/src/lj_record.c"
"$apply" --check "$scratch/good" >/dev/null
same "file after --check" "$(sed -n 2p "$scratch/good/src/lj_record.c")" two
"$apply" "$scratch/good" >/dev/null
same "first file" "$(sed -n 2p "$scratch/good/src/lj_record.c")" "two and a half"
same "rights" "$(stat -c %a "$scratch/good/src/lj_record.c")" 640
same "second file" "$(tr '\n' ' ' <"$scratch/good/src/lj_dispatch.c")" "four FIVE six openresty-20250117 "
cmp "$scratch/good/src/lj_toy.c" "$LUATRACE_SOURCES/lj_toy.c"
same "files" "$(ls "$scratch/good/src" | wc -l)" 7

for pair in "2.1.ROLLING openresty=openresty-20250117" "2.1.0-beta3 openresty=luajit2-20230119" \
  "2.1.0-beta3=luajit-20220320" "2.1.ROLLING=luajit-20260819"; do
  # shellcheck disable=SC2086 # two words: version and branch
  toy_tree "$scratch/detect" ${pair%%=*}
  same flavours "$("$apply" --detect "$scratch/detect")" "${pair#*=}"
done

# A newer tree to which older patches apply, which have no hunk for its finalizers: it does not get them.
toy_tree "$scratch/newer" 2.1.ROLLING openresty
echo '  gc_markobj(g, vmthread(g));' >"$scratch/newer/src/lj_gc.c"
same "flavour of a newer tree" "$("$apply" --detect "$scratch/newer")" openresty-20260824
untouched 2 "there are no patches for openresty-20260824" "$scratch/newer"

# Already patched, a patched tree of another version of ours, some of the patches.
untouched 3 "already applied \(src/lj_toy.c" "$scratch/good"
rm "$scratch/good/src/lj_toy.c"
echo 'XCFLAGS+= -DLUAJIT_USE_SDT' >"$scratch/good/src/Makefile"
untouched 3 "other tracepoints \(see src/Makefile" "$scratch/good"
toy_tree "$scratch/part" 2.1.ROLLING openresty
echo '  lj_ltrace_poll(L)' >"$scratch/part/src/lj_gc.c"
untouched 3 "at least in part.*see src/lj_gc.c" "$scratch/part"
toy_tree "$scratch/part" 2.1.ROLLING openresty
printf 'one\nTWO\nthree\n' >"$scratch/part/src/lj_record.c"
untouched 4 "01-record.patch: src/lj_record.c: hunk 1, near line 1 \(two\): does not apply" "$scratch/part"

# A hunk of the last patch does not apply: the first patch must not stay either. --check names all
# of them.
toy_tree "$scratch/moved" 2.1.ROLLING openresty
printf 'four\nother\n6\n' >"$scratch/moved/src/lj_dispatch.c"
untouched 4 "02-both.patch: src/lj_dispatch.c: hunk 1, near line 1 \(five\): does not apply" "$scratch/moved"
grep -q "quirks/openresty-20250117.patch: src/lj_dispatch.c: hunk 1" "$scratch/err" || fail "only the first hunk that does not apply is named"
untouched 4 "hunk 1, near line 1 \(five\)" "$scratch/moved" "$apply" --check "$scratch/moved"

# Two places for one hunk: patch would take the nearer one.
toy_tree "$scratch/twice" 2.1.ROLLING openresty
printf 'one\ntwo\nthree\none\ntwo\nthree\n' >"$scratch/twice/src/lj_record.c"
untouched 4 "01-record.patch: src/lj_record.c: hunk 1, near line 1 \(two\): matches in 2 places" "$scratch/twice"
# Moved by some lines: it applies. Context that differs: no fuzz.
toy_tree "$scratch/down" 2.1.ROLLING openresty
printf 'zero\nzero\none\ntwo\nthree\n' >"$scratch/down/src/lj_record.c"
"$apply" "$scratch/down" >/dev/null
same "moved" "$(sed -n 4p "$scratch/down/src/lj_record.c")" "two and a half"

# Not ours: no LuaJIT, other versions, a version without patches.
toy_tree "$scratch/v20" 2.0.5
untouched 2 "LuaJIT '2.0.5' is not supported; known:" "$scratch/v20"
toy_tree "$scratch/rolling" 2.1.ROLLING
untouched 2 "there are no patches for luajit-20260819" "$scratch/rolling"
untouched 2 "there are no patches for luajit-20260819" "$scratch/rolling" "$apply" --check "$scratch/rolling"
untouched 2 "there are no patches for none" "$scratch/v20" "$apply" --check "$scratch/v20" none
"$apply" --check "$scratch/v20" luajit-20220320 >/dev/null || fail "--check of a flavour's patches in any tree"
mkdir "$scratch/empty"
untouched 2 "not a LuaJIT source tree" "$scratch/empty"
refuses "not a directory" "$apply" "$scratch/nowhere"
for wrong in "" "--nonsense $scratch/down" "$scratch/down luajit-20220320" "--detect"; do
  # shellcheck disable=SC2086 # words
  untouched 1 usage "$scratch/down" "$apply" $wrong
done
echo gone.patch >>"$LUATRACE_PATCHES/series"
toy_tree "$scratch/old" 2.1.0-beta3
untouched 1 "gone.patch: named in the series but missing" "$scratch/old"
sed -i '$d' "$LUATRACE_PATCHES/series"

# Trees that cannot be written: the folder, and a file next to which nothing can be written.
as_user=()
if [ "$(id -u)" = 0 ]; then
  command -v setpriv >/dev/null || skip "setpriv is missing: as root every tree can be written"
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 755 "$scratch"
fi
mkdir -p "$scratch/own/scripts"
cp "$apply" "$root/luajit-usdt/scripts/hunks.awk" "$scratch/own/scripts/"
toy_tree "$scratch/readonly" 2.1.ROLLING openresty
chmod -R a-w "$scratch/readonly"
untouched 5 "not writable" "$scratch/readonly" "${as_user[@]}" "$scratch/own/scripts/apply" "$scratch/readonly"
chmod -R a+w "$scratch/readonly"
mkdir "$scratch/readonly/src/.luatrace-new"
untouched 5 "cannot be written" "$scratch/readonly"
rmdir "$scratch/readonly/src/.luatrace-new"
mkdir "$scratch/full" # stands for a full disk: copying into the tree fails half way
printf '#!/bin/sh\n%s "$@"\ncase $* in *.luatrace-new*) exit 1 ;; esac\n' "$(command -v cp)" >"$scratch/full/cp"
chmod +x "$scratch/full/cp"
untouched 5 "cannot be written" "$scratch/readonly" env PATH="$scratch/full:$PATH" "$apply" "$scratch/readonly"
# The same for the copy on which the patches are tried: that is no hunk that does not apply.
printf '#!/bin/sh\ncase $* in */tree/) echo "cp: No space left on device" >&2; exit 1 ;; esac\n%s "$@"\n' "$(command -v cp)" >"$scratch/full/cp"
untouched 1 "cannot be copied to /" "$scratch/readonly" env PATH="$scratch/full:$PATH" "$apply" "$scratch/readonly"
same "lines about a full disk" "$(wc -l <"$scratch/err")" 2
