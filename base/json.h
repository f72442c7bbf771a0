// SPDX-License-Identifier: MIT
// JSON of untrusted bytes (RFC 8259).
#pragma once

#include <string>
#include <string_view>

namespace luatrace {

// A JSON string with its quotes, valid whatever the bytes: those that are not UTF-8 appear as the
// four characters \xNN.
std::string json_string(std::string_view text);

}  // namespace luatrace
