// SPDX-License-Identifier: MIT
// The command line of luatrace-record as a table.
#include "cli/program.h"

namespace luatrace {
namespace {

constexpr const char* kWhere = "Output";
constexpr const char* kWhat = "Recorded events";
constexpr const char* kAttach = "Attaching";
constexpr const char* kStacks = "Stacks";
constexpr const char* kSample = "Sampling";
constexpr const char* kPush = "Pushing";
constexpr const char* kWatch = "Watching";
constexpr const char* kOther = "Other";

// clang-format off
constexpr OptionSpec kOwnOptions[] = {
    {kWhere, "output", 'o', "FILE", false, false, "where to write the trace",
     nullptr, nullptr, Complete::kFile},
    {kWhere, "force", 0, nullptr, false, false, "overwrite FILE even if it is not a trace", nullptr},
    {kWhere, "compress", 0, "LEVEL", true, false, "compress the trace with zstd, 1 (default: fast) to 19 (small)", nullptr},
    {kWhere, "max-size", 0, "SIZE", false, false, "end the recording before FILE becomes larger; the program continues", nullptr},
    {kWhere, "ring-size", 0, "SIZE", false, false, "memory between program and recorder, per Lua VM", nullptr},
    {kWhere, "block", 0, nullptr, false, false, "make the program wait when that memory is full, instead of dropping events",
     nullptr},
    {kWhere, "flight", 0, "AMOUNT", false, false, "keep only the newest events, 64M of them or 30s, in memory; write them when asked",
     "FILE gets a snapshot of them at each SIGUSR1, --snapshot, --slow and --on-error, and at the end: the first FILE, then FILE.2 and so "
     "on, or with the number in place of %n."},
    {kWhere, "slow", 0, "FN=TIME", false, true, "with --flight: a snapshot when a call of FN took longer",
     "From its entry to its end, suspended time included. FN is the name of a function, CHUNK:LINE of its definition, or the chunk "
     "of a main chunk, with * and ?."},
    {kWhere, "on-error", 0, "FN", false, true, "with --flight: a snapshot when an error leaves FN", nullptr},
    {kWhere, "only-slow", 0, "FN=TIME", false, true, "write only the calls of FN that took longer, each with everything below it", nullptr},

    {kWhat, "include", 0, "GLOB", false, true, "record only functions of matching chunks", nullptr},
    {kWhat, "exclude", 0, "GLOB", false, true, "do not record functions of matching chunks", nullptr},
    {kWhat, "c-functions", 0, "CLASS", false, false, "which C functions to record: none, user, default, all, ffi",
     "user: those of the program and its modules. default: these, and library functions that the compiler never inlines. all: "
     "these, and those that it inlines; they begin and end at the same moment. ffi: those of default, and the C functions that are "
     "called by FFI, by their declared names.", "none user default all ffi"},
    {kWhat, "times", 0, "HOW", false, false, "how to record compiled code: auto (default), segments or events",
     "events: each call has its time. segments: the calls are the same, but compiled code runs at nearly its own speed, and the times of "
     "calls inside it are apportioned by their machine code. auto: segments for code that would take less time than its events, "
     "events for other code; with -o -, --flight, --only-slow, --max-depth, --cpu, --inside, and with filters and --via bpf, events.",
     "auto segments events"},
    {kWhat, "cpu", 0, nullptr, false, false, "also record when the scheduler stops and continues a Lua VM's thread",
     "Then the analyzer knows CPU times: the times of calls without waiting for anything, and without other threads in their place."},
    {kWhat, "max-depth", 0, "N", false, false, "leave out calls that are deeper than N", nullptr},
    {kWhat, "duration", 'd', "SECONDS", false, false, "end the recording after this time; the program continues",
     "Also with a unit: 500ms, 10m, 1h."},

    {kAttach, "pid", 'p', "PID", false, true, "attach to this process instead of running a command",
     nullptr, nullptr, Complete::kProcess},
    {kAttach, "all", 'a', nullptr, false, false, "attach to every process of the system, including new ones",
     "Those without LuaJIT are left out, but for --sample, which has their C functions."},
    {kAttach, "children", 0, nullptr, false, false, "with -p: also its descendants, including new ones",
     nullptr},
    {kAttach, "snapshot", 0, nullptr, false, false, "with -p: ask the flight recorder of this process for a snapshot, and end",
     nullptr},
    {kAttach, "via", 0, "WAY", false, false, "direct (through the process's memory), bpf, or auto: direct where possible", nullptr,
     "auto direct bpf"},
    {kAttach, "seccomp", 0, "WHAT", false, false, "with --via direct: check a process's seccomp filter, or ignore it",
     "check: if the filter forbids the system calls for a ring, or cannot be read, the process is refused (auto: --via bpf).", "check ignore"},
    {kAttach, "bpf-link", 0, "KIND", false, false,
     "with --via bpf: multi (uprobe links, Linux 6.6), each (perf events), or auto", nullptr, "auto multi each"},

    {kPush, "push", 0, "URL", false, false, "record one window after the other, and push each to a profiling server",
     "Until a signal, or the end of the processes. The window is -d: by default all the time for --sample, else 1 s."},
    {kPush, "every", 0, "TIME", false, false, "from one window to the next (default 60s)", nullptr},
    {kPush, "label", 0, "KEY=VALUE", false, true, "a label of what is pushed: host=gw7", nullptr},
    {kPush, "push-as", 0, "FORM", false, false, "this, and what follows, as for luatrace-analyze", nullptr, "pyroscope pyroscope-connect parca otlp-1.11"},
    {kPush, "push-headers", 0, "FILE", false, false, "file with secret headers", nullptr, nullptr, Complete::kFile},
    {kPush, "push-ca", 0, "FILE", false, false, "file with the certificate authorities to trust", nullptr, nullptr, Complete::kFile},
    {kPush, "push-spool", 0, "DIR", false, false, "directory in which profiles wait while the server is away", nullptr, nullptr, Complete::kDirectory},
    {kPush, "push-spool-limit", 0, "SIZE", false, false, "limit of the spool (default 256M)", nullptr},
    {kPush, "push-wait", 0, "TIME", false, false, "try for up to TIME (default 30s)", nullptr},

    {kSample, "sample", 0, "HZ", false, false, "instead of events record stacks of what runs, HZ times a second; 99 is a good number",
     "By the kernel, at next to no cost: kernel, C and Lua functions in one stack. Also of processes without LuaJIT. See sampling.md "
     "in the documentation."},
    {kSample, "off-cpu", 0, nullptr, false, false, "with --sample: blocked time in place of CPU time, HZ samples for each second of it",
     "Where threads wait: for input, locks, timers, other processes. A wait is known when it ends."},
    {kSample, "tid", 0, "TID", false, true, "with --sample: only this thread", nullptr},
    {kSample, "user-only", 0, nullptr, false, false, "with --sample: leave out the functions of the kernel", nullptr},
    {kSample, "kernel-only", 0, nullptr, false, false, "with --sample: only samples in the kernel, and its functions", nullptr},
    {kSample, "lua-only", 0, nullptr, false, false, "with --sample: only Lua's functions", nullptr},
    {kSample, "max-stack", 0, "N", false, false, "with --sample: the innermost N functions of a stack, up to 1024", nullptr},

    {kWatch, "watch", 0, "PLACE", false, true, "print values each time the program reaches PLACE, and record them",
     "PLACE is FILE:LINE, or the name of a Lua function, with * and ?: its entry. Without -o only what is watched is recorded, and "
     "not kept."},
    {kWatch, "print", 0, "LIST", false, true, "with --watch: which values: args, locals, upvalues, traceback, NAME, NAME.FIELD",
     "With commas between them; without --print: args,locals. NAME is a local variable, an upvalue or a global variable."},
    {kWatch, "print-depth", 0, "N", false, false, "with --watch: print the contents of tables down to depth N (default 1, 0 to 8)", nullptr},
    {kWatch, "when", 0, "EXPR", false, false, "with --watch: only if EXPR is true, such as 'n > 5 and name == \"x\"'", nullptr},
    {kWatch, "count", 0, "N", false, false, "with --watch: stop watching a process after N times", nullptr},

    {kStacks, "stack", 0, nullptr, false, false, "with -p: print the Lua stacks of every coroutine, and record nothing",
     "The process is not changed. Its running threads are stopped for 60 ms or less, usually for less than one."},
    {kStacks, "json", 0, nullptr, false, false, "with --stack: as JSON", nullptr},
    {kStacks, "thread-context", 0, "SWITCH", false, false, "with -p: publish the labels of what runs for other profilers, or no longer; on or off",
     "As OpenTelemetry's OTEP 4947 defines it, until it is switched off. Also in processes that are forked later. See "
     "thread-context.md in the documentation.", "on off"},

    {kOther, "inside", 0, nullptr, false, false, "record the process that has the other end of standard input, a socket",
     "What luatrace.start() of the Lua module and luaJIT_trace_start() run; see inside.md in the documentation."},
    {kOther, "verbose", 'v', nullptr, false, false, "print more messages", nullptr},
    {kOther, "quiet", 'q', nullptr, false, false, "print only errors, what is missing, and names and patterns that nothing has", nullptr},
};
// clang-format on
constexpr auto kOptions = with_common_options(kOwnOptions, kOther);

constexpr const char* kUses[] = {
    "-o FILE [options] [--] COMMAND [ARGUMENTS]",
    "-o FILE [options] -p PID [-p PID...]",
    "--watch PLACE [--print LIST] [--when EXPR] [-o FILE] -p PID | [--] COMMAND",
    "--sample HZ -o FILE -p PID | [--] COMMAND",
    "--push URL [--every TIME] [--sample HZ] -p PID [-p PID...]",
    "--stack [--children] [--json] -p PID [-p PID...]",
    "--snapshot -p PID",
    "--thread-context on|off [--children] -p PID [-p PID...]"};
constexpr const char* kNotes[] = {
    ("SIZE is a number of bytes with K, M or G after it. %p in FILE is the process id: each\n"
     "process writes a file of its own. FILE may be - (standard output, if that is not\n"
     "a terminal; what the command prints then goes to standard error).\n"),
    "Processes that COMMAND leaves running, such as daemons, are recorded until they end or a "
    "signal comes.\n"
    "SIGINT, SIGTERM, SIGHUP (not under nohup): the first ends the recording, a second one\n"
    "luatrace-record. With -p the recording continues until the processes end, -d, or ^C.\n"
    "With --flight SIGUSR1 asks for a snapshot; otherwise it does nothing, as SIGUSR2.\n",
    ("GLOBs are matched with chunk names in LuaJIT's form, \"@path/file.lua\", with the same\n"
     "without the first character, and with the file's name alone; * matches / too.\n"),
    "PID may be PID@HOSTPID: process PID in the process namespace of HOSTPID (a container's).\n"};
constexpr Meaning kExamples[] = {
    {"-o trace.bin luajit app.lua", "a program from its start"},
    {"-o trace.bin -p 4711 -d 10", "a running process, for ten seconds"},
    {"-o trace.bin -p MASTER --children -d 10", "a server's master and all its workers"},
    {"--sample 99 -o trace.bin -p 4711 -d 30", "where does the CPU time go?"},
    {"--sample 99 --off-cpu -o trace.bin -p 4711 -d 30", "what does it wait for?"},
    {"--sample 99 -o trace.bin -a -d 30", "the same for the whole system"},
    {"--stack -p 4711", "where is it hanging?"},
    {"--watch app.lua:12 --print locals,self.id -p 4711",
     "the values at a line, while the program runs"},
    {"-o night.%n.bin --flight 64M --slow handle=50ms -p 4711",
     "the newest events, whenever a call of handle took longer than 50 ms"},
    {"-o trace.%p.bin --max-size 1G -p 4711 -p 4712", "two processes, a file for each"},
    {"-o trace.bin --include '*/plugins/*' -- ./server",
     "only the functions of some files; -- ends the options"}};
constexpr Meaning kEnvironment[] = {
    {"COLUMNS", "width of --help and of the status line, if exported"},
    {"TERM", "dumb: no status line"},
    {"XDG_RUNTIME_DIR, TMPDIR",
     "where the directory of a command's socket is made, if it can be reached there"}};
constexpr Meaning kFiles[] = {
    {"FILE",
     "the trace (trace-format.md); mode 0600. A file that is not a trace is overwritten "
     "only with --force"},
    {"/run/luatrace-*", "the directory of a command's socket, removed at the end"}};
constexpr Meaning kStatuses[] = {
    {"COMMAND", "its own; 128+N if signal N ended it"},
    {"125", "luatrace-record itself failed, or wrong usage"},
    {"126", "COMMAND cannot be executed"},
    {"127", "COMMAND is not found"},
    {"0", "with -p: success"},
    {"120", "with -p: no such process"},
    {"121", "with -p: permission denied, or a seccomp filter forbids it"},
    {"122", "with -p: no LuaJIT with tracepoints in it"},
    {"123", "with -p: it is being recorded already"},
    {"124", "with -p: attached, but no event came"}};

constexpr Program kProgram = {
    "luatrace-record",
    "records every function call of LuaJIT programs",
    kUses,
    "Runs COMMAND, or attaches to running processes, and writes every call and return of their\n"
    "Lua functions to FILE.\n",
    kNotes,
    kOptions,
    kStatuses,
    kExamples,
    kEnvironment,
    kFiles,
    "luatrace(1), luatrace-analyze(1); recording.md and bpf.md in the documentation",
    Operands::kCommand};

}  // namespace

const Program& record_program() {
  return kProgram;
}

}  // namespace luatrace
