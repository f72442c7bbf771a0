// SPDX-License-Identifier: MIT
// Times as users write them: "5ms", "1.5 s", "200us", "2m", "1h". The only parser of them, for the
// options of both programs and for conditions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace luatrace {

// ns, us (or µs), ms, s, m, h: its nanoseconds; 0 if it is none of them.
double unit_ns(std::string_view unit);

// What "no time" should have been, for messages.
constexpr const char* kTimeExamples = "a number and ns, us, ms, s, m or h: 200us, 5ms, 1.5s, 1h";

// In nanoseconds, at most some 290 years; empty if it is no time. `plain_ns`: what a number without
// a unit counts. Blanks may be between number and unit, as reports print them.
std::optional<uint64_t> duration_ns(std::string_view text, double plain_ns);

}  // namespace luatrace
