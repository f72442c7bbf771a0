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
constexpr const char* kOther = "Other";

// clang-format off
constexpr OptionSpec kOptions[] = {
    {kViews, "report", 0, nullptr, false, false, "table of functions",
     "With --group-by the rows are the groups."},
    {kViews, "tree", 0, nullptr, false, false, "call tree, from the outermost calls down", nullptr},
    {kViews, "callers", 0, "FN", false, true, "who called the functions FN, and how much of their time that was",
     nullptr},
    {kViews, "callees", 0, "FN", false, true, "what the functions FN called", nullptr},
    {kViews, "hist", 0, "FN", false, true, "histogram of the running times of single calls of FN",
     "Buckets are powers of two; the figures below it (median, percentiles) are more exact: within 3.2 %."},
    {kViews, "slow", 0, "FN", false, true, "slow calls of FN, each with its time and its own call tree",
     "See --over, --wall and --limit. Calls inside another call of FN are part of its tree."},
    {kViews, "over", 0, "TIME", false, false, "for --slow: calls that took at least so long (default 0)", nullptr},
    {kViews, "wall", 0, nullptr, false, false, "for --slow: by time from beginning to end, suspended time included",
     "Without it a call's time is its running time."},
    {kViews, "coroutines", 0, "MODE", true, true,
     "table of coroutines; with a MODE: where their calls are shown in the call tree",
     "linked (default): below the call that resumed them. separate: below a node for each coroutine. merged: all "
     "below one node. Without =MODE it is a view: where each was created, how long it lived, ran and was suspended, "
     "and where it yielded longest.", "linked separate merged"},
    {kViews, "threads", 0, nullptr, false, false, "table of threads", nullptr},
    {kViews, "timeline", 0, nullptr, false, false, "what ran when, by threads and functions (or groups)", nullptr},
    {kViews, "symbols", 0, nullptr, false, false, "what is known of the code of C functions, and what was inlined into them",
     "A row for each C function: file, build-id, offset, where it is defined, and where its name comes from (symtab, dynsym, "
     "debug information or nothing). Below it, indented, what the compiler inlined into it, with the line of the call: that has no "
     "calls and no times of its own, which are the function's. Needs debug information (see --debug-dir); not for saved profiles."},
    {kViews, "info", 0, nullptr, false, false, "what was recorded, when, how and by whom", nullptr},

    {kRows, "fields", 0, "LIST", false, false, "columns of --report, commas between them",
     "calls, total, running (the same as total), self, share (of self), avg, min, max, stddev, wall, complete and "
     "percentiles: p50, p90, p99, p99.9, or any other from p0 to p100.",
     "calls total running self share avg min max stddev wall complete p50 p90 p99 p99.9", Complete::kNothing, true, true},
    {kRows, "sort", 0, "FIELD", false, false, "sort by a field (default: self) or by name",
     "Of --report (with --diff by the difference), --symbols, --csv and the summary. --coroutines is sorted by suspended (default), "
     "running, life or resumes. Other views have an order of their own.",
     "self total running calls avg min max stddev share wall complete p50 p90 p99 p99.9 name life suspended resumes",
     Complete::kNothing, true},
    {kRows, "limit", 0, "N", false, false, "at most N rows (default 20; 0: all)", "Calls of --slow: default 5; rows of trees: 100. --hist and --info have all their rows."},
    {kRows, "top", 0, "N", false, false, "the same as --limit", nullptr},
    {kRows, "width", 0, "N", false, false, "columns of the output (default: those of the terminal; 0: any number)",
     "Of a terminal it is COLUMNS, if that is exported. What goes into a pipe or a file is of any width."},

    {kFilters, "filter", 'F', "FN", false, true, "only calls of FN and what they call", nullptr},
    {kFilters, "notrace", 'N', "FN", false, true, "not calls of FN, nor what they call", nullptr},
    {kFilters, "caller-filter", 'C', "FN", false, true, "only calls that lead to FN; what FN calls is part of FN",
     nullptr},
    {kFilters, "hide", 'H', "FN", false, true, "hide FN but not what it calls; its own time goes to its caller", nullptr},
    {kFilters, "depth", 'D', "N", false, false, "hide calls deeper than N (1: the outermost ones)",
     "With -F counted from there."},
    {kFilters, "time-filter", 't', "TIME", false, false, "hide calls that ran less than TIME", nullptr},
    {kFilters, "time-range", 'r', "A~B", false, false, "only from A to B; either may be missing",
     "A and B are times since the first event (100ms~2s), per cent of the duration (20%~40%), or absolute in UTC "
     "(2026-11-21T10:00:00.25~, or @ and seconds since 1970)."},
    {kFilters, "function", 0, "FN", false, true, "hide all functions but FN; hidden time goes to the caller", nullptr},
    {kFilters, "kind", 0, "KIND", false, true, "hide all functions but those: lua, c or builtin", nullptr,
     "lua c builtin"},
    {kFilters, "thread", 0, "TID", false, true, "only what ran on the thread TID", nullptr},
    {kFilters, "coroutine", 0, "ID", false, true, "only what ran in the coroutine ID (or STATE:ID)", nullptr},
    {kFilters, "state", 0, "N", false, true, "only the Lua state N, as --info numbers them", nullptr},

    {kGroups, "group-by", 0, "WHAT", false, false,
     "totals by thread, coroutine, state, file, or PATTERN; none (default)",
     "PATTERN is what FN is, for file names. Of a regular expression what its first ( ) matches is the name of the "
     "group ('/plugins/([^/]+)/'); of a glob what its first * does, but for one at the very beginning "
     "('*plugins/*/*'). An expression with a bracket needs no slashes around it. Calls of "
     "other functions count to the group that called them, or to [other].",
     "none thread coroutine state file", Complete::kNothing, true},
    {kGroups, "yielded", 0, nullptr, false, false, "show suspended time in trees and flame graphs as [yielded]",
     "With --diff in flame graphs only."},

    {kCompare, "diff", 0, "OTHER", false, true, "compare with OTHER (a trace or saved profile), which was before",
     "Several: they are merged. Shows --report (the default) or --tree, and writes --flame, --page, --folded, --json and --csv; "
     "other views and --format show one profile, and are refused.", nullptr, Complete::kFile},
    {kCompare, "normalize", 0, nullptr, false, false, "for --diff: scale OTHER to the same sum of self times", nullptr},
    {kCompare, "fail-if", 0, "EXPR", false, true, "exit status 4 if EXPR is true, for example 'self(work) > 20%'",
     "A comparison (> >= < <= == !=) of a figure with a number: FIELD(FN) with a field of --report, or one of "
     "duration, traced, self, idle, unknown, filtered, events, lost, anomalies. Numbers are times with their unit (5ms), "
     "counts without one, or per cent: of a function's total, self or wall time in the self time of all; of lost and "
     "anomalies in the events; of others in the traced time. With --diff also "
     "change(FIELD(FN)), the difference; with per cent, of the value before. 'and', 'or' and ( ) combine. If several "
     "functions fit FN one for which it is true is enough; if none does, that is an error (status 1) unless there is "
     "--allow-missing. With --group-by file or PATTERN FN is a group, and functions do not occur; with thread, coroutine or "
     "state it is a group or a function. Names that hold blanks or brackets stand in quotes."},
    {kCompare, "allow-missing", 0, nullptr, false, false, "for --fail-if: a function that does not occur counts as 0",
     "For functions that are not to be called, or not in each run. With --diff it is enough if they occur in one of the two."},
    {kCompare, "compensate", 0, nullptr, false, false, "show times without the measured cost of recording, too",
     "In --report, --tree, the summary and the functions of --json; other outputs and --fail-if have times as they were measured, and are named, or refused if there "
     "is nothing else. Functions of which more than 30 % would go are marked with '!'."},
    {kCompare, "save-profile", 0, "FILE", false, false, "write everything but the events to FILE",
     "Such a file is read, merged and compared like a trace, but filters need the trace itself.", nullptr, Complete::kFile},

    {kOutputs, "flame", 0, "FILE", true, false, "write the flame graph page (default: trace.html beside the trace)",
     "With --diff it is coloured by what has changed. See --page.", nullptr, Complete::kFile},
    {kOutputs, "page", 0, "FILE", true, false, "write the same page with everything in it, whatever the trace's size",
     "--flame leaves out the views over time (flame chart, coroutines) if the traces have more than 64 MB, since they "
     "need each single call: that takes several times as long as sums do.", nullptr, Complete::kFile},
    {kOutputs, "chart-limit", 0, "N", false, false, "at most N calls in the page's flame chart (default 100000; 0: all)",
     "Which are left out: the shortest. The page says how many, and how much of the time they are.", nullptr},
    {kOutputs, "graph-limit", 0, "N", false, false, "at most N nodes in the page's flame graph (default 300000; 0: all)",
     "Which are left out: the smallest. Their time is drawn as [pruned], and the page says how much it is.", nullptr},
    {kOutputs, "folded", 0, "FILE", true, false, "write folded stacks with self times", nullptr, nullptr, Complete::kFile},
    {kOutputs, "unit", 0, "UNIT", false, false, "of the weights of --folded and --format folded: ns (default), us or ms", nullptr, "ns us ms"},
    {kOutputs, "json", 0, "FILE", true, false, "write everything but the call tree as JSON, and the views asked for",
     nullptr, nullptr, Complete::kFile},
    {kOutputs, "csv", 0, "FILE", true, false, "write the views as CSV (default: --report)",
     "Several tables become one: the first column, view, says which one a row is of; cells of other tables' columns are "
     "empty. --coroutines has two: coroutine_births and coroutines.", nullptr, Complete::kFile},
    {kOutputs, "format", 0, "NAME", false, false, "write the profile for another program: speedscope, pprof, perfetto ...",
     "folded: for flamegraph.pl and its like. speedscope: its own JSON. perfetto, chrome: every call on the track of its "
     "coroutine, arrows for resume and yield. pprof: gzipped protobuf. callgrind: for "
     "KCachegrind and callgrind_annotate. csv: a row for each function. json: as --json. luaprofiler: a line for each call. luaprofile: "
     "the CSV of LuaProfile. xmake: the table of xmake's profiler.",
     "folded speedscope perfetto chrome pprof callgrind csv json luaprofiler xmake luaprofile"},
    {kOutputs, "output", 'o', "FILE", false, false, "where --format writes (default: standard output)", nullptr, nullptr,
     Complete::kFile},
    {kOutputs, "frames", 0, "STYLE", false, false, "names of frames in --format: ours (default), L or @",
     "ours: work (app.lua:12), string.gsub. L: L:app.lua:12, builtin#string.gsub, C:name. @: the same with @app.lua:12.",
     "ours L @"},
    {kOutputs, "source-root", 0, "DIR", false, false, "in --format, leave DIR out of file names", nullptr, nullptr,
     Complete::kDirectory},
    {kOutputs, "dump", 0, "FORM", true, false, "print the events as text; =calls: without times, by depth", nullptr, "text calls"},
    {kOutputs, "convert", 0, "OUT", false, false, "write the (text) trace as a binary one", nullptr, nullptr, Complete::kFile},

    {kOther, "sysroot", 0, "DIR", false, false, "directory below which libraries of the program are found", nullptr, nullptr,
     Complete::kDirectory},
    {kOther, "debug-dir", 0, "DIR", false, true, "directory with debug files, besides /usr/lib/debug of the sysroot",
     "They are found by build-id (DIR/.build-id/ab/cdef.debug) and by debuglink; what is found by build-id stands in "
     "for libraries that are gone.", nullptr, Complete::kDirectory},
    {kOther, "jobs", 0, "N", false, false, "threads for traces with several streams (default: one for each processor)",
     "The result does not depend on it. Pages with a chart and formats that show single calls take one. Compressed traces "
     "have threads of their own besides."},
    {kOther, "max-nodes", 0, "N", false, false, "at most N nodes of the call tree (default 5000000; 0: any number)",
     "Calls that would need more are put together as [pruned], below what called them as long as there is room for "
     "that. Sums stay what they are. A node takes about 200 bytes of memory, with filters 300."},
    {kOther, "progress", 0, nullptr, false, false, "tell how far the reading is, also if that is no terminal",
     "A line every second on standard error. On a terminal it is always told, in one line, unless there is --quiet."},
    {kOther, "strict", 0, nullptr, false, false, "exit status 3 if anything was lost or damaged", nullptr},
    {kOther, "color", 0, "WHEN", false, false, "auto (default), always or never",
     "auto: on a terminal, unless the environment has NO_COLOR.", "auto always never"},
    {kOther, "quiet", 'q', nullptr, false, false, "no summary, no progress", "Views that were asked for are shown all the same, and so is --diff, unless it is for --fail-if or a file that is written."},
    {kOther, "help", 'h', nullptr, false, false, "this text", nullptr},
    {kOther, "version", 0, nullptr, false, false, "the version", nullptr},
};
// clang-format on

constexpr const char* kUses[] = {"FILE... [options]"};
constexpr const char* kWhat =
    "Reads traces of luatrace-record (or their text form, or saved profiles; - is standard input)\n"
    "and says which functions ran, called by whom, how often and how long. Several are merged.\n";
constexpr const char* kNotes[] = {
    "FN is a name (work), a place (co.lua:3), a glob for either (app/*, *.lua:1?), or a regular\n"
    "expression between slashes (/^get|^set/). TIME is a number and ns, us, ms, s, m or h (none: "
    "ns).\n"};
constexpr StatusSpec kStatuses[] = {
    {"0", "good"},
    {"1", "wrong usage, or a function that was named does not occur"},
    {"2", "a file cannot be read or written"},
    {"3", "damage or loss, with --strict"},
    {"4", "a condition of --fail-if is true"}};

constexpr Program kProgram = {
    "luatrace-analyze",
    "what a traced LuaJIT program spent its time on",
    kUses,
    kWhat,
    kNotes,
    kOptions,
    kStatuses,
    "luatrace-record(1); analyzing.md, cookbook.md and semantics.md in the documentation",
    Operands::kFiles};

}  // namespace

const Program& analyze_program() {
  return kProgram;
}

}  // namespace luatrace
