// SPDX-License-Identifier: MIT
// What there is to know of a program's command line: one table for each program. The parser
// (command_line.h), --help, the man page and the completions of bash and zsh are all made from it,
// so none of them can know an option that the others do not (tests/views/options_test.sh looks).
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string_view>

namespace luatrace {

// What a value names, for completion.
enum class Complete { kNothing, kFile, kDirectory, kProcess };

struct OptionSpec {
  const char* group;            // Heading; options of one group stand together.
  const char* name;             // Long name without dashes.
  char letter;                  // Short name, 0: none.
  const char* value;            // Name of its value, null: it takes none.
  bool optional;                // The value may be missing; then it is given after '=' only.
  bool many;                    // May be given more than once.
  const char* help;             // One line, in lower case.
  const char* more;             // Further sentences for the man page, null: none.
  const char* words = nullptr;  // Values to choose from, blank between them; null: free.
  Complete complete = Complete::kNothing;
  bool other_words = false;  // `words` are only some of the values.
  bool list = false;         // The value is several of them, commas between.
};

struct StatusSpec {
  const char* number;
  const char* meaning;
};

// What the words are that are no options.
enum class Operands { kFiles, kCommand };

struct Program {
  const char* name;
  const char* purpose;                 // Behind its name, in lower case.
  std::span<const char* const> uses;   // Behind its name: "FILE... [options]".
  const char* what;                    // A paragraph, its lines at most 100 characters long.
  std::span<const char* const> notes;  // More of them.
  std::span<const OptionSpec> options;
  std::span<const StatusSpec> statuses;
  const char* see_also;  // The man page's name, then documents.
  Operands operands;
};

// The programs' tables (analyzer/options/option_table.cc, recorder/option_table.cc).
const Program& analyze_program();
const Program& record_program();

// Of the terminal that `fd` is (1: standard output): what COLUMNS says, else what the terminal
// does; 0: it is none, or does not say.
size_t terminal_columns(int fd = 1);

// Made from the table. columns: help is broken into lines of at most so many (and of at most 100);
// 0: one line for each option. `version` is printed into the man page's footer.
void write_help(std::ostream& out, const Program& program, size_t columns);
void write_man(std::ostream& out, const Program& program, std::string_view version);
void write_bash_completion(std::ostream& out, const Program& program);
void write_zsh_completion(std::ostream& out, const Program& program);

}  // namespace luatrace
