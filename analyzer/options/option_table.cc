// SPDX-License-Identifier: MIT
#include "cli/program.h"

namespace luatrace {
namespace {

constexpr const char* kViews = "Views";
constexpr const char* kRows = "Rows and columns";
constexpr const char* kFilters = "Filters";
constexpr const char* kGroups = "Grouping";
constexpr const char* kCompare = "Comparing and keeping";
constexpr const char* kOutputs = "Outputs";
constexpr const char* kPush = "Pushing";
constexpr const char* kOther = "Other";

// clang-format off
constexpr OptionSpec kOwnOptions[] = {
    {kViews, "report", 0, nullptr, false, false, "table of functions",
     "With --group-by, each row is a group."},
    {kViews, "tree", 0, nullptr, false, false, "call tree, from the outermost calls down", nullptr},
    {kViews, "callers", 0, "FN", false, true, "callers of the functions FN, and how much of FN's time each accounts for",
     nullptr},
    {kViews, "callees", 0, "FN", false, true, "callees of the functions FN", nullptr},
    {kViews, "hist", 0, "FN", false, true, "histogram of the inclusive times of single calls of FN",
     "Each bar covers a power of two; the figures below the histogram (median, percentiles) are off by up to 3.2 %."},
    {kViews, "slow", 0, "FN", false, true, "slowest calls of FN, each with its time and call tree",
     "See --over, --wall and --limit. Calls inside another call of FN are part of its tree."},
    {kViews, "over", 0, "TIME", false, false, "for --slow: only calls that took at least TIME (default 0)", nullptr},
    {kViews, "wall", 0, nullptr, false, false, "for --slow: by wall time, which includes suspended time",
     "Without it, calls are selected and sorted by inclusive time, which does not."},
    {kViews, "coroutines", 0, "MODE", true, true,
     "table of coroutines; with a MODE: where the call tree shows their calls",
     "linked (default): below the call that resumed the coroutine. separate: below a node for each coroutine. merged: all "
     "below one node. Without =MODE it is a view: where each coroutine was created, how long it lived, ran and was suspended, "
     "and where its longest suspension was.", "linked separate merged"},
    {kViews, "waits", 0, nullptr, false, false, "in which calls coroutines were suspended, and for how long",
     "A row for each function that yielded, with the number of its waits, their sum and percentiles; below it a row for each "
     "of its callers. A wait is the time from a yield to the resume; unfinished ones have no resume."},
    {kViews, "jit", 0, nullptr, false, false, "what the compiler did: traces given up, what stays interpreted, exits",
     "Tables of their own, also in --json and --csv: traces that were given up, by place, reason and cost; loops and functions "
     "that stay interpreted, and why; exits to the interpreter; totals. Filters do not apply to it."},
    {kViews, "requests", 0, nullptr, false, false, "table of requests, and where the time of each went",
     "For nginx's lua module, which tells the VM for which request each coroutine works (see --request-by for others). A row for "
     "each request: its time, that in which it ran itself, that in which it waited, that in which others held the worker, and "
     "the rest; they add up exactly. Below the table: percentiles over all requests."},
    {kViews, "slow-requests", 0, "TIME", false, false, "--requests, but only those that took at least TIME", nullptr},
    {kViews, "request", 0, "ID", false, false, "one request: its phases and waits, what it did when, and its call tree",
     "ID is that of --requests, with the same --request-by. The longest steps and branches are shown (see --limit)."},
    {kViews, "request-by", 0, "FN", false, true, "--requests, but each call of FN is a request",
     "For programs whose host does not say for which request it works. Coroutines that are created inside the call belong to it. "
     "With @coroutines instead of FN, each coroutine that the host resumes while no Lua runs is a request, with those that it "
     "creates, until it ends. With label:KEY, each value of that label (luatrace.label) is a request. Also for --request and "
     "--turns."},
    {kViews, "turns", 0, nullptr, false, false, "longest turns: who held the Lua VM, and which requests that delayed",
     "A turn is the time from the host's entry into Lua until nothing runs there: nothing else of that worker runs meanwhile. "
     "Two tables: the longest turns, each with its request, the function that the host called, and the requests that lived "
     "meanwhile; and the sums by that function, that which delayed others most first. See --request-by for hosts without requests."},
    {kViews, "off-cpu", 0, nullptr, false, false, "of samples: blocked time instead of CPU time",
     "For files with both. Those of luatrace-record --sample --off-cpu have nothing else, and show it without this option."},
    {kViews, "threads", 0, nullptr, false, false, "table of threads", nullptr},
    {kViews, "timeline", 0, nullptr, false, false, "what ran when, by thread and by function (or group)", nullptr},
    {kViews, "symbols", 0, nullptr, false, false, "machine code of C functions, and the functions inlined into it",
     "A row for each C function: file, build-id, offset, where it is defined, and the source of its name (symtab, dynsym, "
     "debug or nothing). Below it, indented, the functions that the compiler inlined into it, with the line of the call: their "
     "calls and times are counted as those of the C function. Needs debug information (see --debug-dir); not for saved profiles."},
    {kViews, "info", 0, nullptr, false, false, "what was recorded, when and how", nullptr},

    {kRows, "fields", 0, "LIST", false, false, "columns of --report, separated by commas",
     "calls, inclusive, self, share (of self), avg, min, max, stddev, wall, complete, cpu, self_cpu (of traces with --cpu); of samples: samples, inclusive, self, share, error, compiled; and "
     "percentiles: p50, p90, p99, p99.9, or any other from p0 to p100.",
     "calls inclusive self share avg min max stddev wall complete cpu self_cpu samples error compiled p50 p90 p99 p99.9", Complete::kNothing, true, true},
    {kRows, "sort", 0, "FIELD", false, false, "sort by a field (default self) or by name",
     "For --report (with --diff: by the difference), --symbols, --csv and the summary. For --coroutines: suspended (default), "
     "running, life or resumes. For --requests: wall (default), start, running, cpu, waits, others, unattributed, collector, compiler or coroutines. For --turns: wall (default), start or delayed. Other views have a fixed order.",
     "self inclusive calls avg min max stddev share wall complete cpu self_cpu p50 p90 p99 p99.9 name life suspended running resumes start waits others unattributed collector compiler coroutines delayed",
     Complete::kNothing, true},
    {kRows, "limit", 0, "N", false, false, "up to N rows (default 20; 0: all)", "The default is 5 calls for --slow, and 100 rows for trees. --hist and --info always show all rows."},
    {kRows, "width", 0, "N", false, false, "columns of the output (default: those of the terminal; 0: no limit)",
     "The default is COLUMNS, if it is exported, or else the width of the terminal. Output to a pipe or a file has no limit."},

    {kFilters, "filter", 'F', "FN", false, true, "only calls of FN and their callees", nullptr},
    {kFilters, "notrace", 'N', "FN", false, true, "no calls of FN, nor their callees", nullptr},
    {kFilters, "caller-filter", 'C', "FN", false, true, "only calls that lead to FN; the time of its callees counts as its own",
     nullptr},
    {kFilters, "hide", 'H', "FN", false, true, "hide FN but not its callees; its self time goes to its caller", nullptr},
    {kFilters, "depth", 'D', "N", false, false, "hide calls deeper than N (1: the outermost ones)",
     "With -F, depth is counted from the calls that it selects."},
    {kFilters, "time-filter", 't', "TIME", false, false, "hide calls whose inclusive time is less than TIME", nullptr},
    {kFilters, "time-range", 'r', "A~B", false, false, "only from A to B; either may be omitted",
     "A and B are times since the first event (100ms~2s), per cent of the duration (20%~40%), times of day in UTC "
     "(14:00~15:30), or absolute times in UTC (2026-11-21T10:00:00.25~, or @ and seconds since 1970). Saved profiles need "
     "time buckets (--bucket), which begin and end there."},
    {kFilters, "function", 0, "FN", false, true, "hide all functions but FN; their time goes to their callers", nullptr},
    {kFilters, "kind", 0, "KIND", false, true, "hide all functions but those of this kind: lua, c, builtin or kernel",
     "kernel: functions of the operating system's kernel, in sampled traces.", "lua c builtin kernel"},
    {kFilters, "thread", 0, "TID", false, true, "only what ran on the thread TID", nullptr},
    {kFilters, "coroutine", 0, "ID", false, true, "only what ran in the coroutine ID (or VM:ID)",
     "VM is a number that --info lists, or @ADDRESS: the Lua VM at that address, in all of its recordings (--dump=calls: state=)."},
    {kFilters, "vm", 0, "N", false, true, "only the Lua VM N; --info lists the numbers", nullptr,
     nullptr, Complete::kNothing, false, false, "state"},

    {kGroups, "group-by", 0, "WHAT", false, false,
     "totals by thread, coroutine, vm (Lua VM), process, request, label:KEY, phase (of nginx), file, plugin (of Kong or APISIX), or PATTERN; none (default)",
     "Requests are those of --requests (see --request-by); the 100 slowest of them are groups, with request:N the N slowest, with "
     "request:0 all; the others are [other requests], by their entry function. With label:KEY the 100 values of that label (luatrace.label) with the most time are groups. A phase is that of the *_by_lua block at the bottom of a coroutine's stack, or that in which the coroutine was created. "
     "PATTERN is written like FN and matched with file names. The group is named by the part that matches the first ( ) of a "
     "regular expression ('/plugins/([^/]+)/'), or the first * of a glob, not counting one at its beginning "
     "('*plugins/*/*'). A PATTERN with a parenthesis is a regular expression even without slashes around it. Calls of "
     "other functions belong to the group that called them, or to [other].",
     "none thread coroutine vm process request label: phase file plugin", Complete::kNothing, true},
    {kGroups, "plugin", 0, "PATTERN", false, true, "for --group-by plugin: where plugins are, 'myapp/plugins/*.lua'",
     "PATTERN as for --group-by; of several the first that matches names the plugin. Without it kong/plugins/*/*, "
     "apisix/plugins/*/* and apisix/plugins/*.lua. The outermost call that matches decides: what it calls, and what runs in "
     "coroutines that it creates, belongs to its plugin."},
    {kGroups, "suspended", 0, nullptr, false, false, "show suspended time in trees and flame graphs as [suspended]",
     "With --diff, in flame graphs only."},

    {kCompare, "diff", 0, "OTHER", false, true, "compare with OTHER, an earlier trace or saved profile",
     "Several OTHERs are merged. Shows --report (the default) or --tree, and writes --flame, --page, --folded, --json and --csv; "
     "other views and --format show one profile and are refused.", nullptr, Complete::kFile},
    {kCompare, "normalize", 0, nullptr, false, false, "for --diff: scale OTHER to the same sum of self times", nullptr},
    {kCompare, "fail-if", 0, "EXPR", false, true, "exit status 4 if EXPR is true, for example 'self(work) > 20%'",
     "EXPR compares (> >= < <= == !=) a figure with a number. Figures are FIELD(FN) with a field of --report, and "
     "duration, traced, self, idle, unknown, filtered, events, lost, anomalies. Numbers are times with a unit (5ms), "
     "counts without one, or percentages: of the self time of all functions (for inclusive, self and wall of a function), of all events "
     "(lost and anomalies), or of the traced time (all others). With --diff also change(FIELD(FN)), the difference; its percentages "
     "are of the earlier value. 'and', 'or' and ( ) combine comparisons. If several functions match FN, one for which the comparison "
     "is true is enough; if none does, that is an error (status 1), except with --allow-missing. With --group-by file, plugin or PATTERN, "
     "FN is the name of a group, not of a function; with thread, coroutine, vm, process, request or phase, of either. Names that contain blanks or "
     "brackets must be quoted."},
    {kCompare, "allow-missing", 0, nullptr, false, false, "for --fail-if: the figures of a function that does not occur are 0",
     "For functions that should never be called, or are not called in each run. With --diff, it is enough if a function occurs in one of the two."},
    {kCompare, "compensate", 0, nullptr, false, false, "also show times without the measured cost of recording",
     "In --report, --tree, the summary and the functions of --json. Other outputs and --fail-if use the times as measured: a warning names them, or they are refused if there "
     "is no corrected output. Functions that would lose more than 30 % of their time are marked with '!'."},
    {kCompare, "save-profile", 0, "FILE", false, false, "write everything but the events to FILE",
     "A saved profile can be read, merged and compared like a trace, but filters need the trace itself.", nullptr, Complete::kFile},
    {kCompare, "bucket", 0, "LENGTH", false, false, "for --save-profile: with a profile of each LENGTH of time, such as 1m or 1h",
     "They begin at multiples of LENGTH in UTC. The sums do not change. -r and --timeline work on such profiles, also for --diff, "
     "and merged profiles keep them. Of profiles that have buckets already, LENGTH is a multiple of theirs: minutes become hours. "
     "none: leave them out. --timeline of a sampled trace needs it, too.", "1m 5m 1h 24h none", Complete::kNothing, true},
    {kCompare, "compact", 0, "LENGTH", false, false, "make the time buckets of saved profiles longer, in their files",
     "Minutes become hours; the sums do not change. Each file is replaced as a whole, and one whose buckets are that long or longer stays as it is.",
     "5m 1h 24h", Complete::kNothing, true},

    {kOutputs, "flame", 0, "FILE", true, false, "write the flame graph as a page (default: trace.html next to the trace)",
     "With --diff, colours show what has changed. See --page.", nullptr, Complete::kFile},
    {kOutputs, "page", 0, "FILE", true, false, "write the page with all its views: also calls over time, coroutines and requests",
     "These views need every single call, which takes several times as long as the sums of --flame.", nullptr, Complete::kFile},
    {kOutputs, "chart-limit", 0, "N", false, false, "up to N calls in the page's flame chart (default: 100000 to 1000000, by the size of the files; 0: all)",
     "The shortest calls are left out. The page says how many, and what share of the time they took.", nullptr},
    {kOutputs, "graph-limit", 0, "N", false, false, "up to N nodes in the page's flame graph (default 300000; 0: all)",
     "The smallest nodes are left out. Their time is drawn as [pruned], and the page says how much it is.", nullptr},
    {kOutputs, "folded", 0, "FILE", true, false, "write folded stacks with self times", nullptr, nullptr, Complete::kFile},
    {kOutputs, "unit", 0, "UNIT", false, false, "unit of the weights in folded stacks: ns (default), us or ms", nullptr, "ns us ms"},
    {kOutputs, "json", 0, "FILE", true, false, "write everything but the call tree as JSON, and the requested views",
     nullptr, nullptr, Complete::kFile},
    {kOutputs, "csv", 0, "FILE", true, false, "write the views as CSV (default: --report)",
     "Several tables become one: the first column, view, names the table of a row; cells of other tables' columns are "
     "empty. --coroutines has two tables: creation_sites and coroutines.", nullptr, Complete::kFile},
    {kOutputs, "format", 0, "NAME", false, false, "write the profile for another program: speedscope, pprof, perfetto ...",
     "folded: for flamegraph.pl and similar programs. speedscope: its own JSON. perfetto, chrome: every call on the track of its "
     "coroutine, with arrows for resume and yield. pprof: gzipped protobuf. callgrind: for "
     "KCachegrind and callgrind_annotate. csv: a row for each function. json: as --json. luaprofiler: a line for each call. luaprofile: "
     "the CSV of LuaProfile. xmake: the table of xmake's profiler. parquet: a directory of tables for SQL, with a row for each call (sql.md).",
     "folded speedscope perfetto chrome pprof callgrind csv json luaprofiler xmake luaprofile parquet"},
    {kOutputs, "output", 'o', "FILE", false, false, "file for --format (default: standard output)",
     "Without --format: for --json, --csv, --folded, --flame or --page, if one of them is given without its file.", nullptr,
     Complete::kFile},
    {kOutputs, "force", 0, nullptr, false, false, "overwrite output files even if they are something else",
     "Without it an existing file is overwritten only if it is empty or an output of the same kind."},
    {kOutputs, "frames", 0, "STYLE", false, false, "names of frames in --format: ours (default), L or @",
     "ours: work (app.lua:12), string.gsub. L: L:app.lua:12, builtin#string.gsub, C:name, K:name (kernel). @: the same with @app.lua:12.",
     "ours L @"},
    {kOutputs, "kernel-delimiter", 0, "TEXT", false, false, "for --format folded: put TEXT between functions of the program and of the kernel",
     "A frame of its own, as other samplers write it: --kernel-delimiter=-", nullptr, Complete::kNothing},
    {kOutputs, "source-root", 0, "DIR", false, false, "for --format: remove DIR from the beginning of file names", nullptr, nullptr,
     Complete::kDirectory},
    {kOutputs, "dump", 0, "FORM", true, false, "print the events as text; =calls: without times, indented by depth", nullptr, "text calls"},
    {kOutputs, "convert", 0, "OUT", false, false, "write a text trace as a binary trace", "OUT is the binary trace. Also converts the output of lua-calls.bt and lua-calls.stp.", nullptr, Complete::kFile},

    {kPush, "push", 0, "URL", false, false, "send the profile to a profiling server: Pyroscope, Parca or OTLP",
     "The path of the URL says what the server takes: /ingest or /push.v1.PusherService/Push (Pyroscope), /profiles/writeraw "
     "(Parca), /v1development/profiles (OTLP, with --push-as). Calls, self, inclusive and suspended time are sent together; "
     "groups of --group-by become labels. Certificates are verified, redirects are not followed."},
    {kPush, "push-as", 0, "FORM", false, false, "what the server takes: pyroscope, pyroscope-connect, parca or otlp-1.11",
     "For a URL without a path, which gets that of the form; and for OTLP, whose profiles differ from release to release.",
     "pyroscope pyroscope-connect parca otlp-1.11"},
    {kPush, "label", 0, "KEY=VALUE", false, true, "a label of the pushed profile: host=gw7, version=1.4",
     "service_name, process and thread are set from the trace if all of it has the same; a label of that name replaces them. "
     "A trace has neither the name of the host nor the version of the program. With --format parquet, host=NAME is the column host."},
    {kPush, "push-headers", 0, "FILE", false, false, "file with secret headers, 'Name: value' in each line", nullptr, nullptr,
     Complete::kFile},
    {kPush, "push-ca", 0, "FILE", false, false, "file with the certificate authorities to trust (PEM), instead of the system's",
     nullptr, nullptr, Complete::kFile},
    {kPush, "push-spool", 0, "DIR", false, false, "directory in which profiles wait while the server is away",
     "The next --push with this directory sends them first, the oldest first. What was sent without an answer is set aside, so "
     "that nothing is sent twice.", nullptr, Complete::kDirectory},
    {kPush, "push-spool-limit", 0, "SIZE", false, false, "limit of the spool (default 256M)", nullptr},
    {kPush, "push-wait", 0, "TIME", false, false, "try for up to TIME (default 30s)",
     "With growing pauses, or those that the server asks for (Retry-After). 0: one attempt."},

    {kOther, "inside", 0, nullptr, false, false, "the report goes to the program that asks for it: refuse options that do not shape it",
     "What luatrace.report() of the Lua module runs; see inside.md in the documentation."},
    {kOther, "growing", 0, nullptr, false, false, "the trace is still being written: that its end is missing is no warning", nullptr},
    {kOther, "sysroot", 0, "DIR", false, false, "directory below which the program's files are searched", nullptr, nullptr,
     Complete::kDirectory},
    {kOther, "debug-dir", 0, "DIR", false, true, "directory with debug files, searched before /usr/lib/debug of the sysroot",
     "They are found by build-id (DIR/.build-id/ab/cdef.debug) and by debuglink; a file with the right build-id is also the "
     "fallback for a library that no longer exists.", nullptr, Complete::kDirectory},
    {kOther, "weights", 0, "FILE", false, false, "apportion the time in compiled code by the samples in FILE",
     "FILE: of luatrace-record --sample HZ, of the same processes at the same time. Where it has few samples, or none, the "
     "size of the machine code decides, as without this option (see semantics.md in the documentation).", nullptr, Complete::kFile},
    {kOther, "jobs", 0, "N", false, false, "threads for traces with several streams (default: one for each processor)",
     "The result does not depend on it. Pages with a chart and formats that show single calls use one thread. Compressed traces "
     "may use additional threads."},
    {kOther, "max-nodes", 0, "N", false, false, "up to N nodes in the call tree (default 5000000; 0: no limit)",
     "Calls that would need more nodes are merged as [pruned] below their callers, as long as there are nodes for "
     "that. Sums do not change. A node takes up to 200 bytes of memory, with filters 300."},
    {kOther, "progress", 0, nullptr, false, false, "print progress even if standard error is not a terminal",
     "A line every second. On a terminal, progress is always shown, in one line, except with --quiet."},
    {kOther, "strict", 0, nullptr, false, false, "exit status 3 if anything was lost or damaged", nullptr},
    {kOther, "color", 0, "WHEN", false, false, "auto (default), always or never",
     "auto: on a terminal, unless the environment has NO_COLOR.", "auto always never"},
    {kOther, "quiet", 'q', nullptr, false, false, "no summary, no progress", "Requested views are still shown, and so is the comparison of --diff, unless it is for --fail-if or an output file."},
};
// clang-format on
constexpr auto kOptions = with_common_options(kOwnOptions, kOther);

constexpr const char* kUses[] = {"FILE... [options]"};
constexpr const char* kWhat =
    "Reads traces of luatrace-record (or their text form, or saved profiles; - is standard input)\n"
    "and reports which functions ran, their callers, how often and how long. Several files are\n"
    "merged.\n";
constexpr const char* kNotes[] = {
    "FN is a name (work), a location (co.lua:3), a glob for either (app/*, *.lua:1?), or a "
    "regular\n"
    "expression between slashes (/^get|^set/). TIME is a number with the unit ns, us, ms, s, m or\n"
    "h (default ns).\n"};
constexpr Meaning kExamples[] = {
    {"trace.bin", "a summary, and the functions with the most time"},
    {"trace.bin --flame", "the flame graph, trace.html"},
    {"trace.bin --tree -F handle", "what handle calls, and how long that takes"},
    {"trace.bin --slow handle --over 50ms", "calls of handle that took at least 50 ms"},
    {"new.bin --diff old.bin", "what has become slower"},
    {"trace.bin -q --fail-if 'self(encode) > 20%'", "a test, by the exit status"},
    {"trace.bin --format pprof -o trace.pb.gz", "a profile for another program"}};
constexpr Meaning kEnvironment[] = {
    {"COLUMNS", "width of the terminal, if exported; see --width"},
    {"LUATRACE_PUSH_HEADERS", "secret headers for --push, as in the file of --push-headers"},
    {"NO_COLOR", "if not empty: no colour; see --color"},
    {"TERM", "dumb: no colour"},
    {"TMPDIR", "where a trace from a pipe is kept if it must be read twice; default /tmp"}};
constexpr Meaning kFiles[] = {
    {"FILE", "a trace (trace-format.md), its text form, or a saved profile (profile-format.md)"},
    {"FILE.html", "where --flame and --page write: the trace's name with this ending"},
    {"/usr/lib/debug", "separate debug files; see --debug-dir"}};
constexpr Meaning kStatuses[] = {
    {"0", "success"},
    {"1", "wrong usage, or a function of a view or condition does not occur"},
    {"2", "a file cannot be read or written"},
    {"3", "damage or loss, with --strict"},
    {"4", "a condition of --fail-if is true"},
    {"5", "the server of --push has not taken the profile, or has not said so; see --push-spool"}};

constexpr Program kProgram = {"luatrace-analyze",
                              "what a traced LuaJIT program spent its time on",
                              kUses,
                              kWhat,
                              kNotes,
                              kOptions,
                              kStatuses,
                              kExamples,
                              kEnvironment,
                              kFiles,
                              "luatrace(1), luatrace-record(1); analyzing.md, cookbook.md and "
                              "semantics.md in the documentation",
                              Operands::kFiles};

}  // namespace

const Program& analyze_program() {
  return kProgram;
}

}  // namespace luatrace
