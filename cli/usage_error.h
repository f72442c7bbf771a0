// SPDX-License-Identifier: MIT
// What was wrong with the command line, as a message for the user.
#pragma once

#include <stdexcept>

namespace luatrace {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace luatrace
