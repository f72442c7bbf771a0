// SPDX-License-Identifier: MIT
// See record.h. --block: a recorder that is slow (a loaded machine) must not
// turn a comparison of sequences into a test of timing.
#include "record.h"

namespace luatrace::test {
namespace {

std::vector<std::string> Program(std::vector<std::string> argv, const Mode& mode,
                                 const RecordRequest& request) {
  argv.insert(argv.end(), mode.flags.begin(), mode.flags.end());
  argv.push_back(request.program);
  argv.insert(argv.end(), request.args.begin(), request.args.end());
  return argv;
}

RunOptions Options(const RecordRequest& request) {
  RunOptions options;
  options.env = request.env;
  options.timeout_ms = request.timeout_ms;
  return options;
}

}  // namespace

Recorded Record(const Mode& mode, const RecordRequest& request, const ScratchDir& scratch) {
  std::string trace = scratch.File("trace.bin");
  std::vector<std::string> argv{
      Product("luatrace-record"), "-q", "--block", "-o", trace, "--c-functions",
      request.c_functions,        "--"};
  argv.insert(argv.end() - 1, mode.record.begin(), mode.record.end());
  for (auto& word : Program(mode.luajit, mode, request)) argv.push_back(word);
  std::vector<std::string> dump{Product("luatrace-analyze"), "--dump=calls", trace};
  Recorded result;
  result.commands = ShellLine(argv) + "\n" + ShellLine(dump);
  result.run = RunCommand(argv, Options(request));
  result.analyze = RunCommand(dump, Options(request));
  result.reduced = Reduce(result.analyze.out, request.reduce);
  result.analyze.out.clear();
  return result;
}

RunResult RunUpstream(const Mode& mode, const RecordRequest& request) {
  return RunCommand(Program({mode.upstream}, mode, request), Options(request));
}

}  // namespace luatrace::test
