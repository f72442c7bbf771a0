// SPDX-License-Identifier: MIT
// Converts untrusted bytes to text that is safe in the page: made printable (base/escape.h), cut if
// it is very long, and quoted for its destination.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace luatrace::analyze::page {

// A JSON string literal with its quotes, safe inside <script>: no '<', '>', '&' in it.
std::string script_string(std::string_view bytes);

// Text for an HTML element or a quoted attribute.
std::string html_text(std::string_view bytes);

// RFC 4648 base64 with padding.
std::string base64(std::span<const uint8_t> bytes);

}  // namespace luatrace::analyze::page
