// SPDX-License-Identifier: MIT
#include "import_support.h"

#include <gtest/gtest.h>

#include <sstream>

namespace luatrace::analyze::test {

// A main coroutine (address a0, state 90) that calls f1 -> f2.
const char* const kCalls = R"(
    S @10 a0 1 0 0 90
    E @20 a0 1 4
    E @30 a0 2 8
    R @40 a0 2 8
    E @50 a0 3 8
    T @60 a0 3 8
    E @60 a0 2 8
    R @70 a0 2 8
    R @80 a0 1 4
    X @90 a0 90)";

// A coroutine (c0, number 2) that is created, resumed twice, ends; the address is used again.
const char* const kCoroutines = R"(
    S @10 a0 1 0 0 90
    E @20 a0 1 4
    c @30 a0 c0 2
    r @40 a0 c0 2
    E @50 c0 2 4
    y @60 c0 c0 2
    E @70 a0 3 8
    R @80 a0 3 8
    r @90 a0 c0 2
    R @a0 c0 2 4
    e @b0 c0 c0 0
    e @c0 0 c0 ffffffff
    c @d0 a0 c0 3
    r @e0 a0 c0 3
    E @f0 c0 4 4
    E @f8 c0 4 8
    e @100 c0 c0 2
    R @110 a0 1 4
    X @120 a0 90)";

std::string body(const std::string& calls) {
  std::string out;
  std::istringstream in(calls);
  for (std::string line; std::getline(in, line);)
    if (line.find(" start ") == line.npos) out += line + "\n";
  return out;
}

// Both forms, which must mean the same.
std::string both(const std::string& hits) {
  const std::string text = body(dump_calls(bt_text(hits)));
  const auto records = stap_records(hits);
  const std::string binary = body(dump_calls(std::string(records.begin(), records.end())));
  EXPECT_EQ(text, binary);
  return text;
}

Analysed analysed(const std::string& hits) {
  return analyse(bt_text(hits));
}

std::string named(std::string text) {
  for (int i = 9; i >= 1; i--)
    for (size_t at; (at = text.find(" f" + std::to_string(i))) != text.npos;)
      text.replace(at, 3, " " + kFile + ":" + std::to_string(10 * i));
  return text;
}

}  // namespace luatrace::analyze::test
