// SPDX-License-Identifier: MIT
// Traces of tracers in a process: `vm_state PID` prints one line,
//   owner=0|1 ring=N settings=0|1 states=N on=N patched=N
// (left_behind.h says what the words mean). It only reads.
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
