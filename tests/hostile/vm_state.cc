// SPDX-License-Identifier: MIT
// What tracers have left in a process: `vm_state PID` prints one line,
//   owner=0|1 ring=N settings=0|1 states=N on=N patched=N
// (explained in left_behind.h). It only reads the process.
#include <cstdio>
#include <cstdlib>

#include "tests/hostile/left_behind.h"

int main(int argc, char** argv) {
  hostile::LeftBehind left;
  std::string why;
  if (!hostile::look_at(argc > 1 ? std::atoi(argv[1]) : 0, left, why))
    return std::puts(why.c_str()), 1;
  std::printf("owner=%d ring=%u settings=%d states=%zu on=%zu patched=%zu\n", left.owner ? 1 : 0,
              left.ring, left.settings ? 1 : 0, left.states, left.on, left.patched);
  return 0;
}
