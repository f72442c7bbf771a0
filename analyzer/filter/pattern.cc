// SPDX-License-Identifier: MIT
#include "analyzer/filter/pattern.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kMaxText = 1024;

// Whether the class such as [a-z] at pattern[at] contains c; moves `at` past the class. A '['
// without a ']' is literal.
bool class_matches(std::string_view pattern, size_t& at, char c) {
  size_t end = pattern.find(']', at + 2);
  if (end == pattern.npos) return pattern[at++] == c;
  size_t i = at + 1;
  bool negate = pattern[i] == '!' || pattern[i] == '^', found = false;
  for (i += negate; i < end; i++) {
    bool range = i + 2 < end && pattern[i + 1] == '-';
    char low = pattern[i], high = range ? pattern[i + 2] : low;
    found |= low <= c && c <= high;
    if (range) i += 2;
  }
  at = end + 1;
  return found != negate;
}

// Whether the one-character pattern element at `at` matches c; moves `at` past the element.
bool one_matches(std::string_view pattern, size_t& at, char c) {
  if (pattern[at] == '?') return at++, true;
  if (pattern[at] == '[') return class_matches(pattern, at, c);
  if (pattern[at] == '\\' && at + 1 < pattern.size()) at++;
  return pattern[at++] == c;
}

bool is_regex(const std::string& text) {
  return text.size() > 2 && text.starts_with('/') && text.ends_with('/');
}

// Names that reports show must match themselves even where they look like a glob: the leading [ of
// a location or pseudo-function ([string "return 1"]:1, [builtin], [GC]) is literal.
std::string with_literal_bracket(std::string text) {
  for (const char* begin :
       {"[string \"", "[string]", "[C]", "[builtin]", "[coroutines]", "[suspended]", "[pruned]",
        "[unknown callers]", "[GC]", "[JIT]", "[luatrace]", "[section] "})
    if (text.starts_with(begin)) {
      text.insert(0, "\\");
      break;
    }
  return text;
}

bool is_glob(const std::string& text) {
  return text.find_first_of("*?[\\") != text.npos;
}

// Calls `f` with the location minus its outer folders, the shortest first, until it returns true:
// app/a/b.lua -> b.lua, a/b.lua. Up to kMaxFolders of them are tried.
template <class F>
bool inner_parts(std::string_view place, F f) {
  constexpr size_t kMaxFolders = 32;
  size_t slash = place.npos;
  for (size_t n = 0; n < kMaxFolders && slash != 0; n++) {
    slash = place.rfind('/', slash == place.npos ? slash : slash - 1);
    if (slash == place.npos) return false;
    if (f(place.substr(slash + 1))) return true;
  }
  return false;
}

}  // namespace

// Backtracks to the last * only, so the time is O(|pattern| * |text|).
bool glob_matches(std::string_view pattern, std::string_view text,
                  std::vector<std::string_view>* stars) {
  size_t p = 0, t = 0, star = pattern.npos, again = 0, begin = 0;
  auto keep = [&] {  // Stores what the last * matches, which is now final.
    if (stars && star != pattern.npos) stars->push_back(text.substr(begin, again - begin));
  };
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      keep();
      star = p++;
      begin = again = t;
      continue;
    }
    size_t next = p;
    if (p < pattern.size() && one_matches(pattern, next, text[t])) {
      p = next;
      t++;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++again;
    } else {
      return false;
    }
  }
  keep();
  for (; p < pattern.size() && pattern[p] == '*'; p++)
    if (stars) stars->push_back("");
  return p == pattern.size();
}

Regex::Regex(const std::string& pattern) {
  auto compiled = std::make_unique<regex_t>();
  if (int error = regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED)) {
    char text[200];
    regerror(error, compiled.get(), text, sizeof text);
    throw UsageError("invalid regular expression '" + pattern + "': " + text);
  }
  regex_.reset(compiled.release(), [](regex_t* r) {
    regfree(r);
    delete r;
  });
}

std::optional<std::string> Regex::find(std::string_view text) const {
  regmatch_t match[2];
  std::string subject(text.substr(0, kMaxText));
  if (regexec(regex_.get(), subject.c_str(), 2, match, 0) != 0) return std::nullopt;
  const regmatch_t& m = regex_->re_nsub > 0 ? match[1] : match[0];
  if (m.rm_so < 0) return std::string();
  return subject.substr(static_cast<size_t>(m.rm_so), static_cast<size_t>(m.rm_eo - m.rm_so));
}

FunctionPattern::FunctionPattern(const std::string& text) : text_(text) {
  if (text.empty()) throw UsageError("the name or pattern of a function must not be empty");
  if (is_regex(text))
    regex_.emplace(text.substr(1, text.size() - 2));
  else
    wanted_ = with_literal_bracket(text);
  glob_ = is_glob(wanted_);
}

bool FunctionPattern::matches_text(std::string_view text) const {
  text = text.substr(0, kMaxText);
  return glob_ ? glob_matches(wanted_, text) : text == wanted_;
}

bool FunctionPattern::matches_shown(const std::string& name, const std::string& place) const {
  if (!regex_) return matches_text(name);
  return regex_->find(place.empty() ? name : name + " (" + place + ')').has_value();
}

bool FunctionPattern::matches_place(const std::string& place) const {
  if (place.empty()) return false;
  return matches_text(place) ||
         inner_parts(place, [&](std::string_view part) { return matches_text(part); });
}

// A name that is a hint is shown as `name?` and matches so: `foreach?` matches foreach?, but not
// foreachi?.
bool FunctionPattern::matches_name(const FunctionName& f, const std::string& name) const {
  const bool marked = f.hint && glob_ && wanted_.ends_with('?');
  return matches_text(marked ? name + '?' : name);
}

// Any main chunk is a `main chunk`, too.
bool FunctionPattern::matches(const FunctionName& f) const {
  std::string name = display_name(f), place = display_place(f);
  if (is_main_chunk(f) && matches_shown(kMainChunk, place)) return true;
  if (regex_) return matches_shown(name, place);
  if (name == text_) return true;  // Also where it is a glob.
  if (f.kind == FunctionKind::kC && matches_place(file_name(f))) return true;  // With any offset.
  if (matches_name(f, name)) return true;
  if (!f.name.empty() && f.kind == FunctionKind::kLua && matches_name(f, f.name)) return true;
  return matches_place(place);
}

GroupPattern::GroupPattern(const std::string& text) : text_(text) {
  if (is_regex(text))
    regex_.emplace(text.substr(1, text.size() - 2));
  else if (text.find('(') != text.npos)
    regex_.emplace(text);
}

std::optional<std::string> GroupPattern::find(std::string_view file) const {
  if (regex_) return regex_->find(file);
  std::optional<std::string> found;
  auto matches = [&](std::string_view part) {
    part = part.substr(0, kMaxText);
    std::vector<std::string_view> stars;
    const bool is_match = is_glob(text_) ? glob_matches(text_, part, &stars) : part == text_;
    if (!is_match) return false;
    const bool skip = text_.starts_with('*') && stars.size() > 1;
    found = stars.empty() ? part : stars[skip];
    return true;
  };
  if (!matches(file)) inner_parts(file, matches);
  return found;
}

}  // namespace luatrace::analyze
