// SPDX-License-Identifier: MIT
// The command line of luatrace-fleet as a table: the man page and the completions come from it. The
// script has its own parser and --help; tests/fleet/manual.sh compares the options.
#include "cli/program.h"

namespace luatrace {
namespace {

constexpr const char* kInputs = "Inputs and output";
constexpr const char* kTasks = "Tasks";
constexpr const char* kOther = "Other";

// clang-format off
constexpr OptionSpec kOptions[] = {
    {kInputs, "output", 'o', "FILE", false, false, "the profile to write",
     "A saved profile of that name is replaced; any other file is kept.", nullptr, Complete::kFile},
    {kInputs, "from", 0, "LIST", false, false, "a file with an input in each line; - is standard input", nullptr, nullptr,
     Complete::kFile},
    {kInputs, "fetch", 0, "COMMAND", false, false, "inputs are names of objects, which COMMAND gets",
     "bash runs COMMAND with the name as $1; it writes the object to the file $2."},
    {kTasks, "on", 0, "WHERE", false, false, "local (default), slurm, or parallel",
     "parallel is GNU parallel over the hosts of --hosts.", "local slurm parallel"},
    {kTasks, "hosts", 0, "LIST", false, false, "for parallel: hosts, as for its --sshlogin", nullptr},
    {kTasks, "jobs", 0, "N", false, false, "tasks that run at once",
     "local: one for each processor; parallel: for each host; slurm: no limit."},
    {kTasks, "work", 0, "DIR", false, false, "folder with the state, on a file system that all machines share",
     "It is kept, and the same command continues there. Without it: a temporary folder, with --on local only.", nullptr,
     Complete::kDirectory},
    {kTasks, "batch", 0, "N", false, false, "inputs of a task, profiles of a merge (32)", nullptr},
    {kTasks, "tries", 0, "N", false, false, "attempts for each input and merge (3)", nullptr},
    {kTasks, "prepare", 0, nullptr, false, false, "only write the plan to --work DIR, and print the number of tasks", nullptr},
    {kTasks, "task", 0, "L:I", false, false, "only run task I of level L of the plan in --work DIR",
     "Its status is 0 if the task is done, also if it left inputs out, and 75 if tasks before it are not done."},
    {kOther, "help", 'h', nullptr, false, false, "print this help", nullptr},
};
// clang-format on

constexpr const char* kUses[] = {"-o FILE [options] TRACE... [-- OPTION OF LUATRACE-ANALYZE...]"};
constexpr const char* kNotes[] = {
    "The profile has the same bytes as that of luatrace-analyze TRACE... --save-profile FILE,\n"
    "whatever runs the tasks, and whichever of them die. What cannot be read is reported, and "
    "left\n"
    "out.\n",
    "Options after -- are filters and groups for the analysis of each trace.\n"};
constexpr Meaning kStatuses[] = {
    {"0", "all inputs are in FILE"},
    {"1", "wrong usage"},
    {"2", "nothing was written: no input was readable, or tasks or their engine kept failing"},
    {"3", "FILE is written, some inputs were left out; standard error names each"},
    {"4", "nothing was written: inputs cannot be merged with each other"}};
constexpr Meaning kExamples[] = {
    {"-o day.profile traces/*.bin", "on this machine"},
    {"-o day.profile --from list --on slurm --work /shared/day", "by Slurm"},
    {"-o day.profile --from list --fetch 'aws s3 cp --quiet \"$1\" \"$2\"'", "of an object store"},
    {"-o day.profile traces/*.bin -- --group-by plugin", "grouped by plugin"}};
constexpr Meaning kEnvironment[] = {
    {"TMPDIR", "where the temporary work folder is, and the object that is analyzed (/tmp)"},
    {"PATH", "where luatrace-analyze is searched if it is not in the folder of luatrace-fleet"}};
constexpr Meaning kFiles[] = {
    {"luatrace-analyze", "the program that analyzes and merges"},
    {"DIR/done", "of --work DIR: the results of the tasks, which another run uses"},
    {"DIR/left-out", "of --work DIR: for each input that was left out, why"}};

constexpr Program kProgram = {
    "luatrace-fleet",
    "makes one profile of the traces of many machines",
    kUses,
    "Makes one saved profile of many traces or saved profiles by a tree of merges, in parallel.\n",
    kNotes,
    kOptions,
    kStatuses,
    kExamples,
    kEnvironment,
    kFiles,
    "luatrace(1), luatrace-record(1), luatrace-analyze(1), docs/fleet.md",
    Operands::kFiles};

}  // namespace

const Program& fleet_program() {
  return kProgram;
}

}  // namespace luatrace
