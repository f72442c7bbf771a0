// SPDX-License-Identifier: MIT
// Names of C functions: finds the mapping of an address in the trace, then a symbol in the ELF file
// or its debug information (libdw).
//
// Invariant: a name is returned only if the file has the recorded build-id (if one was recorded).
// Otherwise the result is FILE+0xOFFSET, with the build-id if one was recorded
// (FILE[BUILDID]+0xOFFSET, so that the file can be found, and two builds of a library remain
// distinct), and a warning says why, once per file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/read/map_table.h"
#include "analyzer/symbols/debug_files.h"
#include "analyzer/symbols/function_name.h"
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

  // Returns the name of a C function, demangled: FILE+0xOFFSET if there is no symbol, "" if its
  // address is not mapped. Uses the last mapping of the process in `maps` that contains the
  // address, or else what the function's description says.
  Symbol find(const MapTable& maps, const Function& function);
  // Returns what else is known of the function.
  NativeCode describe(const MapTable& maps, const Function& function);

 private:
  ElfModule& module(const MapInfo& map);

  SymbolPaths paths_;
  Warner warner_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<ElfModule>> modules_;
};

}  // namespace luatrace::analyze
