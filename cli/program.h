// SPDX-License-Identifier: MIT
// The command line of a program as a table. The parser (command_line.h), --help, the man page and
// the completions for bash and zsh all come from this table, so they cannot disagree
// (tests/views/options_test.sh checks it).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iosfwd>
#include <span>
#include <string_view>

namespace luatrace {

// What kind of thing a value names, for completion.
enum class Complete { kNothing, kFile, kDirectory, kProcess };

struct OptionSpec {
  const char* group;              // Heading; the options of a group are adjacent.
  const char* name;               // Long name without dashes.
  char letter;                    // Short name, or 0.
  const char* value;              // Placeholder of its value; null if it takes none.
  bool optional;                  // The value may be missing, and is given after '=' only.
  bool many;                      // May be given more than once.
  const char* help;               // One line, in lower case.
  const char* more;               // Further sentences for the man page, or null.
  const char* choices = nullptr;  // Allowed values, separated by blanks; null: any.
  Complete complete = Complete::kNothing;
  bool open_choices = false;  // Other values than `choices` are allowed.
  bool list = false;          // The value is a comma-separated list of them.
  // An earlier long name, which the parser takes, too, but --help does not have; null: none.
  const char* former = nullptr;
};

// The options that every program has.
constexpr std::array<OptionSpec, 2> common_options(const char* group) {
  return {{{group, "help", 'h', nullptr, false, false, "print this help", nullptr},
           {group, "version", 0, nullptr, false, false, "print the version", nullptr}}};
}

// `own`, then common_options().
template <size_t N>
constexpr std::array<OptionSpec, N + 2> with_common_options(const OptionSpec (&own)[N],
                                                            const char* group) {
  std::array<OptionSpec, N + 2> all{};
  const auto common = common_options(group);
  std::copy(common.begin(), common.end(), std::copy(own, own + N, all.begin()));
  return all;
}

// A status, an example, an environment variable or a file, and what it means or does.
struct Meaning {
  const char* what;
  const char* meaning;  // In lower case, without a full stop.
};

// What the tokens that are not options mean.
// kProgram: the name of a program of ours without "luatrace-", then its command line.
// kNone: there are none, but the parser takes them, for the program's own message.
enum class Operands { kFiles, kNone, kCommand, kProgram };

struct Program {
  const char* name;
  const char* purpose;                 // Follows the name in the man page, in lower case.
  std::span<const char* const> uses;   // Follows the name: "FILE... [options]".
  const char* what;                    // A paragraph, in lines of up to 100 characters.
  std::span<const char* const> notes;  // Further paragraphs.
  std::span<const OptionSpec> options;
  std::span<const Meaning> statuses, examples, environment, files;
  const char* see_also;  // Other man pages, then documents.
  Operands operands;
};

// The programs' tables (analyzer/options/option_table.cc, recorder/option_table.cc,
// analyzer/top/option_table.cc, fleet/option_table.cc, cli/luatrace_table.cc).
const Program& analyze_program();
const Program& record_program();
const Program& luatrace_program();
const Program& top_program();
const Program& fleet_program();

// The programs that `luatrace` runs: their names after "luatrace-", separated by blanks.
constexpr const char* kPrograms = "record analyze top";

// Width of the terminal `fd`: $COLUMNS, else what the terminal reports; 0 if `fd` is not a terminal
// or its width is unknown.
size_t terminal_columns(int fd = 1);

// Generated from the table. `columns` is the terminal's width: help is wrapped to it, up to 100
// columns; 0 prints each option on one line. `version` goes into the man page's footer.
void write_help(std::ostream& out, const Program& program, size_t columns);
void write_man(std::ostream& out, const Program& program, std::string_view version);
void write_bash_completion(std::ostream& out, const Program& program);
void write_zsh_completion(std::ostream& out, const Program& program);

}  // namespace luatrace
