// SPDX-License-Identifier: MIT
#include "analyzer/report/conditions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "analyzer/filter/pattern.h"
#include "base/escape.h"
#include "cli/duration.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {

// Two conditions joined by `and` or `or`, or a comparison.
struct ConditionNode {
  struct Figure;
  struct Operator;
  enum Kind { kAnd, kOr, kCompare } kind = kCompare;
  std::unique_ptr<ConditionNode> left, right;

  bool change = false;
  const Figure* figure = nullptr;          // A figure of the whole report, or ...
  std::optional<Field> field;              // ... a field of the functions ...
  std::optional<FunctionPattern> pattern;  // ... that match this.
  const Operator* op = nullptr;
  double number = 0;
  bool percent = false;
};

struct ConditionNode::Operator {
  const char* text;
  bool (*holds)(double value, double number);
};

struct ConditionNode::Figure {
  std::string_view name;
  ComparedValue::Kind kind;
  uint64_t (*of)(const Report& report);
};

namespace {

using Kind = ComparedValue::Kind;
using Node = std::unique_ptr<ConditionNode>;
// Those of two characters before those that they begin with.
constexpr ConditionNode::Operator kOperators[] = {{">=", [](double a, double b) { return a >= b; }},
                                                  {"<=", [](double a, double b) { return a <= b; }},
                                                  {"==", [](double a, double b) { return a == b; }},
                                                  {"!=", [](double a, double b) { return a != b; }},
                                                  {">", [](double a, double b) { return a > b; }},
                                                  {"<", [](double a, double b) { return a < b; }}};
constexpr ConditionNode::Figure kFigures[] = {
    {"duration", Kind::kTime, [](const Report& r) { return r.duration_ns; }},
    {"traced", Kind::kTime, [](const Report& r) { return r.traced_ns; }},
    {"self", Kind::kTime, [](const Report& r) { return r.self_ns; }},
    {"idle", Kind::kTime, [](const Report& r) { return r.idle_ns; }},
    {"unknown", Kind::kTime, [](const Report& r) { return r.gap_ns; }},
    {"filtered", Kind::kTime, [](const Report& r) { return r.filtered_ns; }},
    {"events", Kind::kCount, [](const Report& r) { return r.trust.events; }},
    {"lost", Kind::kCount, [](const Report& r) { return r.trust.lost; }},
    {"anomalies", Kind::kCount, [](const Report& r) { return r.trust.anomalies(); }}};

// What a comparison is of without a percentage; it decides which units are allowed.
Kind kind_of(const ConditionNode& n) {
  if (!n.field) return n.figure->kind;
  if (n.field->is_share()) return Kind::kPercent;
  return n.field->is_time() ? Kind::kTime : Kind::kCount;
}

std::string name_of(const ConditionNode& n) {
  return n.field ? n.field->name : std::string(n.figure->name);
}

// Whether a percentage of the figure is meaningful without change().
bool has_whole(const ConditionNode& n) {
  if (!n.field) return n.figure->name != "events";
  const auto kind = n.field->kind;
  return kind == Field::kInclusive || kind == Field::kSelf || kind == Field::kWall ||
         n.field->is_share();
}

class Parser {
 public:
  Parser(const std::string& text, bool with_before) : text_(text), with_before_(with_before) {}
  Node run() {
    Node node = joined(ConditionNode::kOr);
    blanks();
    if (at_ != text_.size()) fail("'and', 'or' or the end was expected");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    const std::string rest = text_.substr(at_);
    throw UsageError("--fail-if '" + text_ + "': " + why + " at " +
                     (rest.empty() ? "its end" : '\'' + rest + '\''));
  }
  // Takes the characters up to the first of which `belongs` is not true.
  template <class F>
  std::string take_while(F belongs) {
    const size_t begin = at_;
    while (at_ < text_.size() && belongs(static_cast<unsigned char>(text_[at_]))) at_++;
    return text_.substr(begin, at_ - begin);
  }
  void blanks() {
    take_while([](int c) { return isspace(c); });
  }
  bool take(const std::string& word) {
    blanks();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    bool letters = isalpha(static_cast<unsigned char>(word[0]));
    size_t end = at_ + word.size();
    if (letters && end < text_.size() && isalnum(static_cast<unsigned char>(text_[end])))
      return false;
    at_ = end;
    return true;
  }
  void need(const std::string& word) {
    if (!take(word)) fail("'" + word + "' was expected");
  }
  std::string name();
  std::string function();
  Node joined(ConditionNode::Kind kind);
  Node term();
  void value(ConditionNode& node);
  void number(ConditionNode& node);
  std::string unit();
  void check_unit(const ConditionNode& node, const std::string& unit) const;

  const std::string& text_;
  const bool with_before_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::string Parser::name() {
  blanks();
  return take_while([](int c) { return isalnum(c) || c == '.' || c == '_'; });
}

// The function's pattern: quoted, or up to the bracket that closes FIELD's; brackets inside nest.
std::string Parser::function() {
  blanks();
  char quote = at_ < text_.size() ? text_[at_] : 0;
  if (quote == '\'' || quote == '"') {
    size_t end = text_.find(quote, at_ + 1);
    if (end == text_.npos) fail("the quote is not closed");
    std::string out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out;
  }
  size_t begin = at_;
  int open = 0;
  for (; at_ < text_.size(); at_++) {
    if (text_[at_] == '(') open++;
    if (text_[at_] == ')' && open-- == 0) break;
  }
  size_t end = at_;
  while (end > begin && text_[end - 1] == ' ') end--;
  return text_.substr(begin, end - begin);
}

// Conditions joined by `or`, or those joined by `and`, of which the former consist.
Node Parser::joined(ConditionNode::Kind kind) {
  const bool any = kind == ConditionNode::kOr;
  Node node = any ? joined(ConditionNode::kAnd) : term();
  while (take(any ? "or" : "and")) {
    Node left = std::exchange(node, std::make_unique<ConditionNode>());
    node->kind = kind;
    node->left = std::move(left);
    node->right = any ? joined(ConditionNode::kAnd) : term();
  }
  return node;
}

Node Parser::term() {
  if (take("(")) {
    if (++depth_ > 100) fail("brackets are nested too deeply");
    Node node = joined(ConditionNode::kOr);
    need(")");
    depth_--;
    return node;
  }
  auto node = std::make_unique<ConditionNode>();
  value(*node);
  for (const auto& op : kOperators)
    if (!node->op && take(op.text)) node->op = &op;
  if (!node->op) fail("a comparison was expected");
  number(*node);
  return node;
}

void Parser::value(ConditionNode& node) {
  size_t begin = at_;
  std::string word = name();
  if (word == "change" && !node.change) {
    if (!with_before_) fail("change() needs --diff OTHER");
    node.change = true;
    need("(");
    value(node);
    return need(")");
  }
  if (take("(")) {
    node.field = find_field(word);
    if (!node.field) fail("'" + word + "' is not a field of --report");
    node.pattern.emplace(function());
    return need(")");
  }
  for (const auto& figure : kFigures)
    if (word == figure.name) node.figure = &figure;
  if (node.figure) return;
  at_ = begin;
  fail("a figure was expected: FIELD(FUNCTION), duration, self, idle, lost ...");
}

void Parser::number(ConditionNode& node) {
  blanks();
  const bool minus = take("-");
  if (!minus) take("+");
  const char* begin = text_.data() + at_;
  auto [rest, error] =
      std::from_chars(begin, text_.data() + text_.size(), node.number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(node.number)) fail("a number was expected");
  const size_t unit_begin = at_ + static_cast<size_t>(rest - begin);
  at_ = unit_begin;
  const std::string word = unit();
  node.percent = word == "%";
  const size_t end = at_;
  at_ = unit_begin;
  check_unit(node, word);
  at_ = end;
  if (const double ns = unit_ns(word); ns > 0) node.number = std::floor(node.number * ns + 0.5);
  if (minus) node.number = -node.number;
}

// The unit after a number; "" if a keyword or nothing follows.
std::string Parser::unit() {
  const size_t begin = at_;
  if (take("%")) return "%";
  if (take("and") || take("or")) return at_ = begin, "";
  blanks();
  const std::string out = take_while([](int c) { return isalnum(c) || c >= 0x80; });
  if (out.empty()) at_ = begin;
  return out;
}

// Times must have a unit, so that nobody finds out a year later that "20" meant nanoseconds.
void Parser::check_unit(const ConditionNode& n, const std::string& unit) const {
  const std::string what = name_of(n);
  if (unit == "%") {
    if (!n.change && !has_whole(n)) fail("a percentage of " + what + " is meaningless");
    return;
  }
  const Kind kind = kind_of(n);
  if (kind == Kind::kTime && unit.empty() && n.number != 0)
    fail(what + " is a time, and the number has no unit: ns, us, ms, s, m, h (or %) was expected");
  if (kind == Kind::kTime && !unit.empty() && unit_ns(unit) == 0)
    fail("ns, us, ms, s, m, h or % was expected");
  if (kind == Kind::kCount && !unit.empty())
    fail(what + " is a count and has no unit; nothing more was expected");
  if (kind == Kind::kPercent && !unit.empty()) fail("share is a percentage; % was expected");
}

class Evaluator {
 public:
  Evaluator(const Report& report, const Report* before, std::vector<ComparedValue>& values)
      : report_(report), before_(before), values_(values) {}

  bool test(const ConditionNode& n) {
    if (n.kind == ConditionNode::kAnd) return test(*n.left) && test(*n.right);
    if (n.kind == ConditionNode::kOr) return test(*n.left) || test(*n.right);
    const size_t before = values_.size();
    const bool is_true = compare_any(n);
    if (values_.size() > before + 1) values_.resize(before + 1);
    return is_true;
  }

 private:
  bool compare_any(const ConditionNode& n) {
    if (n.field) return functions(n);
    const uint64_t was = before_ ? n.figure->of(*before_) : 0;
    const uint64_t whole =
        kind_of(n) == Kind::kCount ? report_.trust.events + report_.trust.lost : report_.traced_ns;
    return compare(n, static_cast<double>(n.figure->of(report_)), static_cast<double>(was),
                   static_cast<double>(whole));
  }
  bool functions(const ConditionNode& n);
  // `whole` is 100 %, except for change().
  bool compare(const ConditionNode& n, double value, double was, double whole);
  static const ReportFunction* same(const Report& report, const ReportFunction& f);

  const Report& report_;
  const Report* before_;
  std::vector<ComparedValue>& values_;
};

ComparedValue compared(const ConditionNode& n, double value) {
  std::string of = n.field ? n.field->name + '(' + n.pattern->text() + ')' : name_of(n);
  if (n.change) of = "change(" + of + ')';
  return {n.percent ? Kind::kPercent : kind_of(n), n.change, value, std::move(of)};
}

bool Evaluator::compare(const ConditionNode& n, double value, double was, double whole) {
  if (n.change) {
    value -= was;
    whole = was;
  }
  if (n.percent) {
    if (whole == 0)
      value = value == 0 ? 0 : std::copysign(INFINITY, value);
    else
      value = 100 * value / whole;
  }
  const bool is_true = n.op->holds(value, n.number);
  if (is_true) values_.push_back(compared(n, value));
  return is_true;
}

const ReportFunction* Evaluator::same(const Report& report, const ReportFunction& f) {
  const ReportFunctionId index = report.find(f);
  return index ? &report.functions[index] : nullptr;
}

[[noreturn]] void fail_unknown(const ConditionNode& n, const ReportFunction& f) {
  throw UsageError("--fail-if: '" + n.field->name + "' of " + printable(f.name) +
                   " is not known: it has calls inside compiled segments (record with "
                   "--times events)");
}

bool Evaluator::functions(const ConditionNode& n) {
  const bool of_cpu = n.field->kind == Field::kCpu || n.field->kind == Field::kSelfCpu;
  if (of_cpu && !(report_.cpu.known() && (!before_ || before_->cpu.known())))
    throw UsageError("--fail-if: '" + n.field->name +
                     "' is not known: this needs traces that were recorded with --cpu");
  const double whole = n.field->is_share() ? 100 : static_cast<double>(report_.self_ns);
  bool any = false, result = false;
  auto look = [&](const ReportFunction* now, const ReportFunction* was) {
    any = true;
    for (const ReportFunction* f : {now, was})
      if (f && n.field->of_single() && !f->knows_times()) fail_unknown(n, *f);
    double value = now ? value_of(*n.field, *now, report_.self_ns).value_or(0) : 0;
    double old = was ? value_of(*n.field, *was, before_->self_ns).value_or(0) : 0;
    result |= compare(n, value, old, whole);
  };
  for (size_t i = kReportUnknown; i < report_.functions.size(); i++) {
    const ReportFunction& f = report_.functions[i];
    if ((i == kReportUnknown && !f.self_ns) || !n.pattern->matches(f)) continue;
    look(&f, before_ && n.change ? same(*before_, f) : nullptr);
  }
  if (n.change)
    for (size_t i = kReportFirst; i < before_->functions.size(); i++) {
      const ReportFunction& f = before_->functions[i];
      if (n.pattern->matches(f) && !same(report_, f)) look(nullptr, &f);
    }
  return any ? result : compare(n, 0, 0, whole);
}

// Functions that the filters left out entirely match too: their figures are 0, and their names are
// not misspelt. Functions inside groups do not: their time is unknown, not 0.
bool matches_any(const FunctionPattern& pattern, const Report& report) {
  const bool groups = only_groups(report);
  auto matches = [&](const FunctionName& f) {
    return (!groups || f.kind == FunctionKind::kGroup) && pattern.matches(f);
  };
  return std::any_of(report.functions.begin() + 1, report.functions.end(), matches) ||
         std::any_of(report.hidden.begin(), report.hidden.end(), matches);
}

// Collects from all operands, even those that do not affect the result, so that misspelt names are
// found at once.
void find_missing(const ConditionNode& n, const Report& report, const Report* before,
                  std::vector<std::string>& out) {
  if (n.kind != ConditionNode::kCompare) {
    find_missing(*n.left, report, before, out);
    find_missing(*n.right, report, before, out);
  } else if (n.pattern && !matches_any(*n.pattern, report) &&
             !(before && matches_any(*n.pattern, *before))) {
    out.push_back(n.pattern->text());
  }
}

// Whether `is` holds for any of the comparisons.
template <class Is>
bool any_comparison(const ConditionNode& n, Is is) {
  if (n.kind != ConditionNode::kCompare)
    return any_comparison(*n.left, is) || any_comparison(*n.right, is);
  return is(n);
}

}  // namespace

bool only_groups(const Report& report) {
  auto is_function = [](const ReportFunction& f) {
    return f.kind == FunctionKind::kLua || f.kind == FunctionKind::kC ||
           f.kind == FunctionKind::kBuiltin || f.kind == FunctionKind::kUnknown;
  };
  return report.grouped &&
         std::none_of(report.functions.begin(), report.functions.end(), is_function);
}

Condition::Condition(const std::string& text, bool with_before)
    : root_(Parser(text, with_before).run()) {}
Condition::~Condition() = default;

bool Condition::test(const Report& report, const Report* before,
                     std::vector<ComparedValue>& values) const {
  return Evaluator(report, before, values).test(*root_);
}

std::vector<std::string> Condition::missing(const Report& report, const Report* before) const {
  std::vector<std::string> out;
  find_missing(*root_, report, before, out);
  return out;
}

bool Condition::needs_histogram() const {
  return any_comparison(
      *root_, [](const ConditionNode& n) { return n.field && n.field->needs_histogram(); });
}

bool Condition::is_of_samples() const {
  return !any_comparison(*root_,
                         [](const ConditionNode& n) { return n.field && !n.field->of_samples(); });
}

bool Condition::has_times() const {
  return any_comparison(*root_, [](const ConditionNode& n) { return kind_of(n) != Kind::kCount; });
}

}  // namespace luatrace::analyze
