// SPDX-License-Identifier: MIT
// Small text functions: numbers and names for messages, file names with %p, shell words. Invariant:
// no external text reaches a terminal with control characters in it (base/escape.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace luatrace::record {

// 1234567 -> "1,234,567".
std::string grouped(uint64_t n);

// "1 event", "1,234 events"; many: if that is not `one` with an "s".
std::string counted(uint64_t n, const std::string& one, const std::string& many = "");

// A size in readable form: "98.8 MB" (powers of 1000).
std::string bytes_text(uint64_t bytes);

// A duration: "3.214 s", "1.5 ms".
std::string time_text(double ns);

// Quoted for a POSIX shell where necessary; control characters as $'\xNN'.
std::string shell_word(std::string_view word);
std::string shell_line(const std::vector<std::string>& words);

// The parts with newlines between them.
std::string lines_of(const std::vector<std::string>& parts);

// "1, 2, 3": the first ten numbers, and "..." if there are more.
std::string pids_text(const std::vector<int>& pids);

// Each WHAT ("%p") replaced by the number.
std::string expand(std::string name, std::string_view what, int number);

// Each %p replaced by the number.
std::string expand_pid(const std::string& name, int pid);

std::string errno_text(int err);

// The program whose command line the user has given: luatrace-record, or the one that has started
// it and set kCallerVariable. take_program_name() reads that, first of all.
constexpr const char* kCallerVariable = "LUATRACE_CALLER";
void take_program_name();
std::string program_name();

// One line on standard error, "luatrace-record: TEXT".
void log(std::string_view text);

// A line on a terminal that the next one replaces, and that messages erase; "" erases it.
void show_status(const std::string& text);

}  // namespace luatrace::record
