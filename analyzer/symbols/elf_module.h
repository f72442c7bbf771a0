// SPDX-License-Identifier: MIT
// One ELF file of a traced program, opened once through libdwfl at address 0. Maps addresses to
// names by its symbol tables, its own debug information or that of a separate file.
//
// Invariant: the file used has the recorded build-id (if one was recorded). If the original file is
// gone, a file with the same build-id in the debug folders is the fallback.
#pragma once

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/read/model.h"
#include "analyzer/symbols/debug_files.h"
#include "analyzer/symbols/debug_functions.h"
#include "analyzer/symbols/native_code.h"

namespace luatrace::analyze {

// The path at which the file was mapped.
std::string path_of(const MapInfo& map);

class ElfModule {
 public:
  ElfModule(const SymbolPaths& paths, const MapInfo& map);
  ~ElfModule();
  ElfModule(const ElfModule&) = delete;
  ElfModule& operator=(const ElfModule&) = delete;

  // Why the file cannot be used; "" if it can.
  const std::string& problem() const { return problem_; }

  // Returns the name of the function at this address of the program, "" if there is none. `map`:
  // the mapping of this file that contains the address.
  std::string name(const MapInfo& map, uint64_t address) const;
  // Sets what else is known of the function at the address; leaves the rest of `out` unchanged.
  void describe(const MapInfo& map, uint64_t address, NativeCode& out) const;

  bool has_sysroot() const { return !paths_.sysroot.empty(); }
  // For libdwfl's callback: returns a descriptor, -1 if there is no file, and its path in `found`.
  int find_debug_file(Elf* elf, char** found) const;
  // The same; may_search: whether libdwfl may search on (debuginfod) if there is no file.
  int find_alternate_file(Dwarf* dwarf, const char* debug_file, char** found,
                          bool& may_search) const;

 private:
  bool open(const std::string& path, int fd);
  void open_fallback();
  void read_segments();
  bool module_address(const MapInfo& map, uint64_t address, uint64_t& out) const;
  struct Symbol {
    const char* name = nullptr;  // Mangled; null: no symbol.
    uint64_t bytes = 0;          // 0: unknown.
    Elf* elf = nullptr;          // The file that has the symbol.
  };
  // The following functions take addresses of the module.
  Symbol symbol(uint64_t at) const;
  bool is_from_symtab(const Symbol& symbol) const;
  const DebugEntry* function_at(uint64_t at) const;
  std::string debug_name(uint64_t at) const;
  SourceLine first_line(uint64_t at) const;
  std::string read_from() const;
  struct Unit {
    uint64_t end;     // Of one address range of the unit.
    Dwarf_Addr bias;  // Added to addresses of the debug information to get the module's.
    Dwarf_Die die;
  };
  std::optional<Unit> unit_at(uint64_t address) const;
  void read_units() const;
  struct Segment {
    uint64_t offset, size, address;
  };
  const SymbolPaths& paths_;
  const std::string recorded_;  // The recorded path.
  const std::string build_id_;
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  uint64_t bias_ = 0;
  std::vector<Segment> segments_;  // Of the file.
  uint64_t code_ = 0;              // Page address of the executable segment, ...
  bool by_code_ = false;           // ... used if the file has debug information but no code.
  std::string problem_;
  mutable std::map<uint64_t, Unit> units_;  // By the beginnings of their ranges.
  mutable bool units_read_ = false;         // Whether units_ is filled.
  mutable DebugFunctions functions_;
  mutable std::map<Elf*, bool> has_symtab_;
  // Part of the debug information is said to be in something that is not a regular file. libdw
  // would open that on its own (and block forever on a FIFO) when it needs that part. Set when the
  // debug information is loaded.
  mutable bool is_unsafe_ = false;
};

}  // namespace luatrace::analyze
