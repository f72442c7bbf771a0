// SPDX-License-Identifier: MIT
// Makes untrusted bytes safe to print on a terminal and to write into the text form of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace luatrace {

// Returns `text` for a terminal: control characters, Unicode's direction and other format controls,
// and bytes that are not part of valid UTF-8 become \n, \t or \xNN. Quotes and backslashes are not
// escaped.
std::string printable(std::string_view text);

// Returns up to `max` bytes of `text`, which must be valid UTF-8, plus "..." if something was cut.
std::string cut_bytes(std::string_view text, size_t max);

// Length in bytes of the valid UTF-8 sequence at text[i], 0 if there is none.
size_t utf8_length(std::string_view text, size_t i);

// Returns `value` in hexadecimal: "0x1f".
std::string hex(uint64_t value);

// Returns `text` as a C string literal with its quotes: \n \t \" \\, and \xNN for all other bytes
// outside printable ASCII. unquote() is its inverse.
std::string quote(std::string_view text);

// Parses the literal that starts at text[pos] and moves `pos` after it. False if it is malformed or
// text[pos] is not '"'.
bool unquote(std::string_view text, size_t& pos, std::string& out);

}  // namespace luatrace
