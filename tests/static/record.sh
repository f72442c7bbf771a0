#!/bin/bash
# SPDX-License-Identifier: MIT
#
# luatrace-static records in a root that has /proc, and besides only what luajit needs to run there: a
# command, a running process, direct or through the kernel. The tests are those of tests/attach.
#
#   record.sh BUILD LUATRACE_STATIC direct|bpf|top
source "$(dirname "$0")/../lib.sh"
build=$1 static=$2 how=$3
tests=$(cd "$(dirname "$0")/.." && pwd)
[ "$(id -u)" = 0 ] || skip "only root can use chroot"
unshare -m true 2>"$scratch/err" || skip "no mount namespaces here: $(cat "$scratch/err")"

# A build folder whose programs are the static one, in a root of its own that sees the scripts, the
# scratch folder and /proc.
root=$scratch/root
export TMPDIR=$scratch/tmp
mkdir -p "$scratch"/{bin,tests} "$TMPDIR" "$root"/{proc,tmp} "$root$tests" "$root$scratch"
ln -s "$build/tests/attach" "$scratch/tests/attach"
cp "$build/bin/luajit" "$scratch/bin/"
ldd "$build/bin/luajit" | grep -o '/[^ ]*' | xargs -I FILE cp --parents -L FILE "$root"
cp "$static" "$root/luatrace"
for program in "" record analyze top; do
  cat >"$scratch/bin/luatrace${program:+-$program}" <<END
#!/bin/bash
exec unshare -m --propagation private /bin/bash -c '
  mount --rbind /proc "$root/proc" && mount --bind "$tests" "$root$tests" &&
    mount --bind "$scratch" "$root$scratch" && exec chroot "$root" /luatrace $program "\$@"' - "\$@"
END
done
chmod +x "$scratch"/bin/*

# It starts itself as the recorder.
top() {
  "$scratch/bin/luajit" -e "local work = dofile('$tests/attach/work.lua') while true do work() end" &
  local target=$! top
  started+=($target)
  "$scratch/bin/luatrace" top -p $target -n 500ms >"$scratch/tables" 2>"$scratch/top.err" &
  top=$!
  started+=($top)
  within 60 "a table with a function" grep -qE '^ *[1-9][0-9,]* .* fib\??  \(.*work.lua:7\)' "$scratch/tables"
  kill -INT $top
  wait $top || fail "luatrace top: status $?: $(cat "$scratch/top.err")"
}

case $how in
  top) top ;;
  *) "$tests/attach/counts.sh" "$scratch" jit "$how" ;;
esac
