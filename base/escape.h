// SPDX-License-Identifier: MIT
// Makes untrusted bytes safe to print on a terminal, and to write into the text form of a trace and
// into JSON (RFC 8259).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace luatrace {

// Returns `text` for a terminal: control characters, Unicode's direction and other format controls,
// and bytes that are not part of valid UTF-8 become \n, \t or \xNN. Quotes and backslashes are not
// escaped.
std::string printable(std::string_view text);

// Returns up to `max` bytes of `text`, plus "..." if something was cut. Cuts no character of valid
// UTF-8.
std::string cut_bytes(std::string_view text, size_t max);

// Returns "a, b and 3 more": up to `max` of the names; the rest are counted.
std::string list_text(const std::vector<std::string>& names, size_t max = SIZE_MAX);

// Returns `value` in hexadecimal: "0x1f".
std::string hex(uint64_t value);

// Returns two hexadecimal digits for each byte: "00ff".
std::string hex_bytes(std::string_view bytes);

// Returns a JSON string with its quotes, valid for any input: a byte that is not part of valid
// UTF-8 becomes the four characters \xNN.
std::string json_string(std::string_view text);

// Returns `text` as a C string literal with its quotes: \n \t \" \\, and \xNN for all other bytes
// outside printable ASCII. unquote() is its inverse.
std::string quote(std::string_view text);

// Parses the literal that starts at text[pos] and moves `pos` after it. False if it is malformed or
// text[pos] is not '"'.
bool unquote(std::string_view text, size_t& pos, std::string& out);

}  // namespace luatrace
