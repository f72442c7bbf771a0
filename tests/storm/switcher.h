// SPDX-License-Identifier: MIT
// Switches the tracing of a running luajit from outside, as a tracer would: by writing the first
// members of luajit_usdt_control (see struct lt_control) through /proc/PID/mem.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::test {

// The settings that a storm changes.
enum class Ways { kProbes, kRing, kBlocks, kAll };

struct StormResult {
  std::string output;    // standard output of the program
  int wait_status = -1;  // as waitpid() gives it
  unsigned switches = 0;
  std::string error;  // why it could not be done, or empty
};

// Runs argv[0..] and changes the control word of its first word that is an executable with the
// symbol luajit_usdt_control (an emulator may be before it, which maps it like the kernel) every 30
// to 1000 us until it ends, or is killed after `seconds` of processor time. The program gets a line
// on its standard input after the first change.
StormResult RunInStorm(const std::vector<std::string>& argv, Ways ways, uint32_t seed,
                       unsigned seconds);

}  // namespace luatrace::test
