#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prints what the nginx of this machine or container says about its LuaJIT, a line for each fact, for
# images/check. Runs in any image that has a shell, as any user:
#
#   docker run --rm -i --entrypoint sh IMAGE -s <images/facts.sh
#   kubectl exec -i POD -- sh -s <images/facts.sh
#
# It starts this nginx once, with a configuration of its own that opens no port and ends as soon as its
# Lua code has run. It writes nothing outside a temporary folder, which it removes.
#
# Status: 0; 1 if there is no nginx with Lua here, or it cannot run (the reason is on standard error).
set -u
die() { echo "facts: $*" >&2; exit 1; }

nginx=
for file in /usr/local/openresty/nginx/sbin/nginx /usr/local/openresty/bin/openresty \
  "$(command -v openresty)" "$(command -v nginx)" /usr/sbin/nginx; do
  [ -z "$file" ] || [ ! -x "$file" ] || { nginx=$file; break; }
done
[ -n "$nginx" ] || die "no nginx here"
folder=$(mktemp -d) || die "no temporary folder (a read-only root: add --tmpfs /tmp)"
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/temporary"

# The module is built in (OpenResty), or loaded from where nginx looks for modules (Debian).
"$nginx" -V 2>"$folder/configured" || { cat "$folder/configured" >&2; die "$nginx does not run"; }
modules=$(tr ' ' '\n' <"$folder/configured" | sed -n 's/^--modules-path=//p')
for module in ${FACTS_MODULES-$modules} "${nginx%/sbin/*}/modules" /usr/lib/nginx/modules; do
  [ ! -e "$module/ngx_http_lua_module.so" ] || {
    for file in ndk_http ngx_http_lua; do
      [ ! -e "$module/${file}_module.so" ] || echo "load_module $module/${file}_module.so;"
    done
    break
  }
done >"$folder/nginx.conf"

cat >>"$folder/nginx.conf" <<END_OF_CONF
pid $folder/pid;
error_log stderr;
daemon off;
master_process off;
events {}
http {
  access_log off;
  client_body_temp_path temporary/body; proxy_temp_path temporary/proxy; fastcgi_temp_path temporary/fastcgi;
  uwsgi_temp_path temporary/uwsgi; scgi_temp_path temporary/scgi;
  lua_package_path "${FACTS_PACKAGE_PATH-/usr/local/openresty/lualib/?.lua;;}";
  init_by_lua_file $folder/facts.lua;
}
END_OF_CONF

cat >"$folder/facts.lua" <<'END_OF_LUA'
local file = assert(io.open(assert(os.getenv("FACTS_OUTPUT")), "w"))
local function fact(name, value) file:write(name, ": ", tostring(value), "\n") end

-- The library: the file that is mapped, and its tracepoints.
local library = "built into nginx"
for line in io.lines("/proc/self/maps") do
  library = line:match("(/%S*libluajit%S*)") or library
end
fact("library", library)
local content = io.open(library, "rb")
content = content and content:read("*a") or ""
fact("tracepoints", content:find("luajit\0function__entry\0", 1, true) and "yes" or "no")
fact("version", jit.version)

-- How it was built, by what a Lua program can see of it.
local function yes(condition) return condition and "yes" or "no" end
local function negative(x) return -x end
local length = setmetatable({}, { __len = function() return 42 end })
fact("architecture", jit.arch)
fact("GC64", yes(require("ffi").abi("gc64")))
fact("compiler", yes(jit.status()))
fact("LUAJIT_ENABLE_LUA52COMPAT", yes(#length == 42))
fact("LUAJIT_NUMMODE=2", yes(1 / negative(tonumber("0")) > 0)) -- An integer has no -0.
local extensions = {}
for _, name in ipairs { "table.new", "table.clear", "table.clone", "table.isarray", "table.isempty", "table.nkeys",
                        "thread.exdata", "thread.exdata2", "string.buffer", "jit.util", "jit.profile" } do
  if pcall(require, name) then extensions[#extensions + 1] = name end
end
fact("modules", table.concat(extensions, " "))
-- Without what the environment adds: LUA_PATH is the image's.
fact("paths", package.path .. " " .. package.cpath)
file:close()
os.exit(0)
END_OF_LUA

FACTS_OUTPUT=$folder/facts "$nginx" -p "$folder/" -c "$folder/nginx.conf" -g 'env FACTS_OUTPUT;' >"$folder/log" 2>&1
[ -s "$folder/facts" ] || { cat "$folder/log" >&2; die "$nginx did not run Lua code"; }
echo "nginx: $nginx"
echo "user: $(id -u)"
cat "$folder/facts"
