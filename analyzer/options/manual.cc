// SPDX-License-Identifier: MIT
// luatrace-manual man|bash|zsh VERSION FILE: writes what is made from the table of options. Used
// while building; not installed.
#include <fstream>
#include <iostream>

#include "analyzer/options/table.h"

int main(int argc, char** argv) {
  const std::string form = argc > 1 ? argv[1] : "";
  if (argc != 4 || (form != "man" && form != "bash" && form != "zsh")) {
    std::cerr << "usage: luatrace-manual man|bash|zsh VERSION FILE\n";
    return 1;
  }
  std::ofstream out(argv[3], std::ios::trunc);
  if (form == "man") luatrace::write_man(out, argv[2]);
  if (form == "bash") luatrace::write_bash_completion(out);
  if (form == "zsh") luatrace::write_zsh_completion(out);
  out.flush();
  if (!out) std::cerr << "luatrace-manual: cannot write " << argv[3] << '\n';
  return out ? 0 : 2;
}
