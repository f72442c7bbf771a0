// SPDX-License-Identifier: MIT
// Durations as users write them: "5ms", "1.5 s", "200us", "2m", "1h". The only parser of durations,
// for the options of both programs and for conditions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace luatrace {

// Nanoseconds of one ns, us (or µs), ms, s, m or h; 0 for any other text.
double unit_ns(std::string_view unit);

// For messages about an invalid duration.
constexpr const char* kTimeExamples =
    "a number with ns, us, ms, s, m or h, such as 200us, 5ms, 1.5s or 1h";

// In nanoseconds, up to about 290 years; empty if the text is not a duration. A number without a
// unit counts `plain_ns` nanoseconds. Blanks between number and unit are allowed, as reports print
// them.
std::optional<uint64_t> duration_ns(std::string_view text, double plain_ns);

}  // namespace luatrace
