// SPDX-License-Identifier: MIT
// The command line of luatrace-top as a table.
#include "cli/program.h"

namespace luatrace {
namespace {

constexpr const char* kTable = "Table";
constexpr const char* kRecording = "Recording";
constexpr const char* kOther = "Other";

// clang-format off
// Those of kRecording are luatrace-record's; their values are checked there.
constexpr OptionSpec kOwnOptions[] = {
    {kTable, "interval", 'n', "SECONDS", false, false, "time between two tables (1)",
     "Also with a unit: 500ms. At least 100ms."},
    {kTable, "count", 0, "N", false, false, "end after N tables", nullptr},
    {kTable, "requests", 0, nullptr, false, false, "requests instead of functions",
     "Of those that ended since the table before: how many, percentiles of their times, and a row for each of the slowest, as "
     "luatrace-analyze --requests has it; and the open ones that began first."},
    {kTable, "request-by", 0, "FN", false, true, "--requests, but each call of FN is a request",
     "For programs whose host does not say for which request it works. With @coroutines instead of FN, each coroutine that the "
     "host resumes while no Lua runs is a request."},
    {kTable, "sort", 0, "FIELD", false, false, "order: self (default), inclusive, calls (with --sample: samples), suspended or name; with --requests wall (default), running, waits, others or unattributed",
     "With --requests it is the order of those that ended.",
     "self inclusive calls samples suspended name wall running waits others unattributed"},
    {kTable, "limit", 0, "N", false, false, "number of rows; as many as the terminal has (default), or 20",
     "With --requests a third of them, or more, is for open requests."},

    {kRecording, "pid", 'p', "PID", false, true, "the process", nullptr, nullptr, Complete::kProcess},
    {kRecording, "sample", 0, "HZ", true, false, "functions by samples of the CPU time, HZ times a second (99), instead of by their calls",
     "Kernel, C and Lua functions, at next to no cost; also of processes without LuaJIT. As root."},
    {kRecording, "children", 0, nullptr, false, false, "also its descendants, including new ones", nullptr},
    {kRecording, "include", 0, "GLOB", false, true, "only functions of matching chunks", nullptr},
    {kRecording, "exclude", 0, "GLOB", false, true, "no functions of matching chunks", nullptr},
    {kRecording, "c-functions", 0, "CLASS", false, false, "which C functions: none, user, default, all, ffi", nullptr,
     "none user default all ffi"},
    {kRecording, "via", 0, "WAY", false, false, "direct, bpf, or auto", nullptr, "auto direct bpf"},
};
// clang-format on
constexpr auto kOptions = with_common_options(kOwnOptions, kOther);

constexpr const char* kUses[] = {"-p PID [-p PID...] [options]"};
constexpr const char* kNotes[] = {
    "A table has what happened since the one before it: calls that began, and time that passed,\n"
    "also in calls that began earlier. Nothing is stored. On a terminal q or ^C ends it;\n"
    "otherwise a table is printed after each interval.\n",
    "Every call is an event, so a program that does little but call runs more slowly while it is\n"
    "watched, and events may be lost: the first line says how many. --include and\n"
    "--c-functions none help. With --sample it runs as before.\n"};
constexpr Meaning kExamples[] = {
    {"-p 4711", "what a process spends its time on, until q"},
    {"-p 4711 --sample", "the same by samples: also C functions and the kernel, without a cost"},
    {"-p MASTER --children -n 5", "a server's workers, every five seconds"},
    {"-p MASTER --children --requests", "the requests of nginx's workers"},
    {"-p 4711 --count 1 >table.txt", "one second as a table in a file"}};
constexpr Meaning kEnvironment[] = {{"COLUMNS", "width of the table, if exported"},
                                    {"PATH",
                                     "where luatrace-record is searched if it is not in "
                                     "the folder of luatrace-top"}};
constexpr Meaning kFiles[] = {{"luatrace-record", "the program that records"}};
constexpr Meaning kStatuses[] = {
    {"125", "wrong usage, or luatrace-record cannot be executed"},
    {"other",
     "that of luatrace-record -p: 0 success, 120 no such process, 121 permission denied, "
     "122 no LuaJIT with tracepoints, 123 it is being recorded already, 124 no event came"}};

constexpr Program kProgram = {"luatrace-top",
                              "shows what running LuaJIT programs spend their time on",
                              kUses,
                              "Attaches to running processes, and shows their functions or "
                              "requests by time, again every second.\n",
                              kNotes,
                              kOptions,
                              kStatuses,
                              kExamples,
                              kEnvironment,
                              kFiles,
                              "luatrace(1), luatrace-record(1), luatrace-analyze(1)",
                              Operands::kNone};

}  // namespace

const Program& top_program() {
  return kProgram;
}

}  // namespace luatrace
