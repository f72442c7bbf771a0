// SPDX-License-Identifier: MIT
#include "analyzer/options/usage_hints.h"

#include <cstring>
#include <filesystem>

#include "cli/duration.h"

namespace luatrace::analyze {
namespace {

bool is_there(const std::string& path) {
  std::error_code error;
  return path == "-" || std::filesystem::exists(path, error);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == text.npos;
}

// Searches the options whose value has the name `kind`. Returns the first option with a value for
// which `is` holds, and that value; empty if there is none.
template <class Is>
std::pair<std::string, std::string> find_value(const CommandLine& given, const char* kind, Is is) {
  for (const OptionSpec& o : analyze_program().options)
    if (o.value && strcmp(o.value, kind) == 0)
      for (const std::string& value : given.list(o.name))
        if (is(value)) return {std::string("--") + o.name, value};
  return {};
}

[[noreturn]] void no_trace(const CommandLine& given) {
  const auto [option, file] = find_value(given, "FN", is_there);
  throw UsageError(
      "no trace given" +
      (option.empty() ? "" : " ('" + file + "' was taken as the function of " + option + ')'));
}

// Returns "--report" for "report"; "" if there is no such option.
std::string option_called(const std::string& word) {
  if (word == "graph") return "--tree";
  for (const OptionSpec& o : analyze_program().options)
    if (word == o.name && word != "help" && word != "version") return "--" + word;
  return "";
}

std::string meant(const CommandLine& given, const std::string& word, bool first) {
  if (unit_ns(word) > 0) {
    const auto [option, number] = find_value(given, "TIME", is_number);
    if (!option.empty()) return "write " + option + ' ' + number + word;
  }
  if (word == "linked" || word == "separate" || word == "merged")
    if (given.has("coroutines")) return "did you mean --coroutines=" + word + '?';
  const std::string option = first ? option_called(word) : "";
  return option.empty() ? "" : "did you mean " + option + '?';
}

}  // namespace

void suggest_usage(const CommandLine& given) {
  const auto& words = given.operands();
  if (words.empty()) no_trace(given);
  for (size_t i = 0; i < words.size(); i++) {
    if (is_there(words[i])) continue;
    const std::string text = meant(given, words[i], i == 0);
    if (!text.empty()) throw UsageError('\'' + words[i] + "' is no file; " + text);
  }
}

}  // namespace luatrace::analyze
