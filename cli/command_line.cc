// SPDX-License-Identifier: MIT
// Boost.Program_options does the parsing; what it cannot do is done here: values that may be
// missing, options that end at a command, choices.
#include "cli/command_line.h"

#include <strings.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstring>
#include <sstream>

namespace po = boost::program_options;

namespace luatrace {
namespace {

using Words = CommandLine::Words;

constexpr const char* kOperands = "operands";  // No option's name: it is of the parser only.

po::options_description described(const Program& program) {
  po::options_description d;
  for (const OptionSpec& o : program.options) {
    std::string name = o.name;
    if (o.letter) (name += ',') += o.letter;
    if (o.value)
      d.add_options()(name.c_str(), po::value<Words>()->composing(), o.help);
    else
      d.add_options()(name.c_str(), o.help);
  }
  d.add_options()(kOperands, po::value<Words>());
  return d;
}

const OptionSpec* find_option(const Program& program, std::string_view name) {
  for (const OptionSpec& o : program.options)
    if (name == o.name) return &o;
  return nullptr;
}

const OptionSpec* find_letter(const Program& program, char letter) {
  for (const OptionSpec& o : program.options)
    if (o.letter == letter) return &o;
  return nullptr;
}

// Is the value of this word's option in the next word? Of "-vo" the first letter that takes a value
// takes the rest of the word, or the next one.
bool wants_next(const Program& program, std::string_view word) {
  if (word.starts_with("--")) {
    const OptionSpec* o = find_option(program, word.substr(2));  // "output=x" is none.
    return o && o->value && !o->optional;
  }
  for (size_t i = 1; i < word.size(); i++) {
    const OptionSpec* o = find_letter(program, word[i]);
    if (o && o->value) return i + 1 == word.size() && !o->optional;
  }
  return false;
}

// How many of the words are options and their values: all but the command and its arguments.
size_t find_command(const Program& program, const Words& words) {
  for (size_t i = 0; i < words.size(); i++) {
    if (words[i] == "--" || words[i].size() < 2 || words[i][0] != '-') return i;
    if (wants_next(program, words[i])) i++;
  }
  return words.size();
}

// Options whose value is optional take it after '=' only, never from the next word.
Words with_missing(const Program& program, const Words& words) {
  Words out;
  bool options = true;
  for (std::string word : words) {
    const OptionSpec* o = word.starts_with("--") ? find_option(program, word.substr(2)) : nullptr;
    if (options && o && o->optional) word += '=' + CommandLine::kMissing;
    if (options && word.starts_with("--") && word.size() > 3 && word.ends_with('=') &&
        find_option(program, std::string_view(word).substr(2, word.size() - 3)))
      throw UsageError(word + " needs a value behind the '='");
    if (word == "--") options = false;
    out.push_back(word);
  }
  return out;
}

// For what is none: the options that begin so, since abbreviations are not guessed, or as it does.
std::string similar(const Program& program, std::string_view word) {
  const std::string_view name =
      word.substr(0, word.find('=')).substr(word.starts_with("--") ? 2 : 0);
  constexpr size_t kAlike = 4, kMost = 3;
  std::string out;
  size_t n = 0;
  for (size_t letters : {name.size(), std::min(name.size(), kAlike)}) {
    if (n || letters < 2) break;
    for (const OptionSpec& o : program.options) {
      if (!std::string_view(o.name).starts_with(name.substr(0, letters)) || n == kMost) continue;
      out += (n++ ? ", --" : "; did you mean --") + std::string(o.name);
    }
  }
  return n ? out + '?' : out;
}

po::variables_map parsed(const Program& program, const Words& words) {
  using namespace po::command_line_style;
  po::positional_options_description positional;
  positional.add(kOperands, -1);
  const auto description = described(program);
  po::variables_map vm;
  try {
    po::store(po::command_line_parser(with_missing(program, words))
                  .options(description)
                  .positional(positional)
                  .style((unix_style | allow_long) & ~allow_guessing)
                  .run(),
              vm);
  } catch (const po::unknown_option& e) {
    throw UsageError(e.what() + similar(program, e.get_option_name()));
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
  return vm;
}

// As the table has it, if it is one of its words but for capitals.
std::string as_word(const OptionSpec& o, const std::string& value) {
  if (!o.words || o.other_words) return value;
  std::istringstream words(o.words);
  for (std::string word; words >> word;)
    if (strcasecmp(word.c_str(), value.c_str()) == 0) return word;
  return value;
}

std::string with_commas(std::string_view words) {
  std::string out;
  for (char c : words) out += c == ' ' ? std::string(", ") : std::string(1, c);
  return out;
}

}  // namespace

const std::string CommandLine::kMissing = "\x01";

CommandLine::CommandLine(const Program& program, int argc, const char* const* argv)
    : program_(program) {
  Words words(argv + std::min(argc, 1), argv + argc);
  if (program.operands == Operands::kCommand) {
    const auto at = words.begin() + static_cast<long>(find_command(program, words));
    const bool dashes = at != words.end() && *at == "--";
    operands_.assign(at + dashes, words.end());
    words.erase(at, words.end());
  }
  const po::variables_map vm = parsed(program, words);
  for (const OptionSpec& o : program.options) {
    Words values;
    if (vm.count(o.name)) values = o.value ? vm[o.name].as<Words>() : Words{kMissing};
    for (std::string& value : values) value = as_word(o, value);
    check(o, values);
    values_.push_back(std::move(values));
  }
  if (vm.count(kOperands)) operands_ = vm[kOperands].as<Words>();
}

void CommandLine::check(const OptionSpec& o, const Words& values) const {
  const std::string name = std::string("--") + o.name;
  if (!o.many && values.size() > 1) throw UsageError(name + " may be given only once");
  if (!o.value) return;
  const std::string words = o.words ? std::string(" ") + o.words + ' ' : "";
  for (const std::string& value : values) {
    if (value.empty() && !o.optional) throw UsageError(name + " needs a value");
    if (words.empty() || o.other_words || value == kMissing) continue;
    if (words.find(' ' + value + ' ') == words.npos || value.find(' ') != value.npos)
      throw UsageError(name + ": '" + value + "' is none of " + with_commas(o.words));
  }
}

size_t CommandLine::index(const char* name) const {
  size_t i = 0;
  while (strcmp(program_.options[i].name, name) != 0) i++;
  return i;
}

const Words& CommandLine::list(const char* name) const {
  return values_[index(name)];
}

std::optional<std::string> CommandLine::last(const char* name) const {
  const Words& values = list(name);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

std::optional<std::string> CommandLine::last(const char* name, const std::string& fallback) const {
  auto value = last(name);
  return value == kMissing ? fallback : value;
}

}  // namespace luatrace
