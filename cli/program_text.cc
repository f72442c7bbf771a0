// SPDX-License-Identifier: MIT
// A program's table as text for people (--help, troff) and for shells (bash, zsh).
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

// Text that troff does not take for commands.
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

// For the inside of '...' in a shell, where [ ] : would mean something to zsh's _arguments.
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
  if (o.words) return out + '(' + o.words + ')';
  if (o.complete == Complete::kFile) return out + "_files";
  if (o.complete == Complete::kDirectory) return out + "_directories";
  if (o.complete == Complete::kProcess) return out + "_pids";
  return out;
}

// What bash completes a value with; "": nothing.
std::string bash_value(const OptionSpec& o) {
  if (o.words) return std::string("-W '") + o.words + '\'';
  if (o.complete == Complete::kFile) return "-f";
  if (o.complete == Complete::kDirectory) return "-d";
  if (o.complete == Complete::kProcess) return "-W \"$(cd /proc && echo [0-9]*)\"";
  return "";
}

// "luatrace-record" -> "_luatrace_record"
std::string function_name(const Program& program) {
  std::string out = std::string("_") + program.name;
  for (char& c : out)
    if (c == '-') c = '_';
  return out;
}

void man_option(std::ostream& out, const OptionSpec& o) {
  out << ".TP\n";
  if (o.letter) out << "\\fB\\-" << o.letter << "\\fR, ";
  out << "\\fB\\-\\-" << troff(o.name) << "\\fR";
  if (o.value)
    out << (o.optional ? "[=" : " ") << "\\fI" << troff(o.value) << "\\fR"
        << (o.optional ? "]" : "");
  out << '\n' << troff(o.help) << ".\n";
  if (o.words) out << "Values: " << troff(o.words) << ".\n";
  if (o.many) out << "May be given more than once.\n";
  if (o.more) out << troff(o.more) << '\n';
}

// Where the options end and the command begins, in `at`; what is behind is the command's.
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
         "    COMPREPLY=($(compgen -c -- \"$cur\")); return\n"
         "  elif ((at < COMP_CWORD)); then\n"
         "    COMPREPLY=($(compgen -f -- \"$cur\")); return\n  fi\n";
}

void bash_values(std::ostream& out, const Program& program) {
  out << "  case $name in\n";
  for (const OptionSpec& o : program.options) {
    if (!o.value) continue;
    const std::string value = bash_value(o);
    out << "    --" << o.name << (o.letter ? std::string("|-") + o.letter : "") << ") "
        << (o.optional ? "[[ -n $value ]] || { " : "")
        << (value.empty() ? "" : "COMPREPLY=($(compgen " + value + " -- \"$cur\")); ") << "return"
        << (o.optional ? "; };;\n" : ";;\n");
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

void write_help(std::ostream& out, const Program& program) {
  const char* before = "Usage: ";
  for (const char* use : program.uses) {
    out << before << program.name << ' ' << use << '\n';
    before = "       ";
  }
  out << '\n' << program.what;
  const char* group = "";
  for (const OptionSpec& o : program.options) {
    if (group != o.group) out << '\n' << (group = o.group) << ":\n";
    std::string left = (o.letter ? "  " : "      ") + both_forms(o);
    out << std::left << std::setw(28) << left
        << (left.size() >= 28 ? "\n" + std::string(28, ' ') : "") << o.help << '\n';
  }
  for (const char* note : program.notes) out << '\n' << note;
  out << "\nExit status:\n";
  for (const StatusSpec& s : program.statuses)
    out << "  " << std::left << std::setw(7) << s.number << ' ' << s.meaning << '\n';
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
  out << ".SH \"EXIT STATUS\"\n";
  for (const StatusSpec& s : program.statuses)
    out << ".TP\n.B " << troff(s.number) << '\n' << troff(s.meaning) << ".\n";
  out << ".SH \"SEE ALSO\"\n" << troff(program.see_also) << ".\n";
}

void write_bash_completion(std::ostream& out, const Program& program) {
  const std::string function = function_name(program);
  out << "# SPDX-License-Identifier: MIT\n# bash completion for " << program.name
      << "; generated.\n"
      << function << "() {\n"
      << "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} name value\n";
  if (program.operands == Operands::kCommand) bash_command(out, program);
  out << "  if [[ $cur == = ]]; then cur=; name=$prev\n"
         "  elif [[ $prev == = ]]; then name=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  elif [[ $cur == --*=* ]]; then name=${cur%%=*}; cur=${cur#*=}\n"
         "  else name=$prev; value=1; fi\n";
  bash_values(out, program);
  out << "  if [[ $cur == -* ]]; then\n    COMPREPLY=($(compgen -W '";
  const char* blank = "";
  for (const OptionSpec& o : program.options) {
    out << blank << "--" << o.name;
    if (o.letter) out << " -" << o.letter;
    blank = " ";
  }
  out << "' -- \"$cur\"))\n  else\n    COMPREPLY=($(compgen -f -- \"$cur\"))\n  fi\n}\n"
      << "complete -o filenames -F " << function << ' ' << program.name << '\n';
}

void write_zsh_completion(std::ostream& out, const Program& program) {
  const bool command = program.operands == Operands::kCommand;
  out << "#compdef " << program.name << "\n# SPDX-License-Identifier: MIT\n# zsh completion for "
      << program.name << "; generated.\n_arguments -S " << (command ? "-A '-*' " : "") << "\\\n";
  for (const OptionSpec& o : program.options) zsh_option(out, o);
  if (command)
    out << "  '(-)1:command:_command_names -e' \\\n  '*::arguments:_normal'\n";
  else
    out << "  '*:trace:_files'\n";
}

}  // namespace luatrace
