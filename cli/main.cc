// SPDX-License-Identifier: MIT
// main() of luatrace-record, luatrace-analyze and luatrace-top; each target defines LUATRACE_MAIN.
#include "cli/mains.h"

int main(int argc, char** argv) {
  return luatrace::LUATRACE_MAIN(argc, argv);
}
