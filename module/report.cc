// SPDX-License-Identifier: MIT
// ReportRequest; see report.h.
#include "module/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "module/json_reader.h"
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

struct Row {
  double key;  // by which it is sorted
  const char* text;
  size_t size;
};

// Space for `space` rows, with the `count` that there are, as a value on the stack instead of the
// last one.
Row* more_rows(lua_State* lua, const Row* old, size_t count, size_t space) {
  auto* const rows = static_cast<Row*>(lua_newuserdata(lua, sizeof(Row) * space));
  if (count > 0) std::memcpy(rows, old, sizeof(Row) * count);
  if (old != nullptr) lua_remove(lua, -2);
  return rows;
}

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
bool ReportRequest::find_field(std::string_view rows) {
  std::string_view first;
  if (sort_ == nullptr || !JsonElements(lua_, rows).next(&first)) return true;
  for (const char* end : {"", "_ns"}) {
    std::snprintf(field_, sizeof field_, "%s%s", sort_, end);
    if (!std::isnan(json_number(lua_, first, field_, NAN))) return true;
  }
  return false;
}

int ReportRequest::push_rows(std::string_view json) {
  const std::string_view rows = json_find(lua_, json, list_);
  if (!find_field(rows)) {
    lua_pushnil(lua_);
    lua_pushfstring(lua_, "report: the rows have no number '%s' to sort by", sort_);
    return 2;
  }
  size_t count = 0, space = 0;
  Row* found = nullptr;
  std::string_view text;
  for (JsonElements all(lua_, rows); all.next(&text); count++) {
    if (count == space) found = more_rows(lua_, found, count, space = 2 * count + 64);
    found[count] = {*field_ != '\0' ? json_number(lua_, text, field_, 0) : 0, text.data(),
                    text.size()};
  }
  std::sort(found, found + count, [](const Row& a, const Row& b) {
    return a.key != b.key ? a.key > b.key : a.text < b.text;
  });
  const auto shown = limit_ > 0 ? std::min(count, static_cast<size_t>(limit_)) : count;
  lua_createtable(lua_, static_cast<int>(shown), 0);
  for (size_t i = 0; i < shown; i++) {
    push_json(lua_, {found[i].text, found[i].size});
    lua_rawseti(lua_, -2, static_cast<int>(i + 1));
  }
  return 1;
}

void push_stats(lua_State* lua, std::string_view json) {
  constexpr const char* kNumbers[][2] = {{"trace", "events"},
                                         {"trust", "lost"},
                                         {"trace", "bytes"},
                                         {"trace", "duration_ns"},
                                         {"trace", "recording_cost_ns"}};
  lua_newtable(lua);
  for (const auto& [part, name] : kNumbers) {
    const double n = json_number(lua, json_find(lua, json, part), name, NAN);
    if (std::isnan(n)) continue;
    lua_pushnumber(lua, n);
    lua_setfield(lua, -2, name);
  }
  const std::string_view trace = json_find(lua, json, "trace");
  const double events = json_number(lua, trace, "events", 0);
  lua_pushnumber(lua, events > 0 ? json_number(lua, trace, "recording_cost_ns", 0) / events : 0);
  lua_setfield(lua, -2, "cost_per_event_ns");
}

}  // namespace luatrace::module
