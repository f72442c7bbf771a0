// SPDX-License-Identifier: MIT
// Expands a .expect file. First every script (the trace, and a coroutine when it
// is created) becomes a flat list of steps; then the lists are run against each
// other, resume by resume, which gives the events in order.
#include "expect.h"

#include "expect_ast.h"

namespace luatrace::test {
namespace {

constexpr size_t kMaxSteps = 4'000'000;
constexpr int kMaxResumeDepth = 200;
constexpr int kMaxRuleDepth = 6'000;

using Variables = std::map<std::string, long>;

struct Step {
  enum Type { kEnter, kReturn, kTail, kUnwind, kCreate, kResume, kYield, kFail } type;
  std::string what;            // function, or name of a coroutine
  const Item* item = nullptr;  // kCreate
  std::vector<long> args;      // kCreate
};

class Expander {
 public:
  Expander(const Script& script, const std::string& file,
           const std::map<std::string, std::string>& names)
      : script_(script), file_(file), names_(names) {}

  std::vector<Step> Steps(const std::vector<Item>& items, const Variables& vars) {
    std::vector<Step> steps;
    Expand(items, vars, &steps);
    return steps;
  }

  [[noreturn]] void Fail(const Item& item, const std::string& why) const {
    throw ExpectError(file_ + ":" + std::to_string(item.line) + ": " + why);
  }

  // The variables of a rule or coroutine script called with args; false if a
  // constant parameter differs.
  static bool Bind(const Rule& rule, const std::vector<long>& args, Variables* vars) {
    if (rule.params.size() != args.size()) return false;
    for (size_t i = 0; i < args.size(); ++i) {
      const Pattern& p = rule.params[i];
      if (p.name.empty() && p.value != args[i]) return false;
      if (!p.name.empty()) (*vars)[p.name] = args[i];
    }
    return true;
  }

 private:
  void Expand(const std::vector<Item>& items, const Variables& vars, std::vector<Step>* to) {
    for (const Item& item : items) ExpandItem(item, vars, to);
  }

  void Add(const Item& item, Step step, std::vector<Step>* to) {
    if (++count_ > kMaxSteps) Fail(item, "too many events; a rule without an end?");
    to->push_back(std::move(step));
  }

  void ExpandItem(const Item& item, const Variables& vars, std::vector<Step>* to) {
    switch (item.type) {
      case ItemType::kCall:
        return ExpandCall(item, vars, to);
      case ItemType::kRule:
        return ExpandRule(item, vars, to);
      case ItemType::kRepeat:
        return ExpandRepeat(item, vars, to);
      case ItemType::kFor:
        return ExpandFor(item, vars, to);
      case ItemType::kIf:
        return Expand(Eval(item, item.args[0], vars) ? item.body : item.other, vars, to);
      case ItemType::kCreate:
        return Add(item, {Step::kCreate, item.alias, &item, Args(item, vars)}, to);
      case ItemType::kResume:
        return Add(item, {Step::kResume, item.name, &item, {}}, to);
      case ItemType::kYield:
        return Add(item, {Step::kYield, "", &item, {}}, to);
      case ItemType::kFail:
        return Add(item, {Step::kFail, "", &item, {}}, to);
    }
  }

  void ExpandCall(const Item& item, const Variables& vars, std::vector<Step>* to) {
    const std::string& what = Function(item);
    Add(item, {Step::kEnter, what, &item, {}}, to);
    Expand(item.body, vars, to);
    if (item.ending == Ending::kReturn) Add(item, {Step::kReturn, what, &item, {}}, to);
    if (item.ending == Ending::kUnwind) Add(item, {Step::kUnwind, what, &item, {}}, to);
    if (item.ending == Ending::kTail) Add(item, {Step::kTail, what, &item, {}}, to);
    Expand(item.ending == Ending::kTail ? item.other : kNothing, vars, to);
  }

  void ExpandRule(const Item& item, const Variables& vars, std::vector<Step>* to) {
    auto it = script_.rules.find(item.name);
    if (it == script_.rules.end()) Fail(item, "there is no rule " + item.name);
    std::vector<long> args = Args(item, vars);
    for (const Rule& rule : it->second) {
      Variables own;
      if (!Bind(rule, args, &own)) continue;
      if (++rule_depth_ > kMaxRuleDepth) Fail(item, "too deep; a rule without an end?");
      Expand(rule.body, own, to);
      --rule_depth_;
      return;
    }
    Fail(item, "no clause of rule " + item.name + " matches these arguments");
  }

  void ExpandRepeat(const Item& item, const Variables& vars, std::vector<Step>* to) {
    for (long n = Eval(item, item.args[0], vars); n > 0; --n) Expand(item.body, vars, to);
  }

  void ExpandFor(const Item& item, const Variables& vars, std::vector<Step>* to) {
    long step = item.args.size() > 2 ? Eval(item, item.args[2], vars) : 1;
    if (step <= 0) Fail(item, "the step of a for must be positive");
    Variables own = vars;
    long last = Eval(item, item.args[1], vars);
    for (long i = Eval(item, item.args[0], vars); i <= last; i += step) {
      own[item.name] = i;
      Expand(item.body, own, to);
    }
  }

  const std::string& Function(const Item& item) const {
    auto it = names_.find(item.name);
    if (it != names_.end()) return it->second;
    if (item.name.starts_with("C:")) return item.name;
    Fail(item, "no function has the marker --:" + item.name);
  }

  std::vector<long> Args(const Item& item, const Variables& vars) const {
    std::vector<long> values;
    for (const Expr& e : item.args) values.push_back(Eval(item, e, vars));
    return values;
  }

  long Eval(const Item& item, const Expr& e, const Variables& vars) const {
    if (e.op == '#') return e.value;
    if (e.op == 'v') {
      auto it = vars.find(e.name);
      if (it == vars.end()) Fail(item, "there is no variable " + e.name);
      return it->second;
    }
    return Apply(item, e.op, Eval(item, *e.left, vars), Eval(item, *e.right, vars));
  }

  long Apply(const Item& item, char op, long a, long b) const {
    if ((op == '/' || op == '%') && b == 0) Fail(item, "division by zero");
    switch (op) {
      case '+':
        return a + b;
      case '-':
        return a - b;
      case '*':
        return a * b;
      case '/':
        return a / b;
      case '%':
        return a % b;
      case '<':
        return a < b;
      case '>':
        return a > b;
      case 'e':
        return a == b;
      case 'n':
        return a != b;
      case 'l':
        return a <= b;
      case 'g':
        return a >= b;
      case '&':
        return a && b;
      default:
        return a || b;
    }
  }

  const std::vector<Item> kNothing;
  const Script& script_;
  const std::string& file_;
  const std::map<std::string, std::string>& names_;
  size_t count_ = 0;
  int rule_depth_ = 0;
};

// Runs the step lists of the main program and the coroutines it creates.
class Machine {
 public:
  Machine(const Script& script, Expander* expander, std::vector<Call>* calls)
      : script_(script), expander_(expander), calls_(calls) {}

  void Run() {
    Instance main;
    main.number = 1;
    main.steps = expander_->Steps(script_.trace, {});
    const std::string end = RunUntilPause(&main, 0);
    if (end != "done" && end != "open")
      throw ExpectError("the main program can neither yield nor fail");
  }

 private:
  struct Instance {
    uint32_t number = 0;
    std::vector<Step> steps;
    size_t at = 0;
    std::vector<std::string> stack;
    bool dead = false;
  };

  // Continues until the next yield, or the end; the status as suspend shows it.
  std::string RunUntilPause(Instance* co, int level) {
    while (co->at < co->steps.size()) {
      const Step& step = co->steps[co->at++];
      if (step.type == Step::kYield) return "yield";
      if (step.type == Step::kFail) {
        co->dead = true;
        return "error";
      }
      Do(co, step, level);
    }
    co->dead = true;
    return co->stack.empty() ? "done" : "open";  // open: the program ends here
  }

  void Do(Instance* co, const Step& step, int level) {
    switch (step.type) {
      case Step::kEnter:
        co->stack.push_back(step.what);
        return Add(co, Kind::kEntry, step.what);
      case Step::kReturn:
        return Leave(co, Kind::kReturn, step);
      case Step::kTail:
        return Leave(co, Kind::kTail, step);
      case Step::kUnwind:
        return Leave(co, Kind::kUnwind, step);
      case Step::kCreate:
        return Create(step);
      case Step::kResume:
        return Resume(step, level);
      default:
        return;
    }
  }

  void Add(Instance* co, Kind kind, const std::string& what) {
    calls_->push_back({kind, co->number, static_cast<uint32_t>(co->stack.size()), what});
  }

  // A call that ends by `~` stays on the stack: nothing below it may end.
  void Leave(Instance* co, Kind kind, const Step& step) {
    if (co->stack.back() != step.what)
      expander_->Fail(*step.item, "cannot end here: " + co->stack.back() + " is still open");
    Add(co, kind, step.what);
    co->stack.pop_back();
  }

  void Create(const Step& step) {
    auto it = script_.coroutines.find(step.item->name);
    if (it == script_.coroutines.end())
      expander_->Fail(*step.item, "there is no coroutine script " + step.item->name);
    Variables vars;
    if (!Expander::Bind(it->second, step.args, &vars))
      expander_->Fail(*step.item, "wrong arguments for " + step.item->name);
    auto co = std::make_shared<Instance>();
    co->number = ++last_number_;
    co->steps = expander_->Steps(it->second.body, vars);
    instances_[step.what] = co;
    calls_->push_back({Kind::kCreate, 0, 0, "co" + std::to_string(co->number)});
  }

  void Resume(const Step& step, int level) {
    auto co = instances_[step.what];
    if (!co || co->dead) expander_->Fail(*step.item, step.what + " cannot be resumed");
    if (level > kMaxResumeDepth) expander_->Fail(*step.item, "resumes are nested too deep");
    calls_->push_back({Kind::kResume, 0, 0, "co" + std::to_string(co->number)});
    std::string status = RunUntilPause(co.get(), level + 1);
    if (status != "open") calls_->push_back({Kind::kSuspend, 0, 0, status});
  }

  const Script& script_;
  Expander* expander_;
  std::vector<Call>* calls_;
  uint32_t last_number_ = 1;
  std::map<std::string, std::shared_ptr<Instance>> instances_;
};

}  // namespace

std::map<std::string, std::string> FunctionNames(const std::string& lua_source,
                                                 const std::string& file) {
  std::map<std::string, std::string> names{{"main", file + ":0"}};
  int line = 1;
  for (size_t at = 0; at < lua_source.size(); ++line) {
    size_t end = std::min(lua_source.find('\n', at), lua_source.size());
    std::string text = lua_source.substr(at, end - at);
    size_t mark = text.find("--:");
    if (mark != std::string::npos) {
      std::string name = text.substr(mark + 3, text.find_first_of(" \t", mark) - mark - 3);
      if (!names.emplace(name, file + ":" + std::to_string(line)).second)
        throw ExpectError(file + ":" + std::to_string(line) + ": marker " + name +
                          " is there twice");
    }
    at = end + 1;
  }
  return names;
}

Expectation ParseExpectation(const std::string& text, const std::string& file,
                             std::map<std::string, std::string> names) {
  Script script = ParseScript(text, file);
  for (const auto& [name, what] : script.names) names[name] = what;
  Expectation result;
  result.directives = script.directives;
  Expander expander(script, file, names);
  Machine(script, &expander, &result.calls).Run();
  return result;
}

}  // namespace luatrace::test
