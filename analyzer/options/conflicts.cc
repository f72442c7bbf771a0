// SPDX-License-Identifier: MIT
#include "analyzer/options/conflicts.h"

#include <algorithm>
#include <sstream>

#include "cli/program.h"

namespace luatrace {
namespace {

// `option` means something only with one of the others.
struct Belongs {
  const char* option;
  const char* others;  // Blanks between them.
  const char* shown;   // The same for people.
};
constexpr Belongs kBelongs[] = {
    {"over", "slow", "--slow FN"},
    {"wall", "slow", "--slow FN"},
    {"normalize", "diff", "--diff OTHER"},
    {"allow-missing", "fail-if", "--fail-if EXPR"},
    {"output", "format", "--format NAME"},
    {"frames", "format", "--format NAME"},
    {"source-root", "format", "--format NAME"},
    {"unit", "folded format", "--folded and --format"},
    {"yielded", "tree flame page folded format", "--tree, --flame, --page, --folded and --format"},
    {"chart-limit", "flame page", "--flame and --page"},
    {"graph-limit", "flame page", "--flame and --page"},
};

// What makes nothing of the others, and why.
struct Refuses {
  const char* option;
  const char* why;
  const char* others;    // Blanks between them.
  bool all_but = false;  // All others but these.
};
constexpr const char* kEvents =
    "dump convert strict quiet progress color width jobs sysroot debug-dir";
constexpr Refuses kRefuses[] = {
    {"diff",
     "compares two profiles, in --report, --tree, --flame, --page, --folded, --json and --csv",
     "callers callees hist slow threads timeline info compensate format dump convert"},
    {"dump", "prints all events as they are", kEvents, true},
    {"convert", "writes all events as they are", kEvents, true},
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

void refuse(const Refuses& r, const std::string& other) {
  throw UsageError("--" + other + " does not go with --" + r.option + ", which " + r.why +
                   ": leave one of them out");
}

void refuse_others(const CommandLine& given) {
  for (const Refuses& r : kRefuses) {
    if (!given.has(r.option)) continue;
    for (const OptionSpec& o : analyze_program().options) {
      const std::string name = o.name;
      if (name != r.option && has_word(r.others, name) != r.all_but && given.has(o.name))
        refuse(r, name);
    }
  }
  if (given.has("dump") && given.has("convert"))
    throw UsageError("--dump does not go with --convert: give one of them");
}

// Those whose meaning hangs on the views.
void refuse_without_view(const CommandLine& given, const Options& o) {
  const ViewOptions& v = o.views;
  if (!o.diff.empty() && v.coroutines)
    throw UsageError(
        "--coroutines does not go with --diff, which compares two profiles: leave one of them out "
        "(--coroutines=MODE says where their calls hang)");
  if (given.has("fields") && v.any() && !v.report)
    throw UsageError("--fields belongs to --report: give that, too");
  if (!v.coroutines && has_word("life suspended resumes", v.sort))
    throw UsageError("--sort " + v.sort + " belongs to --coroutines");
  if (given.has("top") && given.has("limit"))
    throw UsageError("--top and --limit are the same: give one of them");
}

// Two outputs in one file would be neither.
void refuse_same_output(const Options& o) {
  std::vector<std::pair<std::string, std::string>> outputs;  // Option, file.
  auto add = [&](const char* option, const std::optional<std::string>& file) {
    if (!file || file->empty()) return;  // "": beside the trace.
    for (const auto& [other, name] : outputs)
      if (name == *file && name != "/dev/null")
        throw UsageError(other + " and " + option + " both write to " +
                         (name == "-" ? "standard output" : '\'' + name + '\'') +
                         ": give each a file of its own (" + option + "=FILE)");
    outputs.emplace_back(option, *file);
  };
  add("--json", o.json);
  add("--csv", o.csv);
  add("--folded", o.folded);
  add(o.page.always_chart ? "--page" : "--flame", o.flame);
  add("--save-profile", o.save_profile);
  if (!o.exports.format.empty()) add("--output", o.exports.output);
}

}  // namespace

void refuse_conflicts(const CommandLine& given, const Options& options) {
  for (const Belongs& b : kBelongs)
    if (given.has(b.option) && !has_one_of(given, b.others))
      throw UsageError(std::string("--") + b.option + " belongs to " + b.shown);
  refuse_others(given);
  refuse_without_view(given, options);
  refuse_same_output(options);
}

}  // namespace luatrace
