// SPDX-License-Identifier: MIT
// An error in the command line, with a message for the user.
#pragma once

#include <stdexcept>

namespace luatrace {

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace luatrace
