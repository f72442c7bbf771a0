// SPDX-License-Identifier: MIT
// frames_at FILE BUILD_ID_HEX SYSROOT DEBUG_DIR ADDRESS: the frames at an address of the file as
// linked, innermost first, "function file:line" each. For symbols.sh.
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "analyzer/symbols/elf_module.h"
#include "analyzer/symbols/symbolizer.h"

int main(int argc, char** argv) {
  if (argc != 6) return 1;
  std::string id;
  for (const char* p = argv[2]; p[0] && p[1]; p += 2)
    id += static_cast<char>(strtoul(std::string(p, 2).c_str(), nullptr, 16));
  luatrace::Symbolizer symbols(argv[3], [](const std::string& w) { std::cerr << w << '\n'; },
                               {argv[4]});
  // The whole file as one mapping; its segments say where an address is in it.
  const uint64_t address = strtoull(argv[5], nullptr, 16);
  const std::vector<luatrace::MapInfo> maps = {{1, 0, 1 << 30, 0, id, argv[1]}};
  for (const auto& frame : symbols.frames(maps, 1, address))
    std::cout << frame.function << ' ' << frame.file.substr(frame.file.rfind('/') + 1) << ':'
              << frame.line << '\n';
}
