// SPDX-License-Identifier: MIT
// luatrace-record: runs a command and records the calls of its Lua functions. options.cc reads the
// command line, session.cc is the run; the path of an event is drain/ring.cc ->
// trace/trace_writer.cc -> drain/write_queue.cc.
#include <fcntl.h>
#include <unistd.h>

#include <iostream>
#include <stdexcept>
#include <string_view>

#include "cli/mains.h"
#include "recorder/ask_snapshot.h"
#include "recorder/context_command.h"
#include "recorder/options.h"
#include "recorder/os/clock.h"
#include "recorder/os/text.h"
#include "recorder/push_command.h"
#include "recorder/session.h"
#include "recorder/stack_command.h"

// A file or pipe of ours that got the number of a closed one would be taken for standard output.
static void open_standard_files() {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);
}

int luatrace::record_main(int argc, char** argv) {
  using namespace luatrace::record;
  open_standard_files();
  take_first_sample();
  take_program_name();
  try {
    bool done = false;
    Options options = parse_options(argc, argv, &done);
    if (done && std::cout.flush()) return 0;
    if (done) throw std::runtime_error("standard output: cannot write");
    if (!options.thread_context.empty()) return switch_contexts(options);
    if (access("/proc/self", F_OK) != 0)
      throw std::runtime_error("/proc is not mounted here: processes cannot be recognized");
    if (options.stack) return print_stacks(options);
    if (!options.push.empty()) return push_windows(options);
    if (options.snapshot) return ask_snapshot(options.pids);
    return Session(std::move(options)).run();
  } catch (const luatrace::UsageError& e) {
    log(e.what());
    if (argc < 2 || argv[1] != std::string_view("--inside"))
      log("try '" + program_name() + " --help'");
  } catch (const std::exception& e) {
    log(e.what());
  }
  return 125;
}
