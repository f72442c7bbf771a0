// SPDX-License-Identifier: MIT
// The one table of the command line of luatrace-analyze. The parser, --help, the man page and the
// completions of bash and zsh are all made from it, so none of them can know an option that the
// others do not (tests/views/options_test.sh looks).
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace luatrace {

// The files a value may name, for completion.
enum class Complete { kNothing, kFile, kDirectory };

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
};

std::span<const OptionSpec> option_table();

// Made from the table. `version` is printed into the man page's footer.
void write_help(std::ostream& out);
void write_man(std::ostream& out, std::string_view version);
void write_bash_completion(std::ostream& out);
void write_zsh_completion(std::ostream& out);

}  // namespace luatrace
