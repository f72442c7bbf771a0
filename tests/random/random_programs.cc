// SPDX-License-Identifier: MIT
// Runs random programs and compares what was recorded with what their generator predicts, each in
// two modes (builds and compiler options take turns). Prints the seeds; ends with status 1 if any
// program differs, and leaves its source and the commands that repeat it.
//
//   random_programs [--count N] [--seed S] [--part K] [--modes WORD]
//
// WORD: only in modes that have it in their names. LUATRACE_SEED=S: only that program.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "modes.h"
#include "oracle.h"
#include "program.h"
#include "record.h"

namespace luatrace::test {
namespace {

struct Totals {
  uint64_t programs = 0, runs = 0, events = 0, failed = 0;
};

// "" if the recording equals the prediction.
std::string Check(Program* program, const std::vector<Call>& predicted, const Mode& mode,
                  const ScratchDir& scratch, const std::string& path) {
  RecordRequest request;
  request.program = path;
  request.c_functions = program->c_functions;
  request.reduce.main = std::filesystem::path(path).filename().string() + ":0";
  const Recorded recorded = Record(mode, request, scratch);
  const RunResult upstream = RunUpstream(mode, request);
  std::string problem;
  if (recorded.run.status != 0) problem += "status " + std::to_string(recorded.run.status) + "\n";
  if (recorded.analyze.status != 0) problem += "luatrace-analyze: " + recorded.analyze.err;
  if (recorded.run.out != upstream.out) problem += "the program's output changed\n";
  for (const auto& p : recorded.reduced.problems) problem += p + "\n";
  problem += FirstDifference(predicted, recorded.reduced.calls);
  return problem.empty() ? "" : problem + "\n" + recorded.commands;
}

void RunSeed(uint64_t seed, const std::vector<Mode>& modes, const ScratchDir& scratch,
             Totals* totals) {
  Program program = Generate(seed);
  const std::string name = "random" + std::to_string(seed) + ".lua";
  const std::string path = scratch.path() + "/" + name, source = Print(&program);
  std::ofstream(path) << source;
  const auto predicted = Predict(program, name);
  totals->programs++;
  for (const size_t turn : {seed, seed * 7 + 3}) {
    const Mode& mode = modes[turn % modes.size()];
    const std::string problem = Check(&program, predicted, mode, scratch, path);
    totals->runs++;
    totals->events += predicted.size();
    if (problem.empty()) continue;
    totals->failed++;
    std::cout << "FAIL: seed " << seed << " in mode " << mode.name << "\n" << problem << "\n";
    if (totals->failed <= 2) std::cout << source << "\n";
  }
  std::filesystem::remove(path);
}

int Main(int argc, char** argv) {
  uint64_t count = 70, first = 1, part = 0;
  std::string word;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--modes") word = argv[i + 1];
    if (option == "--count") count = value;
    if (option == "--seed") first = value;
    if (option == "--part") part = value;
  }
  if (const char* only = std::getenv("LUATRACE_SEED")) {
    first = std::strtoull(only, nullptr, 10);
    count = 1;
    part = 0;
  }
  auto modes = AllModes();
  std::erase_if(modes, [&](const Mode& mode) { return mode.name.find(word) == word.npos; });
  if (modes.empty()) return 1;
  for (const Mode& mode : modes)
    if (const std::string missing = Missing(mode); !missing.empty()) {
      std::cout << "random_programs: " << missing << "\n";
      return 1;
    }
  first += part * count;
  std::cout << "seeds " << first << " to " << first + count - 1 << ", " << modes.size()
            << " modes\n";
  const ScratchDir scratch;
  Totals totals;
  for (uint64_t seed = first; seed < first + count; seed++) RunSeed(seed, modes, scratch, &totals);
  std::cout << totals.programs << " programs, " << totals.runs << " runs, " << totals.events
            << " events compared, " << totals.failed << " differ\n";
  return totals.failed || !totals.events ? 1 : 0;
}

}  // namespace
}  // namespace luatrace::test

int main(int argc, char** argv) {
  return luatrace::test::Main(argc, argv);
}
