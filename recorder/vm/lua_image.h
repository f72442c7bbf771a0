// SPDX-License-Identifier: MIT
// The LuaJITs in a process: ours, recognized by their ELF note whatever the file's name, and
// others. Invariants: ours are found in the memory of the process, never by a file's name, so
// that containers, deleted files and renamed ones make no difference; a LuaJIT that is only mapped,
// not loaded, does not count; the amount read does not depend on what a file claims.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "luatrace_abi.h"
#include "luatrace_format.h"

namespace luatrace::record {

// A LuaJIT with a note that we understand. Addresses are those of the process.
struct LuaImage {
  std::string path;  // path as the process sees it
  lt_note note{};
  uint64_t control = 0;  // struct lt_control
  uint64_t poll = 0;     // see lt_note.poll
  uint64_t note_at = 0;  // address of the note
  lt_abi abi{};          // the note for stack walkers, as it is; version 0: there is none
  uint64_t abi_at = 0;   // its address
};

struct OtherLua {
  std::string path, version;
  uint16_t machine;  // the file's e_machine
  bool emulated;     // not mapped as code: an emulator reads it
};

struct LuaSearch {
  std::vector<LuaImage> ours;
  std::vector<std::string> unusable;  // ours, but of another version: complete sentences
  int error = 0;                      // errno: the memory or the list of mappings is not readable
};
// asking_ns: for file systems that may not answer, in all.
LuaSearch find_lua(pid_t pid, uint64_t asking_ns = 2'000'000'000);

// LuaJITs without our note, recognized by text in their files, which takes up to 0.2 s: for
// messages only.
std::vector<OtherLua> find_other_lua(pid_t pid);

// The LuaJITs without tracepoints or for another processor in a process, by name, and what to do:
// the rest of a sentence about it. Empty: there is none. As find_other_lua().
std::string explain_other_lua(pid_t pid);

// Why a readable process cannot be recorded: the rest of a sentence about it.
std::string explain_no_lua(pid_t pid, const LuaSearch& search);

}  // namespace luatrace::record
