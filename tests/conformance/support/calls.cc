// SPDX-License-Identifier: MIT
// See calls.h.
#include "calls.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

namespace luatrace::test {
namespace {

constexpr size_t kMaxProblems = 20;

struct Line {
  uint32_t stream = 0, co = 0, depth = 0;
  std::string_view event, what;
};

std::string_view NextWord(std::string_view* rest) {
  size_t end = std::min(rest->find(' '), rest->size());
  std::string_view word = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return word;
}

bool ParseTagged(std::string_view word, char tag, uint32_t* value) {
  if (word.size() < 2 || word[0] != tag) return false;
  auto [end, error] = std::from_chars(word.data() + 1, word.data() + word.size(), *value);
  return error == std::errc() && end == word.data() + word.size();
}

bool ParseLine(std::string_view text, Line* line) {
  if (!ParseTagged(NextWord(&text), 'S', &line->stream)) return false;
  if (!ParseTagged(NextWord(&text), 'C', &line->co)) return false;
  if (!ParseTagged(NextWord(&text), 'D', &line->depth)) return false;
  line->event = NextWord(&text);
  line->what = text;
  return !line->event.empty();
}

// Rebuilds one stack per coroutine and keeps the calls that count.
class Reducer {
 public:
  Reducer(const ReduceOptions& options, Reduced* result) : options_(options), result_(result) {}

  void Take(const Line& line, size_t number) {
    number_ = number;
    if (line.event == "entry") return Enter(line);
    if (line.event == "return") return Leave(line, Kind::kReturn);
    if (line.event == "tail") return Leave(line, Kind::kTail);
    if (line.event == "unwind") return Leave(line, Kind::kUnwind);
    if (line.event == "resume") return Resume(line);
    if (line.event == "suspend") return Suspend(line);
    if (line.event == "create") {
      Add(Kind::kCreate, 0, "co" + std::to_string(Coroutine(line.what)));
    } else if (line.event != "collect" && line.event != "abandon" && line.event != "start" &&
               line.event != "stop" && line.event != "open") {
      Add(Kind::kOther, 0, std::string(line.event) + " " + std::string(line.what));
    }
  }

  void Problem(const std::string& text) {
    if (result_->problems.size() < kMaxProblems)
      result_->problems.push_back("line " + std::to_string(number_) + ": " + text);
  }

 private:
  struct Open {
    std::string what;
    bool kept;
  };
  struct Stack {
    std::vector<Open> calls;
    uint32_t kept = 0;
  };

  uint32_t Coroutine(std::string_view id) {
    std::string key(NextWord(&id));
    auto [it, fresh] = numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size() + 1));
    return it->second;
  }

  bool Keep(const std::string& what) const {
    if (!started_ || options_.ignore.count(what)) return false;
    // Finalizers of the standard files and of loaded modules, when the VM is closed.
    if (ended_ && what.starts_with("C:")) return false;
    return !(options_.ignore_coroutine_c && what.starts_with("C:coroutine.") &&
             what != "C:coroutine.yield");
  }

  void Add(Kind kind, uint32_t depth, std::string what) {
    if (started_) result_->calls.push_back({kind, co_, depth, std::move(what)});
  }

  Stack& Current(const Line& line) {
    co_ = Coroutine(std::to_string(line.co));
    return stacks_[co_];
  }

  void Enter(const Line& line) {
    Stack& stack = Current(line);
    std::string what(line.what);
    if (what == options_.main) started_ = true;
    if (line.depth != stack.calls.size() + 1)
      Problem("entry " + what + " at depth " + std::to_string(line.depth) + " while " +
              std::to_string(stack.calls.size()) + " calls are open");
    bool keep = Keep(what);
    stack.kept += keep;
    if (keep) Add(Kind::kEntry, stack.kept, what);
    stack.calls.push_back({std::move(what), keep});
  }

  void Leave(const Line& line, Kind kind) {
    Stack& stack = Current(line);
    if (stack.calls.empty() || stack.calls.back().what != line.what ||
        line.depth != stack.calls.size())
      Problem(std::string(line.event) + " " + std::string(line.what) + " at depth " +
              std::to_string(line.depth) + " does not end the call on top (" +
              (stack.calls.empty() ? "none" : stack.calls.back().what) + ", depth " +
              std::to_string(stack.calls.size()) + ")");
    if (!stack.calls.empty()) Pop(&stack, kind);
  }

  void Pop(Stack* stack, Kind kind) {
    Open top = std::move(stack->calls.back());
    stack->calls.pop_back();
    ended_ |= top.what == options_.main;
    if (top.kept) Add(kind, stack->kept--, std::move(top.what));
  }

  void Resume(const Line& line) {
    uint32_t next = Coroutine(line.what);
    Add(Kind::kResume, 0, "co" + std::to_string(next));
    resumers_.push_back(co_);
    co_ = next;
  }

  // A coroutine that dies from an error ends its calls, innermost first,
  // whether the dump has a line for each or leaves it to the status.
  void Suspend(const Line& line) {
    if (line.what == "error")
      for (Stack& stack = stacks_[co_]; !stack.calls.empty();) Pop(&stack, Kind::kUnwind);
    Add(Kind::kSuspend, 0, std::string(line.what));
    if (resumers_.empty()) return Problem("suspend without a resume");
    co_ = resumers_.back();
    resumers_.pop_back();
  }

  const ReduceOptions& options_;
  Reduced* result_;
  size_t number_ = 0;
  bool started_ = false;
  bool ended_ = false;
  uint32_t co_ = 1;
  std::vector<uint32_t> resumers_;
  std::unordered_map<std::string, uint32_t> numbers_{{"1", 1}};
  std::map<uint32_t, Stack> stacks_;
};

bool NameMatches(const std::string& expected, const std::string& actual) {
  if (expected.empty() || expected.back() != '*') return expected == actual;
  return actual.compare(0, expected.size() - 1, expected, 0, expected.size() - 1) == 0;
}

bool Matches(const Call& expected, const Call& actual) {
  return expected.kind == actual.kind && expected.depth == actual.depth &&
         (expected.depth == 0 || expected.co == actual.co) &&
         NameMatches(expected.what, actual.what);
}

void AppendRange(const char* mark, const std::vector<Call>& calls, size_t from, size_t to,
                 std::string* text) {
  for (size_t i = from; i < std::min(to, calls.size()); ++i)
    *text += std::string(mark) + std::to_string(i) + "  " + ToText(calls[i]) + "\n";
  if (to > calls.size()) *text += std::string(mark) + "(end of the sequence)\n";
}

}  // namespace

std::string ToText(const Call& call) {
  static constexpr const char* kNames[] = {"entry",  "return",  "tail",   "unwind",
                                           "resume", "suspend", "create", "other"};
  std::string text = kNames[static_cast<int>(call.kind)];
  text += " " + call.what;
  if (call.depth == 0) return text;
  return "C" + std::to_string(call.co) + " D" + std::to_string(call.depth) + " " +
         std::string(2 * std::min<uint32_t>(call.depth - 1, 20), ' ') + text;
}

Reduced Reduce(std::string_view text, const ReduceOptions& options) {
  Reduced result;
  Reducer reducer(options, &result);
  size_t number = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    Line line;
    ++number;
    if (ParseLine(text.substr(0, end), &line))
      reducer.Take(line, number);
    else
      reducer.Problem("not a line of --dump=calls: " + std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string FirstDifference(const std::vector<Call>& expected, const std::vector<Call>& actual,
                            size_t context) {
  size_t i = 0, common = std::min(expected.size(), actual.size());
  while (i < common && Matches(expected[i], actual[i])) ++i;
  if (i == expected.size() && i == actual.size()) return "";
  std::string text = "first difference at event " + std::to_string(i) + " (expected " +
                     std::to_string(expected.size()) + " events, got " +
                     std::to_string(actual.size()) + ")\n";
  AppendRange("   ", expected, i > context ? i - context : 0, i, &text);
  AppendRange("-  ", expected, i, i + context / 2, &text);
  AppendRange("+  ", actual, i, i + context / 2, &text);
  return text;
}

}  // namespace luatrace::test
