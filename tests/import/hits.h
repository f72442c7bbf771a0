// SPDX-License-Identifier: MIT
// Makes input for the importers: the text of lua-calls.bt and the records of lua-calls.stp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::analyze::test {

inline constexpr uint64_t kStart = 0x100000000000;  // ns
inline constexpr uint64_t kBeat = 0x1000000;        // The tracer's last beat, since kStart.

// Text: a short form, one hit a line, made long. "@T" is kStart + T (hexadecimal), the thread is
// 70, the process 7, its hits are numbered unless ":N" says which one it is:
//     "E @10 L 3 8"      -> "E 100000000010 7 70 <seq> L 3 8 beef"
// Lines that begin with '=' are taken as they are, without it. Before them come the first line,
// functions 1..9 of pid 7 with pointer beef; after them the end, unless `end` is false.
std::string bt_text(const std::string& hits, bool end = true);

// The same hits as bt_text() as records of 40 bytes.
std::vector<uint8_t> stap_records(const std::string& hits, bool end = true);

}  // namespace luatrace::analyze::test
