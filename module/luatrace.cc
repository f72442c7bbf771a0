// SPDX-License-Identifier: MIT
// The Lua module `luatrace`: recording a program from inside. docs/inside.md describes it for
// users. The work is done by luaJIT_trace_*() of the LuaJIT that loads this module
// (luajit-usdt/src/luatrace.h), and by luatrace-record and luatrace-analyze, which these start.
//
// Invariants: none of its functions is ever an event. Wrong types and names are Lua errors;
// whatever else fails is nil and a message. No object here has a destructor: Lua's errors may pass
// it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lua.hpp"
#include "module/arguments.h"
#include "module/dump_file.h"
#include "module/hooks.h"
#include "module/output.h"
#include "module/report.h"
#include "module/sections.h"
#include "module/vm.h"

namespace luatrace::module {
namespace {

// true, or nil and a message.
int result(lua_State* lua, const char* why) {
  if (why == nullptr) {
    lua_pushboolean(lua, 1);
    return 1;
  }
  lua_pushnil(lua);
  lua_pushstring(lua, why);
  return 2;
}

struct Option {
  std::string_view name;
  const char* field;  // ours, which stands for it
};

constexpr Option kOptions[] = {{"--include", "include"},
                               {"--exclude", "exclude"},
                               {"--c-functions", "c_functions"},
                               {"--max-depth", "max_depth"},
                               {"--ring-size", "ring_size"},
                               {"--max-size", "max_size"},
                               {"--compress", "compress"},
                               {"--flight", "flight"},
                               {"--slow", "slow"},
                               {"--on-error", "on_error"},
                               {"--only-slow", "only_slow"},
                               {"--block", "block"},
                               {"--cpu", "cpu"},
                               {"--group-by", "by"},
                               {"--format", "format"},
                               {"--source-root", "source_root"}};

// The option with which the text begins; null: none.
const Option* option_at(std::string_view text) {
  for (const Option& o : kOptions)
    if (const size_t n = o.name.size();
        text.starts_with(o.name) &&
        (text.size() == n || std::isalnum(static_cast<unsigned char>(text[n])) == 0))
      return &o;
  return nullptr;
}

// Pushes what the recorder or the analyzer says, with our fields for their options.
const char* push_in_our_words(lua_State* lua, const char* text) {
  luaL_Buffer out;
  luaL_buffinit(lua, &out);
  for (std::string_view rest = text; !rest.empty();) {
    const Option* const option = option_at(rest);
    if (option != nullptr)
      luaL_addstring(&out, option->field);
    else
      luaL_addchar(&out, rest.front());
    rest.remove_prefix(option != nullptr ? option->name.size() : 1);
  }
  luaL_pushresult(&out);
  return lua_tostring(lua, -1);
}

// nil and what the analyzer says.
int refused(lua_State* lua, const char* why) {
  return result(lua, push_in_our_words(lua, why));
}

int start(lua_State* lua) {
  Arguments a(lua, 1, "start");
  const char* const file = a.string("file");
  a.options("include", "--include");
  a.options("exclude", "--exclude");
  a.option("c_functions", "--c-functions");
  a.option("max_depth", "--max-depth");
  a.option("ring_size", "--ring-size");
  a.option("max_size", "--max-size");
  a.option("compress", "--compress");
  a.option("flight", "--flight");
  a.options("slow", "--slow");
  a.options("on_error", "--on-error");
  a.options("only_slow", "--only-slow");
  a.flag("block", "--block");
  a.flag("cpu", "--cpu");
  a.end();
  const char* const why = luaJIT_trace_start(lua, file, a.list());
  return result(lua, why != nullptr ? push_in_our_words(lua, why) : nullptr);
}

// The second result: what the recorder has printed, such as events that were lost.
int stop(lua_State* lua) {
  const char* const why = luaJIT_trace_stop(lua);
  const char* const messages = luaJIT_trace_messages();
  const int n = result(lua, why);
  if (why != nullptr || *messages == '\0') return n;
  push_in_our_words(lua, messages);
  return 2;
}

int pause(lua_State* lua) {
  return result(lua, luaJIT_trace_pause(lua));
}

int resume(lua_State* lua) {
  return result(lua, luaJIT_trace_resume(lua));
}

// snapshot([path])
int snapshot(lua_State* lua) {
  const char* const path =
      lua_isnoneornil(lua, 1) ? nullptr : check_text(lua, 1, "snapshot", "the path");
  if (luaJIT_trace_snapshot == nullptr) return result(lua, "this LuaJIT is too old for it");
  return result(lua, luaJIT_trace_snapshot(lua, path));
}

int reset(lua_State* lua) {
  const char* const why = luaJIT_trace_reset(lua);
  return result(lua, why != nullptr ? push_in_our_words(lua, why) : nullptr);
}

// Paused counts as not running.
int is_running(lua_State* lua) {
  lua_pushboolean(lua, luaJIT_trace_status() == LUATRACE_ON);
  return 1;
}

// -- Reports --

// After the `n` results of a report: a further one, if luatrace-analyze or the recorder has printed
// something.
int with_warnings(lua_State* lua, int n) {
  const char* const text = luaJIT_trace_warnings != nullptr ? luaJIT_trace_warnings() : "";
  const char* const messages = luaJIT_trace_messages();
  if (n != 1 || (*text == '\0' && *messages == '\0')) return n;
  push_in_our_words(lua, text);
  push_in_our_words(lua, messages);
  lua_concat(lua, 2);
  return 2;
}

int report(lua_State* lua) {
  ReportRequest request(lua);
  std::string_view json;
  if (const char* const why = push_output(lua, request.options(), &json)) return refused(lua, why);
  const int output = lua_gettop(lua), n = request.push_rows(json);
  release_output(lua, output);
  return with_warnings(lua, n);
}

int stats(lua_State* lua) {
  const char* const options[] = {"--inside", "--json", nullptr};
  std::string_view json;
  if (const char* const why = push_output(lua, options, &json)) return result(lua, why);
  const int output = lua_gettop(lua);
  push_stats(lua, json);
  release_output(lua, output);
  if (const char* const messages = luaJIT_trace_messages(); *messages != '\0') {
    push_in_our_words(lua, messages);
    lua_setfield(lua, -2, "messages");
  }
  return 1;
}

void add_format(lua_State* lua, Arguments& a) {
  const char* const format = a.string("format");
  if (format != nullptr && std::strcmp(format, "parquet") == 0)
    luaL_error(lua,
               "format 'parquet' is several files: start with `file`, and then run "
               "luatrace-analyze --format parquet -o DIR FILE");
  a.add("--inside");
  a.add("--format");
  a.add(format != nullptr ? format : "csv");
  a.options("source_root", "--source-root");
  a.verbatim("options");
  a.end();
}

int dump(lua_State* lua) {
  Arguments a(lua, 1, "dump");
  add_format(lua, a);
  std::string_view text;
  if (const char* const why = push_output(lua, a.list(), &text)) return refused(lua, why);
  const int output = lua_gettop(lua);
  lua_pushlstring(lua, text.data(), text.size());
  release_output(lua, output);
  return with_warnings(lua, 1);
}

// A report that fails, or does not fit on the disk, leaves an older file as it is.
int dump_to(lua_State* lua) {
  const char* const path = check_text(lua, 1, "dump_to", "the path");
  if (*path == '\0') return result(lua, "the file's name is empty");
  Arguments a(lua, 2, "dump_to");
  add_format(lua, a);
  const char* why = nullptr;
  const int from = make_output(lua, a.list(), &why);
  const int error = from < 0 ? 0 : dump_file(from, path);
  if (from >= 0) close(from);
  if (error != 0) why = std::strerror(error);
  if (why != nullptr) why = lua_pushfstring(lua, "%s: %s", path, push_in_our_words(lua, why));
  const int n = result(lua, why);
  return why != nullptr ? n : with_warnings(lua, n);
}

// -- Stacks --

// Where stack() puts the calls of a coroutine: the table on top of the stack of `lua`.
struct Calls {
  lua_State* lua;
  bool is_first;  // of a coroutine that calls stack(): that call itself
  int count;
  bool is_c;  // the last one that was added
};

// Takes away the pcall by which section() calls what it runs.
void drop_callee(Calls& calls) {
  if (!calls.is_c) return;
  lua_pushnil(calls.lua);
  lua_rawseti(calls.lua, -2, calls.count--);
  calls.is_c = false;
}

// That of a callback of hook().
bool is_own_call(lua_State* lua, lua_Debug* call) {
  lua_getinfo(lua, "f", call);
  const bool own = is_own(lua, -1);
  lua_pop(lua, 1);
  return own;
}

int add_call(lua_State* of, lua_Debug* call, void* to) {
  auto& calls = *static_cast<Calls*>(to);
  lua_State* const lua = calls.lua;
  if (calls.is_first) return calls.is_first = false, 1;
  if (lua_getinfo(of, "Sln", call) == 0) return 1;
  if (std::strcmp(call->source, LUATRACE_HIDDEN) == 0) return drop_callee(calls), 1;
  calls.is_c = *call->what == 'C';
  if (calls.is_c && of == lua && is_own_call(lua, call)) return 1;
  lua_createtable(lua, 0, 5);
  lua_pushstring(lua, call->name);  // nil, if it has none
  lua_setfield(lua, -2, "name");
  lua_pushstring(lua, call->source);
  lua_setfield(lua, -2, "source");
  lua_pushinteger(lua, call->currentline);
  lua_setfield(lua, -2, "line");
  lua_pushinteger(lua, call->linedefined);
  lua_setfield(lua, -2, "line_defined");
  lua_pushstring(lua, call->what);
  lua_setfield(lua, -2, "what");
  lua_rawseti(lua, -2, ++calls.count);
  return 1;
}

// An array of the calls of a coroutine, innermost first.
int stack(lua_State* lua) {
  lua_State* of = lua;
  if (!lua_isnoneornil(lua, 1)) {
    check_type(lua, 1, LUA_TTHREAD, "stack", "the coroutine");
    of = lua_tothread(lua, 1);
  }
  lua_newtable(lua);
  Calls calls{lua, of == lua, 0, false};
  luaJIT_trace_stack(of, add_call, &calls);
  return 1;
}

// -- Labels --

// label(key, value): the value is a string, a number or a boolean.
int label(lua_State* lua) {
  const char* const key = check_text(lua, 1, "label", "the key");
  if (lua_isboolean(lua, 2)) {
    lua_pushstring(lua, lua_toboolean(lua, 2) != 0 ? "true" : "false");
    lua_replace(lua, 2);
  }
  if (lua_type(lua, 2) == LUA_TNUMBER) lua_tostring(lua, 2);
  if (lua_type(lua, 2) != LUA_TSTRING)
    return luaL_error(lua, "label: the value: string, number or boolean expected, got %s",
                      luaL_typename(lua, 2));
  const char* const value = check_text(lua, 2, "label", "the value");
  const size_t size = std::strlen(value);
  const int n = result(lua, luaJIT_trace_label(lua, key, value));
  if (n != 1 || size <= LUATRACE_LABEL_MAX) return n;
  lua_pushfstring(lua, "the value is cut to %d bytes", LUATRACE_LABEL_MAX);
  return 2;
}

int unlabel(lua_State* lua) {
  return result(lua, luaJIT_trace_label(lua, check_text(lua, 1, "unlabel", "the key"), nullptr));
}

// -- Loading --

int rethrow(lua_State* lua) {
  lua_settop(lua, 1);
  return lua_error(lua);
}

// The part that must be Lua: a coroutine can yield inside. If fn has stopped the section itself
// that is an error, unless there is fn's own. The arguments are C functions, and the standard
// pcall.
constexpr const char* kSection = R"(
local start, leave, stop, rethrow, check, pcall = ...
local function finish(name, ok, ...)
  local left = leave(name)
  if not ok then return rethrow((...)) end
  if not left then stop(name) end
  return ...
end
return function(name, fn, ...)
  check(name, fn)
  start(name, ...)
  return finish(name, pcall(fn, ...))
end
)";

void add_section(lua_State* lua) {
  if (luaL_loadbuffer(lua, kSection, std::strlen(kSection), LUATRACE_HIDDEN) != 0) lua_error(lua);
  for (const lua_CFunction f : {section_start, section_end, section_stop, rethrow, check_section})
    push_hidden(lua, f);
  lua_getglobal(lua, "pcall");
  lua_call(lua, 6, 1);
  lua_setfield(lua, -2, "section");
}

constexpr luaL_Reg kFunctions[] = {{"start", start},
                                   {"stop", stop},
                                   {"pause", pause},
                                   {"resume", resume},
                                   {"reset", reset},
                                   {"snapshot", snapshot},
                                   {"is_running", is_running},
                                   {"report", report},
                                   {"stats", stats},
                                   {"dump", dump},
                                   {"dump_to", dump_to},
                                   {"stack", stack},
                                   {"label", label},
                                   {"unlabel", unlabel},
                                   {"hook", hook},
                                   {"to_json", to_json},
                                   {"section_start", section_start},
                                   {"section_stop", section_stop},
                                   {"sections", sections}};

// What runs instead of a LuaJIT with tracepoints.
const char* interpreter(lua_State* lua) {
  lua_getglobal(lua, "jit");
  if (lua_istable(lua, -1)) lua_getfield(lua, -1, "version");
  if (lua_type(lua, -1) == LUA_TSTRING) return lua_tostring(lua, -1);
  lua_getglobal(lua, "_VERSION");
  return luaL_optstring(lua, -1, "an unknown Lua");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int luaopen_luatrace(lua_State* lua) {
  if (luaJIT_trace_hidden == nullptr)
    return luaL_error(lua,
                      "luatrace needs a LuaJIT with luatrace's tracepoints; this is %s without "
                      "them (libluajit-5.1-2-usdt has them)",
                      interpreter(lua));
  lua_createtable(lua, 0, 20);
  for (const luaL_Reg& f : kFunctions) {
    push_hidden(lua, f.func);
    lua_setfield(lua, -2, f.name);
  }
  add_section(lua);
  return 1;
}

}  // namespace luatrace::module
