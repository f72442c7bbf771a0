// SPDX-License-Identifier: MIT
#include "analyzer/options/conflicts.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "analyzer/collect/observers.h"
#include "analyzer/report/conditions.h"
#include "cli/program.h"

namespace luatrace::analyze {
namespace {

// `option` has an effect only together with one of the others.
struct Needs {
  const char* option;
  const char* others;        // Separated by blanks.
  const char* shown;         // The others as messages show them.
  const char* formats = "";  // Values of --format with which it also has an effect.
};
constexpr const char* kNaming =
    "folded speedscope perfetto chrome pprof callgrind csv luaprofiler xmake luaprofile parquet";
// perfetto and chrome have suspended time even without --suspended.
constexpr const char* kSuspending = "folded speedscope perfetto chrome pprof callgrind";
constexpr Needs kNeeds[] = {
    {"over", "slow", "--slow FN"},
    {"wall", "slow", "--slow FN"},
    {"normalize", "diff", "--diff OTHER"},
    {"bucket", "save-profile timeline", "--save-profile FILE or --timeline"},
    {"allow-missing", "fail-if", "--fail-if EXPR"},
    {"frames", "", "--format NAME", kNaming},
    {"source-root", "", "--format NAME", kNaming},
    {"kernel-delimiter", "", "--format folded", "folded"},
    {"unit", "folded", "--folded or --format folded", "folded"},
    {"suspended", "tree flame page folded", "--tree, --flame, --page, --folded or --format",
     kSuspending},
    {"chart-limit", "page", "--page"},
    {"label", "push", "--push URL or --format parquet", "parquet"},
    {"push-as", "push", "--push URL"},
    {"push-headers", "push", "--push URL"},
    {"push-ca", "push", "--push URL"},
    {"push-spool", "push", "--push URL"},
    {"push-spool-limit", "push-spool", "--push-spool DIR"},
    {"push-wait", "push", "--push URL"},
    {"graph-limit", "flame page", "--flame or --page"},
};

// `option` cannot be combined with the others, because of `why`.
struct Refuses {
  const char* option;
  const char* why;
  const char* others;    // Separated by blanks.
  bool all_but = false;  // Conflicts with all options except `others`.
};
constexpr const char* kEvents =
    "dump convert force strict quiet progress color width jobs sysroot debug-dir";
constexpr const char* kCompiler =
    "jit json csv limit output force strict quiet progress color width";
constexpr const char* kCallFilters =
    "filter notrace caller-filter hide depth time-filter function kind thread vm coroutine";
constexpr Refuses kRefuses[] = {
    {"diff",
     "compares two profiles, in --report, --tree, --flame, --page, --folded, --json and --csv",
     "callers callees hist slow waits requests request slow-requests request-by turns threads "
     "timeline symbols info compensate format push dump convert"},
    {"bucket", "divides the sums of whole traces", "diff page symbols"},
    {"requests", "shows all of each request", kCallFilters},
    {"slow-requests", "shows all of each request", kCallFilters},
    {"request", "shows all of each request", kCallFilters},
    {"request-by", "shows all of each request", kCallFilters},
    {"turns", "shows all of each turn", kCallFilters},
    {"symbols", "has a row for each C function", "group-by"},
    {"dump", "prints all events as they are", kEvents, true},
    {"jit", "shows only what the compiler did", kCompiler, true},
    {"convert", "writes all events as they are", kEvents, true},
    {"compact", "rewrites saved profiles", "strict quiet progress color width jobs", true},
};

bool has_word(const char* words, const std::string& word) {
  return (std::string(" ") + words + ' ').find(' ' + word + ' ') != std::string::npos;
}

bool has_one_of(const CommandLine& given, const char* names) {
  std::istringstream words(names);
  for (std::string name; words >> name;)
    if (given.has(name.c_str())) return true;
  return false;
}

void refuse_alone(const CommandLine& given, const std::string& format) {
  for (const Needs& n : kNeeds) {
    if (!given.has(n.option) || has_one_of(given, n.others)) continue;
    if (!*n.formats || format.empty())
      throw UsageError(std::string("--") + n.option + " needs " + n.shown);
    if (!has_word(n.formats, format))
      throw UsageError(std::string("--") + n.option + " has no effect with --format " + format +
                       ": leave one of them out");
  }
}

void refuse_others(const CommandLine& given, const Options& options) {
  for (const Refuses& r : kRefuses) {
    if (!given.has(r.option)) continue;
    // Then it says only what the groups are.
    const bool groups = options.filter.group == GroupBy::kRequest;
    if (groups && std::string(r.option) == "request-by") continue;
    for (const OptionSpec& o : analyze_program().options) {
      const std::string name = o.name;
      if (name != r.option && has_word(r.others, name) != r.all_but && given.has(o.name))
        throw UsageError("--" + name + " cannot be combined with --" + r.option + ", which " +
                         r.why + ": leave one of them out");
    }
  }
  if (given.has("dump") && given.has("convert"))
    throw UsageError("--dump cannot be combined with --convert: give one of them");
}

const char* page_option(const Options& o) {
  return o.page.all_views ? "--page" : "--flame";
}

// Whether the summary is not shown: standard output has another use, or --quiet is given.
bool hides_summary(const Options& o) {
  return o.quiet || is_output_taken(o);
}

// Whether a table with selectable rows and columns is shown.
bool has_rows(const Options& o) {
  return o.views.any() || o.jit || !o.diff.empty() || o.csv || !hides_summary(o);
}

// Refuses --sort if no view has rows in that order.
void refuse_sort(const ViewOptions& v) {
  if (!v.coroutines && has_word("life suspended resumes", v.sort))
    throw UsageError("--sort " + v.sort + " needs --coroutines");
  if (!v.turns && v.sort == "delayed") throw UsageError("--sort delayed needs --turns");
  const bool of_turns = v.turns && find_turn_order(v.sort);
  if (!v.requests && !of_turns &&
      has_word("start waits others unattributed collector compiler coroutines", v.sort))
    throw UsageError("--sort " + v.sort + " needs --requests");
  const bool of_functions = v.report || v.symbols || !v.any();
  if (!v.sort_given || of_functions) return;
  if (!v.coroutines && !v.requests && !v.turns)
    throw UsageError(
        "--sort needs --report, --symbols, --coroutines, --requests or --turns: the selected views "
        "have a fixed order");
  if (v.coroutines && find_coroutine_order(v.sort)) return;
  if (v.requests && is_request_order(v.sort)) return;
  if (of_turns) return;
  throw UsageError("--sort " + v.sort + " needs --report or --symbols: " +
                   (v.coroutines ? "--coroutines is sorted by suspended (default), running, life "
                                   "or resumes"
                    : v.turns    ? "--turns is sorted by wall (default), start or delayed"
                                 : "--requests is sorted by wall (default), start, running, waits, "
                                   "cpu, others, unattributed, collector, compiler or coroutines"));
}

// Refuses --limit if no view leaves out rows. --limit 0 (all rows) is always accepted.
void refuse_limit(const ViewOptions& v) {
  ViewOptions others = v;
  others.hist.clear();
  others.info = false;
  if (v.limit_given && v.limit && v.any() && !others.any())
    throw UsageError("--limit has no effect on --hist and --info, which always show all rows");
}

// Views go to standard output unless --json or --csv write them: refuses outputs in the same place.
void refuse_hidden_views(const Options& o) {
  const std::string& format = o.exports.format;
  if (!o.views.any() || o.json || o.csv || format == "json" || format == "csv") return;
  const auto refuse_if = [](bool taken, const std::string& option, const std::string& file) {
    if (taken)
      throw UsageError(option +
                       " writes to standard output, where the views are shown: give it a "
                       "file (" +
                       file + ")");
  };
  refuse_if(!format.empty() && o.exports.output == "-", "--format " + format, "-o FILE");
  refuse_if(o.folded == "-", "--folded", "--folded=FILE");
  refuse_if(o.flame == "-", page_option(o), page_option(o) + std::string("=FILE"));
  refuse_if(o.save_profile == "-", "--save-profile", "--save-profile=FILE");
}

void refuse_without_view(const CommandLine& given, const Options& o) {
  const ViewOptions& v = o.views;
  if (!o.diff.empty() && v.coroutines)
    throw UsageError(
        "--coroutines cannot be combined with --diff, which compares two profiles: leave one of "
        "them out (--coroutines=MODE is possible)");
  if (v.suspended && !o.diff.empty() && !o.flame)
    throw UsageError(
        "--suspended with --diff needs --flame or --page: other comparisons have no suspended "
        "time");
  if (v.request && o.files.size() != 1)
    throw UsageError("--request needs exactly one trace: ids are numbers in their file");
  if (o.filter.group == GroupBy::kRequest && o.files.size() + o.diff.size() != 1)
    throw UsageError(
        "--group-by request needs exactly one trace: requests have numbers in their file");
  if (given.has("fields") && v.any() && !v.report) throw UsageError("--fields needs --report");
  for (const char* rows : {"fields", "sort", "limit"})
    if (given.has(rows) && !has_rows(o))
      throw UsageError(std::string("--") + rows + " needs a view, such as --report, or --csv");
  refuse_sort(v);
  refuse_limit(v);
}

// Refuses --group-by if it changes no output: requests, turns and coroutines are no groups.
void refuse_groups(const Options& o) {
  ViewOptions others = o.views;
  others.requests = others.turns = others.coroutines = false;
  others.request = 0;
  const bool written = o.json || o.csv || o.folded || o.flame || o.save_profile ||
                       !o.exports.format.empty() || !o.diff.empty() || !o.fail_if.empty();
  if (o.filter.group == GroupBy::kNone || !o.views.any() || others.any() || written) return;
  const char* view = o.views.requests  ? "--requests"
                     : o.views.turns   ? "--turns"
                     : o.views.request ? "--request"
                                       : "--coroutines";
  throw UsageError(std::string("--group-by has no effect on ") + view +
                   ": leave it out, or add a view that has groups (--report, --tree, --waits)");
}

bool compares_times(const Options& o) {
  return std::any_of(o.fail_if.begin(), o.fail_if.end(), [&](const std::string& text) {
    return Condition(text, !o.diff.empty()).has_times();
  });
}

// Refuses --compensate if it changes no output. write_outputs() names the outputs that it does not
// change.
void refuse_compensate(const Options& o) {
  const ViewOptions& v = o.views;
  if (!v.compensate || v.report || v.tree || o.json) return;
  const bool summed_up = !v.any() && (o.csv || !hides_summary(o));
  const auto raw = raw_outputs(o);
  if (!summed_up && !raw.empty())
    throw UsageError(
        raw[0] +
        " cannot be combined with --compensate alone, which takes the cost of recording "
        "out of --report, --tree and the functions of --json: leave --compensate out, "
        "or add one of these");
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (a == "-" || b == "-") return false;
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  auto whole = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, error), error);
  };
  const fs::path one = whole(a);
  return !one.empty() && one == whole(b);
}

namespace {

// Refuses two outputs to the same file: they would corrupt each other.
void refuse_same_output(const Options& o) {
  std::vector<std::pair<std::string, std::string>> outputs;  // Option, file.
  auto add = [&](const char* option, const std::optional<std::string>& file) {
    if (!file || file->empty()) return;  // "": next to the trace.
    for (const auto& [other, name] : outputs)
      if (name != "/dev/null" && is_same_file(name, *file))
        throw UsageError(other + " and " + option + " both write to " +
                         (name == "-" ? "standard output" : '\'' + name + '\'') +
                         ": give each a file of its own (" + option + "=FILE)");
    outputs.emplace_back(option, *file);
  };
  add("--json", o.json);
  add("--csv", o.csv);
  add("--folded", o.folded);
  add(page_option(o), o.flame);
  add("--save-profile", o.save_profile);
  if (!o.exports.format.empty()) add("--output", o.exports.output);
}

}  // namespace

void refuse_conflicts(const CommandLine& given, const Options& options) {
  refuse_alone(given, options.exports.format);
  refuse_others(given, options);
  refuse_without_view(given, options);
  refuse_hidden_views(options);
  refuse_groups(options);
  refuse_compensate(options);
  refuse_same_output(options);
}

void refuse_for_program(const CommandLine& given) {
  constexpr const char* kElsewhere =
      "help version output force save-profile push flame page folded csv jit dump convert";
  constexpr const char* kWhy = ": only options that shape the report are possible here";
  if (!given.has("inside")) return;
  for (const OptionSpec& o : analyze_program().options) {
    const bool has_file = is_choice("json", o.name) && given.last(o.name) != CommandLine::kMissing;
    if (given.has(o.name) && (has_file || has_word(kElsewhere, o.name)))
      throw UsageError(std::string("--") + o.name +
                       (o.letter != 0 ? std::string(" (-") + o.letter + ")" : "") + kWhy);
  }
  if (given.has("json") && given.has("format"))
    throw UsageError(std::string("--json, --format: the form is given by the function called") +
                     kWhy);
  if (given.operands().size() > 1)
    throw UsageError("'" + given.operands()[1] + "' is a file" + kWhy);
}

void refuse_without_calls(const Options& o) {
  const ViewOptions& v = o.views;
  std::string option;
  if (!v.hist.empty()) option = "--hist";
  if (v.suspended) option = "--suspended";
  if (v.compensate) option = "--compensate";
  for (const char* format : {"luaprofile", "xmake"})
    if (o.exports.format == format) option = std::string("--format ") + format;
  for (const Field& field : v.fields)
    if (!field.of_samples()) option = "--fields " + field.name;
  const auto key = find_field(v.sort);
  if (key && !key->of_samples()) option = "--sort " + v.sort;
  for (const std::string& text : o.fail_if)
    if (!Condition(text, !o.diff.empty()).is_of_samples()) option = "--fail-if '" + text + '\'';
  if (option.empty()) return;
  throw UsageError(option +
                   " needs single calls, but the trace has samples, of which samples, inclusive, "
                   "self, share and error are known: choose one of these, or record events "
                   "(luatrace-record without --sample)");
}

bool is_output_taken(const Options& o) {
  if (!o.exports.format.empty() && o.exports.output == "-") return true;
  const auto all = {o.json, o.csv, o.folded, o.flame, o.save_profile};
  return std::find(all.begin(), all.end(), "-") != all.end();
}

bool shows_default_table(const Options& o) {
  return !o.views.any() && o.views.fields.empty() && (o.csv || !hides_summary(o));
}

std::vector<std::string> raw_outputs(const Options& o) {
  const ViewOptions& v = o.views;
  const std::pair<const char*, bool> all[] = {{"--callers", !v.callers.empty()},
                                              {"--callees", !v.callees.empty()},
                                              {"--slow", !v.slow.empty()},
                                              {"--hist", !v.hist.empty()},
                                              {"--coroutines", v.coroutines},
                                              {"--waits", v.waits},
                                              {"--requests", v.requests},
                                              {"--request", v.request != 0},
                                              {"--turns", v.turns},
                                              {"--threads", v.threads},
                                              {"--timeline", v.timeline},
                                              {"--symbols", v.symbols},
                                              {"--folded", o.folded.has_value()},
                                              {page_option(o), o.flame.has_value()},
                                              {"--format", !o.exports.format.empty()},
                                              {"--push", !o.push.url.empty()},
                                              {"--fail-if", compares_times(o)}};
  std::vector<std::string> names;
  for (const auto& [name, is_shown] : all)
    if (is_shown) names.emplace_back(name);
  return names;
}

}  // namespace luatrace::analyze
