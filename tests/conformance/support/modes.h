// SPDX-License-Identifier: MIT
// The ways in which every program is run: builds of LuaJIT and compiler options.
// Invariant: mode names are made of letters, digits and _, so they can be part
// of a GoogleTest name, and unique.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace luatrace::test {

struct Mode {
  std::string name;
  std::vector<std::string> luajit;  // the traced luajit: its path, after its emulator if it has one
  std::string upstream;             // path of the unpatched luajit of the same flavour
  std::vector<std::string> flags;   // options for luajit
  std::vector<std::string> record;  // options for luatrace-record
};
// For GoogleTest, which would print the bytes of each case's mode whenever one case is run.
inline void PrintTo(const Mode& mode, std::ostream* out) {
  *out << mode.name;
}

// All modes: the default flavour and its assert build with the JIT on, off,
// eager and without optimisations, compiled code also as segments; the other flavours off and
// eager.
std::vector<Mode> AllModes();

// The folder of the LuaJITs that are traced instead of this build's, and of the C module that was
// made for them (LUATRACE_TEST_LUAJITS); "" if there is none.
std::string OtherLuajits();

// The path of a product of this build: "luajit", "luatrace-record"...
std::string Product(const std::string& name);

// Why this mode or these products cannot be used, "" if they can.
std::string Missing(const Mode& mode);

}  // namespace luatrace::test
