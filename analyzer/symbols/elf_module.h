// SPDX-License-Identifier: MIT
// One ELF file of a traced program, opened once through libdwfl at address 0: from places in the
// file to names, by its symbol tables, its own debug information or that of a separate file.
//
// Invariant: what is used has the build-id that was recorded (if one was). A file that is gone is
// stood in for by the one with the same build-id in the debug folders, if there is one.
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

// Where the file was when it was mapped.
std::string path_of(const MapInfo& map);

class ElfModule {
 public:
  ElfModule(const SymbolPaths& paths, const MapInfo& map);
  ~ElfModule();
  ElfModule(const ElfModule&) = delete;
  ElfModule& operator=(const ElfModule&) = delete;

  // Why it cannot name anything; "" if it can.
  const std::string& problem() const { return problem_; }

  // Name of the function at this address of the program, "" if there is none. `map` is a mapping of
  // this file around the address.
  std::string name(const MapInfo& map, uint64_t address) const;
  // What else is known of the function there; what is not stays as it is in `out`.
  void describe(const MapInfo& map, uint64_t address, NativeCode& out) const;

  bool has_sysroot() const { return !paths_.sysroot.empty(); }
  // For libdwfl's callback: a descriptor, -1 if there is none, and where it was found.
  int find_debug_file(Elf* elf, char** found) const;
  // may_ask: whether libdwfl may go on looking (debuginfod) if there is none.
  int find_alternate_file(Dwarf* dwarf, const char* debug_file, char** found, bool& may_ask) const;

 private:
  bool open(const std::string& path, int fd);
  void open_stand_in();
  void read_segments();
  bool module_address(const MapInfo& map, uint64_t address, uint64_t& out) const;
  struct Symbol {
    const char* name = nullptr;  // As linked; null: none.
    uint64_t bytes = 0;          // 0: unknown.
    Elf* elf = nullptr;          // The file that has it.
  };
  // Addresses of the module, from here on.
  Symbol symbol(uint64_t at) const;
  bool is_from_symtab(const Symbol& symbol) const;
  const UnitIndex::Function* function_at(uint64_t at) const;
  std::string debug_name(uint64_t at) const;
  SourceLine first_line(uint64_t at) const;
  std::string read_from() const;
  struct Unit {
    uint64_t end;     // Of one range of its addresses.
    Dwarf_Addr bias;  // From addresses of the debug information to the module's.
    Dwarf_Die die;
  };
  std::optional<Unit> unit_at(uint64_t address) const;
  void read_units() const;
  struct Segment {
    uint64_t offset, size, address;
  };
  const SymbolPaths& paths_;
  const std::string recorded_;  // Path as recorded.
  const std::string build_id_;
  Dwfl* dwfl_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  uint64_t bias_ = 0;
  std::vector<Segment> segments_;  // Of the file.
  uint64_t code_ = 0;              // Page of its executable segment, ...
  bool by_code_ = false;           // ... used when the file has no code: debug information alone.
  std::string problem_;
  mutable std::map<uint64_t, Unit> units_;  // By the beginnings of their ranges, ...
  mutable bool units_read_ = false;         // ... once they were asked for.
  mutable DebugFunctions functions_;
  mutable std::map<Elf*, bool> has_symtab_;
  // A part of the debug information is said to be in what is no file, which libdw would open by
  // itself (a FIFO: for ever) when it comes to it. Known once that information is there.
  mutable bool is_unsafe_ = false;
};

}  // namespace luatrace::analyze
