// SPDX-License-Identifier: MIT
// ReportRequest; see report.h.
#include "module/report.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "module/vm.h"

namespace luatrace::module {
namespace {

struct View {
  const char *by, *option, *list, *sort;
};

constexpr View kViews[] = {{"function", nullptr, "functions", "self_ns"},
                           {"coroutine", "--coroutines", "coroutines", "running_ns"},
                           {"thread", "--threads", "threads", nullptr},
                           {"request", "--requests", "requests", nullptr},
                           {"wait", "--waits", "waits", nullptr}};

// Beside the number of its row.
struct Key {
  double value;
  int row;
};

}  // namespace

ReportRequest::ReportRequest(lua_State* lua) : lua_(lua), arguments_(lua, 1, "report") {
  arguments_.add("--inside");
  arguments_.add("--json");
  sort_ = arguments_.string("sort");
  limit_ = arguments_.count("limit", 0);
  choose_view(arguments_.string("by"));
  arguments_.push("coroutine");
  if (lua_State* const co = lua_tothread(lua, -1)) {
    lua_pop(lua, 1);
    arguments_.add("--coroutine");
    unsigned long long vm = 0;
    char text[48];
    const unsigned int number = luaJIT_trace_coroutine(co, &vm);
    std::snprintf(text, sizeof text, "@%llx:%u", vm, number);
    lua_pushstring(lua, text);
    arguments_.add(lua_tostring(lua, -1));
  } else if (!lua_isnil(lua, -1)) {
    luaL_error(lua, "report: coroutine must be a coroutine, not a %s", luaL_typename(lua, -1));
  }
  arguments_.verbatim("options");
  arguments_.end();
}

void ReportRequest::choose_view(const char* by) {
  const View* view = &kViews[0];
  for (const View& v : kViews)
    if (by != nullptr && std::strcmp(v.by, by) == 0) view = &v;
  list_ = view->list;
  if (view->option != nullptr) {
    arguments_.add(view->option);
    arguments_.add("--limit");
    arguments_.add("0");
  } else if (by != nullptr && std::strcmp(view->by, by) != 0) {
    arguments_.add("--group-by");
    arguments_.add(by);
    for (const char* word : {"--report", "--limit", "0"}) arguments_.add(word);
    list_ = "report";
  }
  if (sort_ == nullptr && view->sort != nullptr)
    std::snprintf(field_, sizeof field_, "%s", view->sort);
}

// The field of sort_ in the first row: by its name, or by its name in ns. False: there is none.
bool ReportRequest::find_field(int rows) {
  if (sort_ == nullptr) return true;
  for (const char* end : {"", "_ns"}) {
    std::snprintf(field_, sizeof field_, "%s%s", sort_, end);
    lua_rawgeti(lua_, rows, 1);
    if (lua_isnil(lua_, -1)) return true;  // no rows
    lua_getfield(lua_, -1, field_);
    const bool found = lua_isnumber(lua_, -1) != 0;
    lua_pop(lua_, 2);
    if (found) return true;
  }
  return false;
}

int ReportRequest::push_rows() {
  lua_getfield(lua_, -1, list_);
  if (!lua_istable(lua_, -1)) lua_newtable(lua_);
  const int rows = lua_gettop(lua_);
  const int count = static_cast<int>(lua_objlen(lua_, rows));
  if (!find_field(rows)) {
    lua_pushnil(lua_);
    lua_pushfstring(lua_, "report: the rows have no number '%s' to sort by", sort_);
    return 2;
  }
  auto* const keys = static_cast<Key*>(
      lua_newuserdata(lua_, sizeof(Key) * static_cast<size_t>(std::max(count, 1))));
  for (int i = 0; i < count; i++) {
    lua_rawgeti(lua_, rows, i + 1);
    lua_getfield(lua_, -1, field_);
    keys[i] = {*field_ != '\0' ? lua_tonumber(lua_, -1) : 0, i + 1};
    lua_pop(lua_, 2);
  }
  std::sort(keys, keys + count, [](const Key& a, const Key& b) {
    return a.value != b.value ? a.value > b.value : a.row < b.row;
  });
  const int shown = limit_ > 0 && limit_ < count ? static_cast<int>(limit_) : count;
  lua_createtable(lua_, shown, 0);
  for (int i = 0; i < shown; i++) {
    lua_rawgeti(lua_, rows, keys[i].row);
    lua_rawseti(lua_, -2, i + 1);
  }
  return 1;
}

void push_stats(lua_State* lua) {
  constexpr const char* kNumbers[][2] = {{"trace", "events"},
                                         {"trust", "lost"},
                                         {"trace", "bytes"},
                                         {"trace", "duration_ns"},
                                         {"trace", "recording_cost_ns"}};
  const int json = lua_gettop(lua);
  lua_newtable(lua);
  for (const auto& [part, name] : kNumbers) {
    lua_getfield(lua, json, part);
    lua_getfield(lua, -1, name);
    lua_setfield(lua, json + 1, name);
    lua_pop(lua, 1);
  }
  lua_getfield(lua, json + 1, "events");
  lua_getfield(lua, json + 1, "recording_cost_ns");
  const double events = lua_tonumber(lua, -2), cost = lua_tonumber(lua, -1);
  lua_pop(lua, 2);
  lua_pushnumber(lua, events > 0 ? cost / events : 0);
  lua_setfield(lua, json + 1, "cost_per_event_ns");
}

}  // namespace luatrace::module
