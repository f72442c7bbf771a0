// SPDX-License-Identifier: MIT
// Whenever tracing is switched, a program prints the same as untraced, and ends in the same way.
// Every program of programs/ and unusual/ runs for a second or so, on the normal and on the assert
// build. The LuaJITs of LUATRACE_TEST_LUAJITS run by LUATRACE_TEST_EMULATOR take the place of this
// build's (see tests/conformance/support/modes.cc).
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>
#include <tuple>

#include "switcher.h"

namespace luatrace::test {
namespace {

constexpr unsigned kMinSwitches = 20;  // switches that make a storm
constexpr unsigned kSeconds = 60;      // of processor time, after which a program counts as hanging

using Options = std::vector<std::string>;
using Param = std::tuple<std::string, std::string, int, Ways>;  // program, build, options, ways

constexpr size_t kInterpreted = 1;
const std::vector<Options> kOptions = {{}, {"-joff"}, {"-Ohotloop=1", "-Ohotexit=1"}};

// "folder/name" of the programs in a folder.
std::vector<std::string> Programs(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(STORM_SOURCES) + "/" + folder))
    names.push_back(folder + "/" + entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The command that runs a LuaJIT.
std::vector<std::string> Luajit(const std::string& variant) {
  const std::string ours = STORM_LUAJIT + variant + "/luajit";
  const char* const folder = getenv("LUATRACE_TEST_LUAJITS");
  const char* const emulator = getenv("LUATRACE_TEST_EMULATOR");
  const std::string flavour =
      std::string(STORM_LUAJIT).substr(std::string(STORM_LUAJIT).rfind('/'));
  const std::string other = folder != nullptr ? folder + flavour + variant + "/luajit" : "";
  // Unpatched LuaJITs print the same on all processors, but where hooks are called.
  if (other.empty() || (variant == "-upstream" && !std::filesystem::exists(other))) return {ours};
  std::istringstream words(emulator != nullptr ? emulator : "");
  std::vector<std::string> argv{std::istream_iterator<std::string>(words), {}};
  argv.push_back(other);
  return argv;
}

std::vector<std::string> Command(std::vector<std::string> argv, const Options& options,
                                 const std::string& program) {
  argv.insert(argv.end(), options.begin(), options.end());
  argv.insert(argv.end(), {"-e", "io.read()"});  // waits until the storm has begun
  argv.push_back(std::string(STORM_SOURCES) + "/" + program + ".lua");
  return argv;
}

std::string OutputOf(const std::vector<std::string>& argv) {
  std::string command, text;
  for (const auto& a : argv) command += "'" + a + "' ";
  command += "</dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}

class Storm : public testing::TestWithParam<Param> {};

TEST_P(Storm, OutputNeverChanges) {
  const auto& [program, variant, options, ways] = GetParam();
  setenv("LUATRACE_RING", "1048576", 1);  // small, so that it overflows now and then
  const uint32_t seed = std::hash<std::string>{}(program) + static_cast<uint32_t>(options);
  const auto argv = Command(Luajit(variant), kOptions[options], program);
  // Interpreted: upstream's compiler itself fails where a handler of its events runs hot code.
  const std::string wanted =
      OutputOf(Command(Luajit("-upstream"), kOptions[kInterpreted], program));
  ASSERT_FALSE(wanted.empty());
  StormResult got = RunInStorm(argv, ways, seed, kSeconds);
  // Without a processor for the switcher there is no storm, and the test proves nothing.
  for (int turn = 0; got.switches <= kMinSwitches && got.output == wanted && turn < 5; turn++)
    got = RunInStorm(argv, ways, seed, kSeconds);
  ASSERT_EQ(got.error, "");
  EXPECT_EQ(got.wait_status, 0) << (WIFSIGNALED(got.wait_status) ? "killed by a signal" : "failed");
  EXPECT_EQ(got.output, wanted);
  EXPECT_GT(got.switches, kMinSwitches) << "the program ended before the storm began";
  std::cout << got.switches << " switches, seed " << seed << "\n";
}

std::string CaseName(const testing::TestParamInfo<Param>& info) {
  const auto& [program, variant, options, ways] = info.param;
  const char* const option_names[] = {"default", "nojit", "eager"};
  const char* const way_names[] = {"probes", "ring", "blocks", "all"};
  return program.substr(program.find('/') + 1) + (variant.empty() ? "_" : "_assert_") +
         option_names[options] + "_" + way_names[static_cast<int>(ways)];
}

INSTANTIATE_TEST_SUITE_P(
    All, Storm,
    testing::Combine(testing::ValuesIn(Programs("programs")),
                     testing::Values(std::string(""), std::string("-assert")), testing::Range(0, 3),
                     testing::Values(Ways::kProbes, Ways::kRing, Ways::kBlocks, Ways::kAll)),
    CaseName);

// Hooks, callbacks, handlers, forks, files that are closed, stripped code: all ways at once.
INSTANTIATE_TEST_SUITE_P(Unusual, Storm,
                         testing::Combine(testing::ValuesIn(Programs("unusual")),
                                          testing::Values(std::string(""), std::string("-assert")),
                                          testing::Range(0, 3), testing::Values(Ways::kAll)),
                         CaseName);

}  // namespace
}  // namespace luatrace::test
