// SPDX-License-Identifier: MIT
// The command line of luatrace as a table.
#include "cli/program.h"

namespace luatrace {
namespace {

constexpr auto kOptions = common_options("Options");
constexpr const char* kUses[] = {"record -o FILE [options] [--] COMMAND [ARGUMENTS]",
                                 "record -o FILE [options] -p PID [-p PID...]",
                                 "analyze FILE... [options]", "top -p PID [options]"};
constexpr const char* kNotes[] = {
    "luatrace record is luatrace-record, luatrace analyze is luatrace-analyze, luatrace top is\n"
    "luatrace-top; each has a manual and --help of its own.\n"};
constexpr Meaning kExamples[] = {
    {"record -o trace.bin luajit app.lua", "records a program"},
    {"analyze trace.bin", "where its time went"},
    {"analyze trace.bin --flame", "the same as a flame graph, trace.html"},
    {"top -p 4711", "what a running process spends its time on, each second"}};
constexpr Meaning kEnvironment[] = {
    {"PATH", "where the programs are searched if they are not in the folder of luatrace"}};
constexpr Meaning kFiles[] = {{"luatrace-record, luatrace-analyze, luatrace-top", "the programs"}};
constexpr Meaning kStatuses[] = {{"125", "wrong usage, or the program cannot be executed"},
                                 {"other", "that of the program"}};

constexpr Program kProgram = {
    "luatrace",
    "records LuaJIT programs, and shows what they spent their time on",
    kUses,
    "Runs one of the programs of luatrace.\n",
    kNotes,
    kOptions,
    kStatuses,
    kExamples,
    kEnvironment,
    kFiles,
    "luatrace-record(1), luatrace-analyze(1), luatrace-top(1), luatrace-fleet(1)",
    Operands::kProgram};

}  // namespace

const Program& luatrace_program() {
  return kProgram;
}

}  // namespace luatrace
