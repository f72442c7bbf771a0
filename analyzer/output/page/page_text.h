// SPDX-License-Identifier: MIT
// Converts untrusted bytes to text that is safe in the page, in two mandatory steps: visible_text
// produces valid UTF-8 without control characters, then script_string or html_text quotes it for
// its destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace luatrace::analyze::page {

// Valid UTF-8 in which every character is visible: control characters and bytes that are not UTF-8
// become \n, \t or \xNN; line separators and characters that change the writing direction become
// \u{NNNN}. Input over max_bytes is cut, and the text says how long it was.
std::string visible_text(std::string_view bytes, size_t max_bytes = 2000);

// A JSON string literal with its quotes, safe inside <script>: no '<', '>', '&' in it.
std::string script_string(std::string_view bytes);

// Text for an HTML element or a quoted attribute.
std::string html_text(std::string_view bytes);

// RFC 4648 base64 with padding.
std::string base64(std::span<const uint8_t> bytes);

}  // namespace luatrace::analyze::page
