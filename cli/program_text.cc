// SPDX-License-Identifier: MIT
// Prints a program's table for people (--help, troff) and for shells (bash, zsh).
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "cli/program.h"

namespace luatrace {
namespace {

// "--hide FN", "--flame[=FILE]"
std::string long_form(const OptionSpec& o) {
  std::string text = std::string("--") + o.name;
  if (!o.value) return text;
  return text + (o.optional ? std::string("[=") + o.value + ']' : std::string(" ") + o.value);
}

std::string both_forms(const OptionSpec& o) {
  return (o.letter ? std::string("-") + o.letter + ", " : std::string()) + long_form(o);
}

// Escapes what troff would take for a command.
std::string troff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '-')
      out += "\\-";
    else if (c == '\\')
      out += "\\e";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string joined(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c == '\n') c = ' ';
  return out;
}

// Escapes text for '...' in a shell, where zsh's _arguments treats [ ] and : specially.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

std::string zsh_value(const OptionSpec& o) {
  std::string out = std::string(":") + zsh_text(o.value) + ':';
  if (o.choices && o.list) return out + "_values -s , " + o.value + ' ' + o.choices;
  if (o.choices) return out + '(' + o.choices + ')';
  if (o.complete == Complete::kFile) return out + "_files";
  if (o.complete == Complete::kDirectory) return out + "_directories";
  if (o.complete == Complete::kProcess) return out + "_pids";
  return out;
}

// The command by which bash completes $cur. readline completes file names best, because it knows
// about blanks and quotes, but it is available only in an interactive shell.
constexpr const char* kBashFiles =
    "compopt -o default 2>/dev/null || mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
constexpr const char* kBashDirectories =
    "compopt -o dirnames 2>/dev/null || mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";

std::string bash_words(std::string_view words) {
  return "mapfile -t COMPREPLY < <(compgen -W " + std::string(words) + " -- \"$cur\")";
}

// Empty if there is nothing to complete.
std::string bash_value(const OptionSpec& o) {
  if (o.choices && o.list)
    return "mapfile -t COMPREPLY < <(p=${cur%\"${cur##*,}\"}; compgen -P \"$p\" -W '" +
           std::string(o.choices) + "' -- \"${cur##*,}\"); compopt -o nospace 2>/dev/null";
  if (o.choices) return bash_words(std::string("'") + o.choices + '\'');
  if (o.complete == Complete::kFile) return kBashFiles;
  if (o.complete == Complete::kDirectory) return kBashDirectories;
  if (o.complete == Complete::kProcess) return bash_words("\"$(cd /proc && echo [0-9]*)\"");
  return "";
}

// Prints `text`, starting at column `at`, in lines of up to `width` characters (a longer word gets
// a line of its own). Later lines are indented by `indent`. Width 0: no wrapping.
void wrap(std::ostream& out, std::string_view text, size_t at, size_t indent, size_t width) {
  if (width == 0) return void(out << text << (text.ends_with('\n') ? "" : "\n"));
  std::istringstream words{std::string(text)};
  std::string word;
  for (bool first = true; words >> word; first = false) {
    if (!first && at + 1 + word.size() > width) {
      out << '\n' << std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      out << ' ';
      at++;
    }
    out << word;
    at += word.size();
  }
  out << '\n';
}

void help_option(std::ostream& out, const OptionSpec& o, size_t width) {
  const size_t column = width && width < 60 ? 10 : 28;
  const std::string left = (o.letter ? "  " : "      ") + both_forms(o);
  out << std::left << std::setw(static_cast<int>(column)) << left;
  if (left.size() >= column) out << '\n' << std::string(column, ' ');
  wrap(out, o.help, column, column, width);
}

// "luatrace-record" -> "_luatrace_record"
std::string function_name(const Program& program) {
  std::string out = std::string("_") + program.name;
  for (char& c : out)
    if (c == '-') c = '_';
  return out;
}

// With a full stop, unless it ends a sentence already.
std::string sentence(const std::string& text) {
  return text.ends_with('?') || text.ends_with('.') ? text : text + '.';
}

void man_option(std::ostream& out, const OptionSpec& o) {
  out << ".TP\n";
  if (o.letter) out << "\\fB\\-" << o.letter << "\\fR, ";
  out << "\\fB\\-\\-" << troff(o.name) << "\\fR";
  if (o.value)
    out << (o.optional ? "[=" : " ") << "\\fI" << troff(o.value) << "\\fR"
        << (o.optional ? "]" : "");
  out << '\n' << troff(sentence(o.help)) << '\n';
  if (o.choices) out << "Values: " << troff(o.choices) << ".\n";
  if (o.many) out << "May be given more than once.\n";
  if (o.more) out << troff(o.more) << '\n';
}

void man_section(std::ostream& out, const char* title, const std::string& before,
                 std::span<const Meaning> list) {
  out << ".SH \"" << title << "\"\n";
  for (const Meaning& m : list)
    out << ".TP\n.B " << troff(before + m.what) << '\n' << troff(sentence(m.meaning)) << '\n';
}

// For Operands::kProgram: completes the program's name, then by that program's own completion.
void bash_program(std::ostream& out, const std::string& options) {
  out << "  if ((COMP_CWORD == 1)) && [[ $cur == -* ]]; then\n    "
      << bash_words('\'' + options + '\'') << "; return\n  elif ((COMP_CWORD == 1)); then\n    "
      << bash_words(std::string("'") + kPrograms + '\'') << "; return\n  fi\n"
      << "  local program=luatrace-${COMP_WORDS[1]} function=_luatrace_${COMP_WORDS[1]}\n"
         "  declare -F $function >/dev/null ||\n"
         "    . \"${BASH_SOURCE%/*}/$program\" 2>/dev/null || return\n"
         "  COMP_WORDS=(\"$program\" \"${COMP_WORDS[@]:2}\")\n  ((COMP_CWORD--))\n  $function\n";
}

void zsh_program(std::ostream& out) {
  out << "  '1:program:(" << kPrograms << ")' '*::arguments:->arguments' && return\n"
      << "if [[ $state == arguments ]]; then\n"
         "  words[1]=luatrace-$words[1]\n  _call_function ret _$words[1]\n  return ret\nfi\n";
}

// Sets `at` to the index of the command; what follows it is completed as the command's arguments.
void bash_command(std::ostream& out, const Program& program) {
  out << "  local at\n  for ((at = 1; at < COMP_CWORD; at++)); do\n"
         "    case ${COMP_WORDS[at]} in\n      ";
  const char* bar = "";
  for (const OptionSpec& o : program.options) {
    if (!o.value || o.optional) continue;
    out << bar << "--" << o.name;
    if (o.letter) out << "|-" << o.letter;
    bar = "|";
  }
  out << ") ((at++)); [[ ${COMP_WORDS[at]} != = ]] || ((at++)) ;;\n"
         "      --) ((at++)); break ;;\n      -*|=) ;;\n      *) break ;;\n    esac\n  done\n"
         "  if ((at == COMP_CWORD)) && [[ $cur != -* && $prev != = ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -c -- \"$cur\"); return\n"
         "  elif ((at < COMP_CWORD)); then\n"
         "    if declare -F _command_offset >/dev/null; then _command_offset $at; return; fi\n    "
      << kBashFiles << "; return\n  fi\n";
}

void bash_values(std::ostream& out, const Program& program) {
  out << "  case $name in\n";
  for (const OptionSpec& o : program.options) {
    if (!o.value) continue;
    const std::string value = bash_value(o);
    out << "    --" << o.name << (o.letter ? std::string("|-") + o.letter : "") << ") "
        << (o.optional ? "[[ -n $value ]] || { " : "") << value << (value.empty() ? "" : "; ")
        << "return" << (o.optional ? "; };;\n" : ";;\n");
  }
  out << "  esac\n";
}

void zsh_option(std::ostream& out, const OptionSpec& o) {
  const std::string help = "[" + zsh_text(o.help) + "]";
  const std::string star = o.many ? "*" : "";
  const char* end = !o.value ? "" : o.optional ? "=-" : "=";
  const std::string value = !o.value ? "" : (o.optional ? ":" : "") + zsh_value(o);
  out << "  '" << star << "--" << o.name << end << help << value << "' \\\n";
  if (o.letter)
    out << "  '" << star << '-' << o.letter << (o.value ? "+" : "") << help << value << "' \\\n";
}

}  // namespace

size_t terminal_columns(int fd) {
  if (!isatty(fd)) return 0;
  if (const char* given = getenv("COLUMNS")) {  // Shells do not export it: the user did.
    size_t columns = 0;
    const char* end = given + strlen(given);
    auto [rest, error] = std::from_chars(given, end, columns);
    if (error == std::errc() && rest == end && columns) return columns;
  }
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void write_help(std::ostream& out, const Program& program, size_t columns) {
  const size_t width = std::min<size_t>(columns, 100);
  std::string before = "Usage: ";
  for (const char* use : program.uses) {
    (before += program.name) += ' ';
    out << before;
    wrap(out, use, before.size(), 11, width);
    before = "       ";
  }
  out << '\n';
  wrap(out, program.what, 0, 0, width);
  const char* group = "";
  for (const OptionSpec& o : program.options) {
    if (group != o.group) out << '\n' << (group = o.group) << ":\n";
    help_option(out, o, width);
  }
  for (const char* note : program.notes) out << '\n', wrap(out, note, 0, 0, width);
  out << "\nExamples:\n";
  for (const Meaning& e : program.examples) {
    out << "  ";
    wrap(out, program.name + std::string(" ") + e.what, 2, 6, width);
    out << "      ";
    wrap(out, e.meaning, 6, 6, width);
  }
  out << "\nExit status:\n";
  for (const Meaning& s : program.statuses) {
    out << "  " << std::left << std::setw(7) << s.what << ' ';
    wrap(out, s.meaning, 10, 10, width);
  }
}

void write_man(std::ostream& out, const Program& program, std::string_view version) {
  std::string title = program.name;
  for (char& c : title) c = static_cast<char>(toupper(static_cast<unsigned char>(c)));
  out << ".\\\" SPDX-License-Identifier: MIT\n"
      << ".TH " << troff(title) << " 1 \"\" \"luatrace " << version << "\"\n"
      << ".SH NAME\n"
      << troff(program.name) << " \\- " << troff(program.purpose) << "\n.SH SYNOPSIS\n";
  for (const char* use : program.uses)
    out << ".B " << troff(program.name) << "\n" << troff(use) << "\n.br\n";
  out << ".SH DESCRIPTION\n" << troff(joined(program.what)) << '\n';
  for (const char* note : program.notes) out << ".PP\n" << troff(joined(note)) << '\n';
  const char* group = "";
  for (const OptionSpec& o : program.options) {
    if (group != o.group) out << ".SH \"" << troff(group = o.group) << "\"\n";
    man_option(out, o);
  }
  man_section(out, "EXIT STATUS", "", program.statuses);
  man_section(out, "EXAMPLES", program.name + std::string(" "), program.examples);
  man_section(out, "ENVIRONMENT", "", program.environment);
  man_section(out, "FILES", "", program.files);
  out << ".SH \"SEE ALSO\"\n" << troff(program.see_also) << ".\n";
}

void write_bash_completion(std::ostream& out, const Program& program) {
  const std::string function = function_name(program);
  std::string names;
  for (const OptionSpec& o : program.options) {
    names += std::string(names.empty() ? "" : " ") + "--" + o.name;
    if (o.letter) (names += " -") += o.letter;
  }
  out << "# SPDX-License-Identifier: MIT\n# bash completion for " << program.name
      << "; generated.\n"
      << function << "() {\n"
      << "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} name value\n";
  if (program.operands == Operands::kProgram) {
    bash_program(out, names);
    out << "}\ncomplete -F " << function << ' ' << program.name << '\n';
    return;
  }
  if (program.operands == Operands::kCommand)
    bash_command(out, program);
  else if (program.operands == Operands::kFiles)
    out << "  local word\n  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
           "    [[ $word != -- ]] || { "
        << kBashFiles << "; return; }\n  done\n";
  out << "  if [[ $cur == = ]]; then cur=; name=$prev\n"
         "  elif [[ $prev == = ]]; then name=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  elif [[ $cur == --*=* ]]; then name=${cur%%=*}; cur=${cur#*=}\n"
         "  else name=$prev; value=1; fi\n";
  bash_values(out, program);
  out << "  if [[ $cur == -* ]]; then\n    " << bash_words('\'' + names + '\'') << "\n  else\n    "
      << (program.operands == Operands::kNone ? ":" : kBashFiles) << "\n  fi\n}\ncomplete -F "
      << function << ' ' << program.name << '\n';
}

void write_zsh_completion(std::ostream& out, const Program& program) {
  const bool command = program.operands >= Operands::kCommand;
  const bool dispatches = program.operands == Operands::kProgram;
  out << "#compdef " << program.name << "\n# SPDX-License-Identifier: MIT\n# zsh completion for "
      << program.name << "; generated.\n"
      << (dispatches ? "local curcontext=\"$curcontext\" state line ret=1\ntypeset -A opt_args\n"
                     : "")
      << "_arguments -S " << (dispatches ? "-C " : "") << (command ? "-A '-*' " : "") << "\\\n";
  for (const OptionSpec& o : program.options) zsh_option(out, o);
  if (dispatches)
    zsh_program(out);
  else if (command)
    out << "  '(-)1:command:_command_names -e' \\\n  '*::arguments:_normal'\n";
  else if (program.operands == Operands::kFiles)
    out << "  '*:trace:_files'\n";
  else
    out << "  && return\n";
}

}  // namespace luatrace
