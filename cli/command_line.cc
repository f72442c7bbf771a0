// SPDX-License-Identifier: MIT
// Boost.Program_options does the parsing. Three things that it cannot do are done here: optional
// values, options that end where a command begins, and values from a list of choices.
#include "cli/command_line.h"

#include <strings.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstring>
#include <iostream>
#include <sstream>

namespace po = boost::program_options;

namespace luatrace {
namespace {

using Tokens = CommandLine::Tokens;

constexpr const char* kOperands = "operands";  // For the parser only; no option has this name.

po::options_description option_descriptions(const Program& program) {
  po::options_description d;
  for (const OptionSpec& o : program.options) {
    std::string name = o.name;
    if (o.former) name += std::string(",") + o.former;
    if (o.letter) (name += ',') += o.letter;
    if (o.value)
      d.add_options()(name.c_str(), po::value<Tokens>()->composing(), o.help);
    else
      d.add_options()(name.c_str(), o.help);
  }
  d.add_options()(kOperands, po::value<Tokens>());
  return d;
}

const OptionSpec* find_option(const Program& program, std::string_view name) {
  for (const OptionSpec& o : program.options)
    if (name == o.name || (o.former && name == o.former)) return &o;
  return nullptr;
}

const OptionSpec* find_letter(const Program& program, char letter) {
  for (const OptionSpec& o : program.options)
    if (o.letter == letter) return &o;
  return nullptr;
}

// Is the value of this option the next token? In "-vo" the first letter that takes a value takes
// the rest of the token or, if nothing is left, the next one.
bool takes_next_token(const Program& program, std::string_view token) {
  if (token.starts_with("--")) {
    const OptionSpec* o = find_option(program, token.substr(2));  // "output=x" is not found.
    return o && o->value && !o->optional;
  }
  for (size_t i = 1; i < token.size(); i++) {
    const OptionSpec* o = find_letter(program, token[i]);
    if (o && o->value) return i + 1 == token.size() && !o->optional;
  }
  return false;
}

// The number of tokens that are options and their values; the command and its arguments follow.
size_t find_command(const Program& program, const Tokens& tokens) {
  for (size_t i = 0; i < tokens.size(); i++) {
    if (tokens[i] == "--" || tokens[i].size() < 2 || tokens[i][0] != '-') return i;
    if (takes_next_token(program, tokens[i])) i++;
  }
  return tokens.size();
}

// An option with an optional value takes it only after '=', never from the next token.
Tokens mark_missing_values(const Program& program, const Tokens& tokens) {
  Tokens out;
  bool options = true;
  for (std::string token : tokens) {
    const OptionSpec* o = token.starts_with("--") ? find_option(program, token.substr(2)) : nullptr;
    if (options && o && o->optional) token += '=' + CommandLine::kMissing;
    if (options && token.starts_with("--") && token.size() > 3 && token.ends_with('=') &&
        find_option(program, std::string_view(token).substr(2, token.size() - 3)))
      throw UsageError(token + " needs a value after the '='");
    if (token == "--") options = false;
    out.push_back(token);
  }
  return out;
}

// Suggestions for an unknown option: the options that begin with it (abbreviations are not
// accepted), or those that share its first letters.
std::string suggestions(const Program& program, std::string_view token) {
  const std::string_view name =
      token.substr(0, token.find('=')).substr(token.starts_with("--") ? 2 : 0);
  constexpr size_t kPrefix = 4, kMaxSuggestions = 3;
  std::string out;
  size_t n = 0;
  for (size_t letters : {name.size(), std::min(name.size(), kPrefix)}) {
    if (n || letters < 2) break;
    for (const OptionSpec& o : program.options) {
      if (!std::string_view(o.name).starts_with(name.substr(0, letters)) || n == kMaxSuggestions)
        continue;
      out += (n++ ? ", --" : "; did you mean --") + std::string(o.name);
    }
  }
  return n ? out + '?' : out;
}

po::variables_map parse(const Program& program, const Tokens& tokens) {
  using namespace po::command_line_style;
  po::positional_options_description positional;
  positional.add(kOperands, -1);
  const auto description = option_descriptions(program);
  po::variables_map vm;
  try {
    po::store(po::command_line_parser(mark_missing_values(program, tokens))
                  .options(description)
                  .positional(positional)
                  .style((unix_style | allow_long) & ~allow_guessing)
                  .run(),
              vm);
  } catch (const po::unknown_option& e) {
    throw UsageError(e.what() + suggestions(program, e.get_option_name()));
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
  return vm;
}

// The choice that equals `value` except for upper and lower case, if there is one.
std::string canonical_choice(const OptionSpec& o, const std::string& value) {
  if (!o.choices || o.open_choices) return value;
  std::istringstream choices(o.choices);
  for (std::string choice; choices >> choice;)
    if (strcasecmp(choice.c_str(), value.c_str()) == 0) return choice;
  return value;
}

}  // namespace

bool is_choice(const std::string& choices, const std::string& word) {
  return (' ' + choices + ' ').find(' ' + word + ' ') != choices.npos &&
         word.find(' ') == word.npos;
}

std::string choices_text(std::string_view choices) {
  std::string out;
  for (size_t i = 0; i < choices.size(); i++) {
    const bool last = choices.find(' ', i + 1) == choices.npos;
    out += choices[i] != ' ' ? std::string(1, choices[i]) : last ? " or " : ", ";
  }
  return out;
}

const std::string CommandLine::kMissing = "\x01";

CommandLine::CommandLine(const Program& program, int argc, const char* const* argv)
    : program_(program) {
  Tokens tokens(argv + std::min(argc, 1), argv + argc);
  if (program.operands >= Operands::kCommand) {
    const auto at = tokens.begin() + static_cast<long>(find_command(program, tokens));
    const bool dashes = at != tokens.end() && *at == "--";
    operands_.assign(at + dashes, tokens.end());
    tokens.erase(at, tokens.end());
  }
  const po::variables_map vm = parse(program, tokens);
  for (const OptionSpec& o : program.options) {
    Tokens values;
    if (vm.count(o.name)) values = o.value ? vm[o.name].as<Tokens>() : Tokens{kMissing};
    for (std::string& value : values) value = canonical_choice(o, value);
    check(o, values);
    values_.push_back(std::move(values));
  }
  if (vm.count(kOperands)) operands_ = vm[kOperands].as<Tokens>();
}

void CommandLine::check(const OptionSpec& o, const Tokens& values) const {
  const std::string name = std::string("--") + o.name;
  if (!o.many && values.size() > 1) throw UsageError(name + " may be given only once");
  if (!o.value) return;
  for (const std::string& value : values) {
    if (value.empty() && !o.optional) throw UsageError(name + " needs a value");
    if (!o.choices || o.open_choices || value == kMissing) continue;
    if (!is_choice(o.choices, value))
      throw UsageError(name + ": invalid value '" + value + "'; choose " + choices_text(o.choices));
  }
}

size_t CommandLine::index(const char* name) const {
  size_t i = 0;
  while (strcmp(program_.options[i].name, name) != 0) i++;
  return i;
}

const Tokens& CommandLine::list(const char* name) const {
  return values_[index(name)];
}

std::optional<std::string> CommandLine::last(const char* name) const {
  const Tokens& values = list(name);
  return values.empty() ? std::nullopt : std::optional(values.back());
}

std::optional<std::string> CommandLine::last(const char* name, const std::string& fallback) const {
  auto value = last(name);
  return value == kMissing ? fallback : value;
}

bool CommandLine::print_common(const char* version) const {
  if (has("help"))
    write_help(std::cout, program_, terminal_columns());
  else if (has("version"))
    std::cout << program_.name << ' ' << version << '\n';
  else
    return false;
  return true;
}

}  // namespace luatrace
