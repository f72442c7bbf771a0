// SPDX-License-Identifier: MIT
// Headers of requests that are secret: lines "Name: value" of a file (--push-headers) and of the
// environment (LUATRACE_PUSH_HEADERS), so that they are in no command line, trace or spool.
#pragma once

#include <string>
#include <vector>

namespace luatrace::analyze {

// Returns the lines; empty ones and those that begin with # are left out. file: "" for none. Throws
// UsageError, without any of the values, for a file that cannot be read and a line that is no
// header.
std::vector<std::string> push_headers(const std::string& file);

}  // namespace luatrace::analyze
