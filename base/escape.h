// SPDX-License-Identifier: MIT
// Making untrusted bytes harmless: for terminals and for the text form of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace luatrace {

// `text` with every control character, and every byte that is not part of valid UTF-8, as \n, \t
// or \xNN. Unicode's direction and other format controls are escaped too. For terminals; does not
// escape quotes or backslashes.
std::string printable(std::string_view text);

// Up to `max` bytes of `text`, which is valid UTF-8, then "..." if something was cut.
std::string cut_bytes(std::string_view text, size_t max);

// Length of the valid UTF-8 sequence at text[i], 0 if there is none.
size_t utf8_length(std::string_view text, size_t i);

// "0x1f"
std::string hex(uint64_t value);

// `text` as a C string literal with its quotes: \n \t \" \\ and \xNN for all bytes outside
// printable ASCII. unquote() is its inverse.
std::string quote(std::string_view text);

// Parses a literal at text[pos] (which must be '"'), leaves pos behind it. False if malformed.
bool unquote(std::string_view text, size_t& pos, std::string& out);

}  // namespace luatrace
