// SPDX-License-Identifier: MIT
// JSON strings from untrusted bytes (RFC 8259).
#pragma once

#include <string>
#include <string_view>

namespace luatrace {

// Returns a JSON string with its quotes, valid for any input: a byte that is not part of valid
// UTF-8 becomes the four characters \xNN.
std::string json_string(std::string_view text);

}  // namespace luatrace
