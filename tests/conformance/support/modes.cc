// SPDX-License-Identifier: MIT
// See modes.h. LUATRACE_BUILD_DIR and LUATRACE_FLAVOURS come from CMake; the
// environment variable LUATRACE_TEST_BUILD replaces the former, so that tests
// can be run against the products of another build folder. LUATRACE_TEST_LUAJITS replaces only the
// folder of the traced LuaJITs. They may be for another architecture, then LUATRACE_TEST_EMULATOR
// is the command that runs them.
#include "modes.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

namespace luatrace::test {
namespace {

struct Options {
  const char* name;
  std::vector<std::string> flags;
  std::vector<std::string> record = {};
};

std::string BuildDir() {
  const char* other = getenv("LUATRACE_TEST_BUILD");
  return other ? other : LUATRACE_BUILD_DIR;
}

std::vector<std::string> Flavours() {
  std::istringstream names(LUATRACE_FLAVOURS);
  std::vector<std::string> flavours;
  for (std::string name; std::getline(names, name, ',');) flavours.push_back(name);
  return flavours;
}

std::vector<std::string> Emulator() {
  const char* command = getenv("LUATRACE_TEST_EMULATOR");
  std::istringstream words(command ? command : "");
  return {std::istream_iterator<std::string>(words), {}};
}

std::string Identifier(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
}

void Add(const std::string& flavour, const std::string& variant, const std::string& prefix,
         const std::vector<Options>& options, std::vector<Mode>* modes) {
  const std::string luajits = BuildDir() + "/luajit", other = OtherLuajits();
  std::vector<std::string> luajit = Emulator();
  luajit.push_back((other.empty() ? luajits : other) + "/" + flavour + variant + "/luajit");
  for (const Options& o : options)
    modes->push_back(
        {prefix + o.name, luajit, luajits + "/" + flavour + "-upstream/luajit", o.flags, o.record});
}

}  // namespace

std::string OtherLuajits() {
  const char* other = getenv("LUATRACE_TEST_LUAJITS");
  return other ? other : "";
}

std::vector<Mode> AllModes() {
  const Options on{"jit", {}}, off{"nojit", {"-joff"}};
  const std::vector<std::string> as_events = {"--times", "events"},
                                 as_segments = {"--times", "segments"};
  const Options eager{"eager", {"-Ohotloop=1", "-Ohotexit=1"}, as_events};
  const Options plain{"unoptimised", {"-O0"}, as_events};
  const Options eager_auto{"eager_auto", eager.flags, {"--times", "auto"}};
  const Options eager_segments{"eager_segments", eager.flags, as_segments};
  const Options plain_segments{"unoptimised_segments", plain.flags, as_segments};
  std::vector<Mode> modes;
  for (const std::string& flavour : Flavours()) {
    bool first = modes.empty();
    std::string prefix = first ? "" : Identifier(flavour) + "_";
    // Most of the programs are too short for the compiler, unless it is eager.
    Add(flavour, "", prefix,
        first ? std::vector{on, off, eager, plain, eager_auto, eager_segments, plain_segments}
              : std::vector{off, eager, eager_segments},
        &modes);
    if (first) Add(flavour, "-assert", "assert_", {off, eager, eager_auto, eager_segments}, &modes);
  }
  return modes;
}

std::string Product(const std::string& name) {
  return BuildDir() + "/bin/" + name;
}

std::string Missing(const Mode& mode) {
  for (const std::string& path :
       {mode.luajit.back(), mode.upstream, Product("luatrace-record"), Product("luatrace-analyze")})
    if (access(path.c_str(), X_OK) != 0) return path + " was not built";
  return "";
}

}  // namespace luatrace::test
