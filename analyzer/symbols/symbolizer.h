// SPDX-License-Identifier: MIT
// Names of C functions: from an address, through the trace's map of mappings, to a symbol of the
// ELF file or its debug information (libdw).
//
// Invariant: a name is given only if the file's build-id is the one that was recorded (if one was).
// Otherwise the result is FILE+0xOFFSET, with the build-id if one was recorded
// (FILE[BUILDID]+0xOFFSET: so one can look for it, and two builds of a library are not taken for
// one), and a warning says why, once per file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/read/map_table.h"
#include "analyzer/symbols/debug_files.h"
#include "analyzer/symbols/native_code.h"

namespace luatrace::analyze {

class ElfModule;

class Symbolizer {
 public:
  using Warner = std::function<void(const std::string&)>;

  // Files are looked for below `sysroot` ("": the root directory).
  Symbolizer(std::string sysroot, Warner warner, std::vector<std::string> debug_dirs = {});
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  struct Result {
    std::string name;  // Demangled; FILE+0xOFFSET if there is no symbol; "" if not mapped.
    std::string file;  // As recorded.
  };
  // `maps` of the process; of overlapping ones the last counts, and `own`, if it is around the
  // address, where none is.
  Result find(const MapTable& maps, const MapInfo& own, uint64_t address);
  // What else is known of the function at an address.
  NativeCode describe(const MapTable& maps, const MapInfo& own, uint64_t address);

 private:
  ElfModule& module(const MapInfo& map);

  SymbolPaths paths_;
  Warner warner_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<ElfModule>> modules_;
};

}  // namespace luatrace::analyze
