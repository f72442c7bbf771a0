// SPDX-License-Identifier: MIT
// What --watch, --print, --when and --count ask for, as the text that Lua VMs get in
// luatrace_watch.h. Everything is checked here, so that a mistake is a message of the command line;
// the VM ignores what it does not understand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::record {

struct WatchOptions {
  std::vector<std::string> places;  // FILE:LINE, or a glob on names of functions
  std::vector<std::string> items;   // what to print, as --print has it
  std::string condition;            // --when; empty: none
  uint32_t count = 0;               // hits per process, 0: no limit
  uint32_t depth = 1;               // of tables that are printed
};

// The items of a --print: its parts between commas. Throws UsageError.
std::vector<std::string> watch_items(const std::string& text);

// The request. Throws UsageError: for a condition with the position, counted from 1.
std::string watch_request(const WatchOptions& options);

}  // namespace luatrace::record
