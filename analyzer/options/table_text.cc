// SPDX-License-Identifier: MIT
// The table of options as text for people (--help, troff) and for shells (bash, zsh).
#include <iomanip>
#include <ostream>
#include <sstream>

#include "analyzer/options/table.h"

namespace luatrace {
namespace {

constexpr const char* kWhat =
    "Reads traces of luatrace-record (or their text form, or saved profiles; - is standard input)\n"
    "and says which functions ran, called by whom, how often and how long. Several are merged.\n";
constexpr const char* kPattern =
    "FN is a name (work), a place (co.lua:3), a glob for either (app/*, *.lua:1?), or a regular\n"
    "expression between slashes (/^get|^set/). TIME is a number with ns, us, ms, s or m.\n";

struct Status {
  const char* number;
  const char* meaning;
};
constexpr Status kStatuses[] = {{"0", "good"},
                                {"1", "wrong usage"},
                                {"2", "a file cannot be read or written"},
                                {"3", "damage or loss, with --strict"},
                                {"4", "a condition of --fail-if is true"}};

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
  return out;
}

}  // namespace

void write_help(std::ostream& out) {
  out << "Usage: luatrace-analyze FILE... [options]\n\n" << kWhat << '\n' << kPattern;
  const char* group = "";
  for (const OptionSpec& o : option_table()) {
    if (group != o.group) out << '\n' << (group = o.group) << ":\n";
    std::string left = (o.letter ? "  " : "      ") + both_forms(o);
    out << std::left << std::setw(28) << left
        << (left.size() >= 28 ? "\n" + std::string(28, ' ') : "") << o.help << '\n';
  }
  out << "\nExit status:";
  for (const Status& s : kStatuses)
    out << (s.number[0] == '0' ? " " : ", ") << s.number << ' ' << s.meaning;
  out << ".\n";
}

void write_man(std::ostream& out, std::string_view version) {
  out << ".\\\" SPDX-License-Identifier: MIT\n"
      << ".TH LUATRACE\\-ANALYZE 1 \"\" \"luatrace " << version << "\"\n"
      << ".SH NAME\nluatrace\\-analyze \\- what a traced LuaJIT program spent its time on\n"
      << ".SH SYNOPSIS\n.B luatrace\\-analyze\n.I FILE\\fR... [\\fIoptions\\fR]\n"
      << ".SH DESCRIPTION\n"
      << troff(joined(kWhat)) << "\n.PP\n"
      << troff(joined(kPattern)) << '\n';
  const char* group = "";
  for (const OptionSpec& o : option_table()) {
    if (group != o.group) out << ".SH \"" << troff(group = o.group) << "\"\n";
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
  out << ".SH \"EXIT STATUS\"\n";
  for (const Status& s : kStatuses)
    out << ".TP\n.B " << s.number << '\n' << troff(s.meaning) << ".\n";
  out << ".SH \"SEE ALSO\"\n.BR luatrace\\-record (1);\n"
      << "analyzing.md, cookbook.md and semantics.md in the documentation.\n";
}

void write_bash_completion(std::ostream& out) {
  out << "# SPDX-License-Identifier: MIT\n# bash completion for luatrace-analyze; generated.\n"
         "_luatrace_analyze() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} name value\n"
         "  if [[ $cur == = ]]; then cur=; name=$prev\n"
         "  elif [[ $prev == = ]]; then name=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  elif [[ $cur == --*=* ]]; then name=${cur%%=*}; cur=${cur#*=}\n"
         "  else name=$prev; value=1; fi\n"
         "  case $name in\n";
  for (const OptionSpec& o : option_table()) {
    if (!o.value) continue;
    std::string names = std::string("--") + o.name + (o.letter ? std::string("|-") + o.letter : "");
    out << "    " << names << ") " << (o.optional ? "[[ -n $value ]] || { " : "");
    if (o.words)
      out << "COMPREPLY=($(compgen -W '" << o.words << "' -- \"$cur\")); return";
    else if (o.complete == Complete::kFile)
      out << "COMPREPLY=($(compgen -f -- \"$cur\")); return";
    else if (o.complete == Complete::kDirectory)
      out << "COMPREPLY=($(compgen -d -- \"$cur\")); return";
    else
      out << "return";
    out << (o.optional ? "; };;\n" : ";;\n");
  }
  out << "  esac\n  if [[ $cur == -* ]]; then\n    COMPREPLY=($(compgen -W '";
  const char* blank = "";
  for (const OptionSpec& o : option_table()) {
    out << blank << "--" << o.name;
    if (o.letter) out << " -" << o.letter;
    blank = " ";
  }
  out << "' -- \"$cur\"))\n  else\n    COMPREPLY=($(compgen -f -- \"$cur\"))\n  fi\n}\n"
         "complete -o filenames -F _luatrace_analyze luatrace-analyze\n";
}

void write_zsh_completion(std::ostream& out) {
  out << "#compdef luatrace-analyze\n# SPDX-License-Identifier: MIT\n"
         "# zsh completion for luatrace-analyze; generated.\n_arguments -S \\\n";
  for (const OptionSpec& o : option_table()) {
    std::string help = "[" + zsh_text(o.help) + "]";
    std::string star = o.many ? "*" : "";
    std::string name = std::string("--") + o.name;
    std::string long_end = !o.value ? "" : o.optional ? "=-" : "=";
    std::string value = !o.value ? "" : (o.optional ? ":" : "") + zsh_value(o);
    out << "  '" << star << name << long_end << help << value << "' \\\n";
    if (o.letter)
      out << "  '" << star << '-' << o.letter << (o.value ? "+" : "") << help << value << "' \\\n";
  }
  out << "  '*:trace:_files'\n";
}

}  // namespace luatrace
