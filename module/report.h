// SPDX-License-Identifier: MIT
// Rows of a report: what luatrace.report() asks luatrace-analyze for, and makes of its JSON.
#pragma once

#include <string_view>

#include "lua.hpp"
#include "module/arguments.h"

namespace luatrace::module {

// The options of a report, which are in the table at index 1. No destructor: Lua's errors may pass
// it.
class ReportRequest {
 public:
  explicit ReportRequest(lua_State* lua);
  const char* const* options() const { return arguments_.list(); }
  // From a report, which must stay where it is: pushes an array of rows. Or nil and a message;
  // returns how many values it has pushed. Only the rows that are asked for become tables.
  int push_rows(std::string_view json);

 private:
  void choose_view(const char* by);
  bool find_field(std::string_view rows);

  lua_State* lua_;
  Arguments arguments_;
  const char* list_ = "functions";  // the member of the JSON with the rows
  const char* sort_ = nullptr;
  char field_[64] = "";  // by which rows are sorted; "": as they come
  lua_Integer limit_ = 0;
};

// Pushes the numbers of luatrace.stats(), from a report.
void push_stats(lua_State* lua, std::string_view json);

}  // namespace luatrace::module
