// SPDX-License-Identifier: MIT
#include "analyzer/options/options.h"

#include <unistd.h>
#include <charconv>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "analyzer/options/conflicts.h"
#include "analyzer/output/formats/own_output.h"
#include "analyzer/push/credentials.h"
#include "analyzer/report/conditions.h"
#include "cli/command_line.h"
#include "cli/size.h"

namespace luatrace::analyze {
namespace {

using Given = CommandLine;
const std::string& kMissing = CommandLine::kMissing;

// Sets `to` if the option is given. Parsed: what the number must fit into.
template <class Parsed, class T>
void read_number(const Given& given, const char* option, T& to) {
  if (auto n = given.last(option)) to = Given::number<Parsed>(option, *n);
}

// The same for a number that must not be 0.
template <class Parsed, class T>
void read_positive(const Given& given, const char* option, T& to) {
  read_number<Parsed>(given, option, to);
  if (given.has(option) && to == 0)
    throw UsageError(std::string("--") + option + ": '0' is out of range; the minimum is 1");
}

TextStyle read_style(const Given& given) {
  TextStyle style;
  std::string color = given.last("color").value_or("auto");
  const char* no_color = getenv("NO_COLOR");
  const char* term = getenv("TERM");
  const bool dumb = term && std::string(term) == "dumb";
  bool wanted = isatty(STDOUT_FILENO) && !(no_color && *no_color) && !dumb;
  style.color = color == "always" || (color == "auto" && wanted);
  style.width = terminal_columns();
  read_number<size_t>(given, "width", style.width);
  return style;
}

// Refuses a repeated column: in JSON, names must be unique.
void refuse_double(const std::vector<Field>& fields) {
  for (size_t i = 0; i < fields.size(); i++)
    for (size_t k = 0; k < i; k++)
      if (fields[i].name == fields[k].name)
        throw UsageError("--fields: " + fields[i].name + " is given twice");
}

void read_rows(const Given& given, ViewOptions& v) {
  if (auto fields = given.last("fields")) refuse_double(v.fields = parse_fields(*fields));
  if (auto sort = given.last("sort")) v.sort = *sort;
  v.sort_given = given.has("sort");
  static const char* const kOthers[] = {"name", "life", "suspended", "resumes"};
  bool other = is_request_order(v.sort) || find_turn_order(v.sort) ||
               std::find(std::begin(kOthers), std::end(kOthers), v.sort) != std::end(kOthers);
  if (!other && !find_field(v.sort))
    throw UsageError(
        "--sort: invalid value '" + v.sort +
        "'; choose name, a field of --report (self, inclusive, calls, avg, min, max, "
        "p99 ...), or, for "
        "--coroutines, life, suspended or resumes, or, for --requests, start, wall, "
        "running, cpu, waits, others, unattributed, collector, compiler or coroutines, or, "
        "for --turns, wall, "
        "start or delayed");
  read_number<size_t>(given, "limit", v.limit);
  read_number<size_t>(given, "limit", v.slow_limit);
  v.limit_given = given.has("limit");
}

constexpr char kByRequest[] = "request";

bool groups_requests(const std::string& what) {
  return what == kByRequest ||
         what.compare(0, sizeof kByRequest, std::string(kByRequest) + ':') == 0;
}

ViewOptions read_views(const Given& given) {
  ViewOptions v;
  v.report = given.has("report");
  v.tree = given.has("tree");
  v.waits = given.has("waits");
  v.request_by = given.list("request-by");
  if (auto over = given.last("slow-requests"))
    v.slow_requests_ns = parse_time(*over, "--slow-requests");
  read_positive<uint32_t>(given, "request", v.request);
  v.turns = given.has("turns");
  v.requests = given.has("requests") || given.has("slow-requests") ||
               (!v.request_by.empty() && !v.request && !v.turns &&
                !groups_requests(given.last("group-by").value_or("")));
  v.threads = given.has("threads");
  v.timeline = given.has("timeline");
  v.symbols = given.has("symbols");
  v.off_cpu = given.has("off-cpu");
  v.info = given.has("info");
  for (const auto& mode : given.list("coroutines")) v.coroutines |= mode == kMissing;
  v.callers = given.list("callers");
  v.callees = given.list("callees");
  v.hist = given.list("hist");
  v.slow = given.list("slow");
  if (auto over = given.last("over")) v.slow_over_ns = parse_time(*over, "--over");
  v.slow_by_wall = given.has("wall");
  v.suspended = given.has("suspended");
  v.compensate = given.has("compensate");
  v.normalize = given.has("normalize");
  v.style = read_style(given);
  read_rows(given, v);
  if (v.request_by.size() > 1 && std::any_of(v.request_by.begin(), v.request_by.end(), is_special))
    throw UsageError(std::string("--request-by ") +
                     *std::find_if(v.request_by.begin(), v.request_by.end(), is_special) +
                     " cannot be combined with other values: a request is one or the other");
  for (const std::string& by : v.request_by)
    if (by == kByLabel) throw UsageError("--request-by label: needs the key of a label");
  for (const auto* list : {&v.callers, &v.callees, &v.hist, &v.slow, &v.request_by})
    FunctionPatterns{*list};
  return v;
}

// "@7f0012345678": of a Lua VM.
uint64_t parse_address(const std::string& text) {
  uint64_t address = 0;
  const auto [end, error] =
      std::from_chars(text.data() + 1, text.data() + text.size(), address, 16);
  if (error != std::errc() || end != text.data() + text.size() || address == 0)
    throw UsageError("--coroutine: '" + text +
                     "' is not the address of a Lua VM (@ and hexadecimal digits)");
  return address;
}

CoroutineFilter parse_coroutine(const std::string& text) {
  const size_t colon = text.find(':');
  if (text.starts_with('@') && colon != text.npos)
    return {kNoStream, CoroutineId(Given::number<uint32_t>("coroutine", text.substr(colon + 1))),
            parse_address(text.substr(0, colon))};
  if (colon == text.npos)
    return {kNoStream, CoroutineId(Given::number<uint32_t>("coroutine", text)), 0};
  const StreamId vm(Given::number<uint32_t>("coroutine", text.substr(0, colon)));
  if (vm == kNoStream)
    throw UsageError("--coroutine: '" + text +
                     "': Lua VMs are numbered from 1 (--info lists them); for a coroutine of any "
                     "Lua VM, give its number alone");
  return {vm, CoroutineId(Given::number<uint32_t>("coroutine", text.substr(colon + 1))), 0};
}

// Refuses a range that ends before it begins, which is a mistake. If the points can be compared
// only when the trace is read, the reader reports an empty range.
void refuse_reversed(const std::string& range, const TimePoint& from, const TimePoint& to) {
  if (from.kind != to.kind) return;
  const bool percent = from.kind == TimePoint::kPercent;
  const bool time = from.kind != TimePoint::kOpen && !percent;
  if ((percent && from.percent >= to.percent) || (time && from.ns >= to.ns))
    throw UsageError("--time-range: '" + range + "' is empty: it does not end after its beginning");
}

// Takes N from "request:N". All that defines the groups distinguishes saved profiles.
void read_request_groups(const Given& given, std::string& what, FilterOptions& f) {
  if (!groups_requests(what)) return;
  f.group_pattern = what;
  for (const std::string& by : given.list("request-by")) f.group_pattern += " --request-by " + by;
  if (what == kByRequest) return;
  f.request_groups = Given::number<size_t>("group-by", what.substr(sizeof kByRequest));
  what = kByRequest;
}

void read_label_groups(const std::string& what, FilterOptions& f) {
  f.label = what.substr(kByLabel.size());
  if (f.label.empty()) throw UsageError("--group-by label: needs the key of a label");
  f.group = GroupBy::kLabel;
  f.group_pattern = what;
}

void read_grouping(const Given& given, FilterOptions& f) {
  for (const auto& mode : given.list("coroutines")) {
    if (mode == "linked") f.mode = CoroutineMode::kLinked;
    if (mode == "separate") f.mode = CoroutineMode::kSeparate;
    if (mode == "merged") f.mode = CoroutineMode::kMerged;
  }
  auto what = given.last("group-by");
  f.plugins = given.list("plugin");
  for (const std::string& pattern : f.plugins) GroupPattern check_it(pattern);
  if (!f.plugins.empty() && what != "plugin") throw UsageError("--plugin needs --group-by plugin");
  if (!what) return;
  if (*what == "state") what = "vm";  // Its earlier name, until version 0.3.
  read_request_groups(given, *what, f);
  if (what->starts_with(kByLabel)) return read_label_groups(*what, f);
  auto found = std::find(std::begin(kGroupNames), std::end(kGroupNames), *what);
  f.group = static_cast<GroupBy>(found - std::begin(kGroupNames));  // None found: kPattern.
  if (f.group != GroupBy::kPattern) return;
  f.group_pattern = *what;
  GroupPattern check_it(*what);
}

FilterOptions read_filter(const Given& given) {
  FilterOptions f;
  f.only = given.list("filter");
  f.without = given.list("notrace");
  f.callers = given.list("caller-filter");
  f.hide = given.list("hide");
  f.functions = given.list("function");
  for (const auto* list : {&f.only, &f.without, &f.callers, &f.hide, &f.functions})
    FunctionPatterns{*list};  // Throws UsageError for an invalid pattern.
  for (const auto& kind : given.list("kind"))
    f.kinds.push_back(kind == "lua"      ? FunctionKind::kLua
                      : kind == "kernel" ? FunctionKind::kKernel
                      : kind == "c"      ? FunctionKind::kC
                                         : FunctionKind::kBuiltin);
  read_positive<uint32_t>(given, "depth", f.depth);
  if (auto min = given.last("time-filter")) f.min_ns = parse_time(*min, "--time-filter");
  if (auto range = given.last("time-range")) {
    parse_time_range(*range, f.from, f.to);
    refuse_reversed(*range, f.from, f.to);
  }
  for (const auto number : given.numbers<uint32_t>("thread")) f.threads.emplace_back(number);
  for (const auto number : given.numbers<uint32_t>("vm")) f.vms.emplace_back(number);
  for (const auto& id : given.list("coroutine")) f.coroutines.push_back(parse_coroutine(id));
  read_grouping(given, f);
  return f;
}

uint64_t read_unit(const Given& given) {
  std::string unit = given.last("unit").value_or("ns");
  return unit == "ns" ? 1 : unit == "us" ? 1000 : 1000000;
}

ExportOptions read_exports(const Given& given) {
  ExportOptions e;
  e.format = given.last("format").value_or("");
  e.output = given.last("output").value_or("-");
  e.style = frame_style(given.last("frames").value_or("ours"));
  e.source_root = given.last("source-root").value_or("");
  e.unit_ns = read_unit(given);
  e.force = given.has("force");
  e.delimiter = given.last("kernel-delimiter").value_or("");
  if (e.format == kTables && e.output == "-")
    throw UsageError("--format parquet writes several tables: give it a directory (-o DIR)");
  e.on_screen = e.output == "-" && isatty(STDOUT_FILENO);
  const bool binary = e.format == "pprof" || e.format == "perfetto";
  if (binary && e.output == "-" && isatty(STDOUT_FILENO))
    throw UsageError("--format " + e.format +
                     " is binary: give it a file (-o FILE) instead of the terminal");
  return e;
}

PageOptions read_page(const Given& given) {
  PageOptions p;
  p.all_views = given.has("page");
  if (given.has("page") && given.has("flame"))
    throw UsageError("--page and --flame write a page each: give one of them");
  read_number<size_t>(given, "chart-limit", p.chart_limit);
  read_number<size_t>(given, "graph-limit", p.graph_limit);
  return p;
}

// Outputs whose file is optional: `open` is given without it.
struct FileOutput {
  const char *name, *ending, *kind;
  std::optional<std::string> Options::*file;
  bool open(const Given& given) const { return given.last(name) == kMissing; }
};
constexpr FileOutput kFileOutputs[] = {{"json", ".json", "json", &Options::json},
                                       {"csv", ".csv", "csv", &Options::csv},
                                       {"folded", ".folded", "folded", &Options::folded},
                                       {"flame", ".html", "page", &Options::flame},
                                       {"page", ".html", "page", &Options::flame}};

// -o FILE without --format is the file of the one output that was given without its own.
void read_output(const Given& given, Options& o) {
  if (!given.has("output") || !o.exports.format.empty()) return;
  if (given.has("dump"))
    throw UsageError("--dump writes to standard output: redirect it (--dump TRACE > " +
                     *given.last("output") + ")");
  std::vector<std::optional<std::string>*> open;
  for (const FileOutput& output : kFileOutputs)
    if (output.open(given)) open.push_back(&(o.*output.file));
  if (open.size() > 1)
    throw UsageError(
        "--output: several outputs have no file of their own: give each one, such as --json FILE");
  if (open.empty())
    throw UsageError(
        "--output needs --format NAME, or one of --json, --csv, --folded, --flame and --page "
        "without a file of its own");
  *open[0] = given.last("output");
}

// Refuses invalid paths before a long trace is read in vain.
void check_paths(const Options& o) {
  for (const auto* files : {&o.files, &o.diff})
    for (const std::string& file : *files)
      if (file.empty()) throw UsageError("the file name of a trace is empty");
  auto check = [](const char* option, const std::string& path) {
    std::error_code error;
    if (!path.empty() && !std::filesystem::is_directory(path, error))
      throw UsageError(std::string(option) + ": '" + path + "' is not a directory");
  };
  check("--sysroot", o.sysroot);
  for (const std::string& dir : o.debug_dirs) check("--debug-dir", dir);
}

PushOptions read_push(const Given& given) {
  PushOptions p;
  for (const std::string& label : given.list("label")) p.labels.push_back(parse_push_label(label));
  const auto url = given.last("push");
  if (!url) return p;
  set_push_target(p, *url, given.last("push-as").value_or(""));
  p.headers_file = given.last("push-headers").value_or("");
  push_headers(p.headers_file);  // Whatever is wrong with them is said before the trace is read.
  p.ca_file = given.last("push-ca").value_or("");
  if (!p.ca_file.empty() && access(p.ca_file.c_str(), R_OK) != 0)
    throw UsageError("--push-ca: '" + p.ca_file + "': cannot read: " + std::strerror(errno));
  p.spool = given.last("push-spool").value_or("");
  if (auto limit = given.last("push-spool-limit")) {
    const auto bytes = parse_size(*limit);
    if (!bytes) throw UsageError("--push-spool-limit: '" + *limit + "' is not a size, such as 64M");
    p.spool_bytes = *bytes;
  }
  if (auto wait = given.last("push-wait")) p.wait_ns = parse_time(*wait, "--push-wait");
  return p;
}

// Whether an operand beside others is the name of an output of that kind: there is no such file, or
// it is one of an earlier run.
bool is_meant_for(const Given& given, const std::string& word, const char* kind) {
  std::error_code error;
  const bool missing = word != "-" && !std::filesystem::exists(word, error);
  return (missing && given.operands().size() > 1) || is_own_file(word, kind);
}

// The file of an output was written after a blank, and would be read as a trace.
void check_operands(const Given& given, const Options& o) {
  if (given.operands().empty()) throw UsageError("no trace given");
  const std::string& format = o.exports.format;
  for (const std::string& word : given.operands()) {
    const auto refuse = [&](const std::string& right) {
      throw UsageError('\'' + word + "' is taken as a trace; write " + right);
    };
    for (const FileOutput& output : kFileOutputs)
      if (output.open(given) && !(o.*output.file == given.last("output")) &&
          (word.ends_with(output.ending) || is_meant_for(given, word, output.kind)))
        refuse(std::string("--") + output.name + '=' + word);
    if (!format.empty() && !given.has("output") && is_meant_for(given, word, format.c_str()))
      refuse("--format " + format + " -o " + word);
    if (given.last("dump") == kMissing && is_meant_for(given, word, "dump"))
      refuse("--dump TRACE > " + word + ": events go to standard output");
  }
}

uint64_t read_width(const std::string& text, const std::string& option) {
  const uint64_t width = parse_time(text, option);
  if (!is_bucket_width(width))
    throw UsageError(option + ": invalid length '" + text +
                     "'; a day must be a multiple of it, and it must be 1s or more: 1m, 5m, 1h, "
                     "24h");
  return width;
}

void read_bucket(const Given& given, Options& o) {
  if (const auto text = given.last("compact")) o.compact_ns = read_width(*text, "--compact");
  const auto text = given.last("bucket");
  o.no_buckets = text == "none";
  if (text && !o.no_buckets) o.bucket_ns = read_width(*text, "--bucket");
}

Options read(const Given& given) {
  Options o;
  o.files = given.operands();
  o.dump = given.last("dump", "text");
  o.jit = given.has("jit");
  o.convert = given.last("convert");
  o.folded = given.last("folded", "-");
  o.json = given.last("json", "-");
  o.csv = given.last("csv", "-");
  o.page = read_page(given);
  o.flame = given.last(o.page.all_views ? "page" : "flame", "");
  o.save_profile = given.last("save-profile");
  read_bucket(given, o);
  o.diff = given.list("diff");
  o.fail_if = given.list("fail-if");
  o.allow_missing = given.has("allow-missing");
  o.views = read_views(given);
  o.filter = read_filter(given);
  o.unit_ns = read_unit(given);
  o.exports = read_exports(given);
  if (!o.files.empty()) o.exports.input = o.files[0];
  read_output(given, o);
  o.push = read_push(given);
  o.sysroot = given.last("sysroot").value_or("");
  o.weights = given.last("weights").value_or("");
  o.debug_dirs = given.list("debug-dir");
  o.strict = given.has("strict");
  o.quiet = given.has("quiet");
  o.progress = given.has("progress");
  read_positive<uint16_t>(given, "jobs", o.jobs);
  o.growing = given.has("growing");
  read_number<uint64_t>(given, "max-nodes", o.max_nodes);
  check_operands(given, o);
  check_paths(o);
  if (o.convert && o.files.size() != 1) throw UsageError("--convert needs exactly one trace");
  if (o.compact_ns && std::find(o.files.begin(), o.files.end(), "-") != o.files.end())
    throw UsageError("--compact rewrites files, and - is standard input");
  refuse_conflicts(given, o);
  for (const auto& text : o.fail_if) Condition check_it(text, !o.diff.empty());
  return o;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  const CommandLine given(analyze_program(), argc, argv);
  refuse_for_program(given);
  if (given.print_common(LUATRACE_VERSION)) return std::nullopt;
  Options options = read(given);
  options.command.assign(argv, argv + argc);
  return options;
}

}  // namespace luatrace::analyze
