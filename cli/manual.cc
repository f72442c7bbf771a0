// SPDX-License-Identifier: MIT
// luatrace-manual PROGRAM man|bash|zsh VERSION FILE: generates FILE from a program's option table.
// Used during the build; not installed.
#include <fstream>
#include <iostream>

#include "cli/program.h"

int main(int argc, char** argv) {
  using namespace luatrace;
  const std::string name = argc > 1 ? argv[1] : "", form = argc > 2 ? argv[2] : "";
  const Program* program = nullptr;
  for (const Program* known : {&luatrace_program(), &analyze_program(), &fleet_program(),
                               &record_program(), &top_program()})
    if (name == known->name) program = known;
  if (argc != 5 || !program || (form != "man" && form != "bash" && form != "zsh")) {
    std::cerr << "usage: luatrace-manual luatrace[-analyze|-fleet|-record|-top] man|bash|zsh "
                 "VERSION FILE\n";
    return 1;
  }
  std::ofstream out(argv[4], std::ios::trunc);
  if (form == "man") write_man(out, *program, argv[3]);
  if (form == "bash") write_bash_completion(out, *program);
  if (form == "zsh") write_zsh_completion(out, *program);
  out.flush();
  if (!out) std::cerr << "luatrace-manual: cannot write " << argv[4] << '\n';
  return out ? 0 : 2;
}
