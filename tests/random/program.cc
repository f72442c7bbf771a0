// SPDX-License-Identifier: MIT
// See program.h.
#include "program.h"

#include <sstream>

namespace luatrace::test {
namespace {

// splitmix64: <random>'s distributions differ between libraries.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // 0 <= result < n.
  int Below(int n) {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<int>((z ^ (z >> 31)) % static_cast<uint64_t>(n));
  }

 private:
  uint64_t state_;
};

Statement RandomStatement(Random& random, int functions, int nesting) {
  // Plain calls and loops are what makes code hot.
  static const Statement::Type mix[] = {
      Statement::kCall,  Statement::kCall,      Statement::kCall,     Statement::kLoop,
      Statement::kLoop,  Statement::kPcall,     Statement::kError,    Statement::kYield,
      Statement::kYield, Statement::kCoroutine, Statement::kWrap,     Statement::kGsub,
      Statement::kIndex, Statement::kAdd,       Statement::kCallable, Statement::kCollect,
      Statement::kFlush};
  Statement s;
  s.type = mix[random.Below(static_cast<int>(std::size(mix)))];
  if (s.type == Statement::kLoop && nesting > 1) s.type = Statement::kCall;
  s.fn = random.Below(functions);
  s.n = 1 + random.Below(s.type == Statement::kLoop ? 6 : 4);
  if (s.type == Statement::kLoop)
    for (int i = 1 + random.Below(2); i > 0; i--)
      s.body.push_back(RandomStatement(random, functions, nesting + 1));
  return s;
}

class Printer {
 public:
  std::string Run(Program* program) {
    Line("-- seed " + std::to_string(program->seed));
    Line("local F, I, A, K, sum, fuel = {}, {}, {}, {}, 0, 0");
    for (size_t i = 0; i < program->functions.size(); i++) Print(&program->functions[i], i);
    Line("for round = 1, " + std::to_string(program->rounds) + " do");
    Line("fuel = " + std::to_string(program->fuel));
    Line("pcall(F[0], " + std::to_string(program->depth) + ")");
    Line("end");
    Line("print(sum)");
    return out_.str();
  }

 private:
  int Line(const std::string& text) {
    out_ << text << "\n";
    return ++line_;
  }

  void Print(Function* f, size_t number) {
    const std::string n = std::to_string(number);
    f->line = Line("F[" + n + "] = function(d" + (f->vararg ? ", ..." : "") + ")");
    Line("fuel = fuel - 1");
    Line("if fuel < 0 or d <= 0 then return d end");
    for (Statement& s : f->body) Print(&s);
    const std::string t = std::to_string(f->tail_fn);
    switch (f->tail) {
      case Function::kFunction:
        Line("return F[" + t + "](d - 1)");
        break;
      case Function::kFast:
        Line("return select('#', d)");
        break;
      case Function::kCallableTail:
        Line("return K[" + t + "](d - 1)");
        break;
      default:
        Line("return d");
    }
    Line("end");
    const std::string body = "local r = F[" + n + "](x) return r end })";
    f->index_line = Line("I[" + n + "] = setmetatable({}, { __index = function(t, x) " + body);
    f->add_line = Line("A[" + n + "] = setmetatable({}, { __add = function(t, x) " + body);
    f->call_line = Line("K[" + n + "] = setmetatable({}, { __call = function(t, x) " + body);
  }

  void Print(Statement* s) {
    const std::string fn = std::to_string(s->fn), n = std::to_string(s->n), f = "F[" + fn + "]";
    switch (s->type) {
      case Statement::kCall:
        Line("sum = sum + " + f + "(d - 1, sum, d)");
        break;
      case Statement::kLoop:
        Line("for i = 1, " + n + " do");
        for (Statement& inner : s->body) Print(&inner);
        Line("end");
        break;
      case Statement::kPcall:
        Line("if pcall(" + f + ", d - 1) then sum = sum + 1 end");
        break;
      case Statement::kError:
        Line("if d == " + n + " then error('e', 0) end");
        break;
      case Statement::kYield:
        Line("if coroutine.running() then coroutine.yield(d) end");
        break;
      case Statement::kCoroutine:
        Line("do local co = coroutine.create(" + f + ")");
        Line("for i = 1, " + n + " do if not coroutine.resume(co, d - 1) then break end end end");
        break;
      case Statement::kWrap:
        Line("do local w = coroutine.wrap(" + f + ")");
        Line("for i = 1, " + n + " do if not pcall(w, d - 1) then break end end end");
        break;
      case Statement::kGsub:
        s->line = Line("string.gsub(('x'):rep(" + n + "), 'x', function() sum = sum + " + f +
                       "(d - 1) end)");
        break;
      case Statement::kIndex:
        Line("sum = sum + I[" + fn + "][d - 1]");
        break;
      case Statement::kCollect:
        Line("if d % 4 == 0 then local t = { d } sum = sum + #t collectgarbage() end");
        break;
      case Statement::kFlush:
        Line("if d % 4 == 1 then jit.flush() end");
        break;
      case Statement::kAdd:
        Line("sum = sum + (A[" + fn + "] + (d - 1))");
        break;
      default:
        Line("sum = sum + K[" + fn + "](d - 1)");
    }
  }

  std::ostringstream out_;
  int line_ = 0;
};

}  // namespace

Program Generate(uint64_t seed) {
  Random random(seed);
  Program program;
  program.seed = seed;
  const int count = 2 + random.Below(6);
  for (int i = 0; i < count; i++) {
    Function f;
    f.vararg = random.Below(4) == 0;
    for (int k = 1 + random.Below(4); k > 0; k--)
      f.body.push_back(RandomStatement(random, count, 0));
    f.tail = static_cast<Function::Tail>(random.Below(Function::kTails));
    f.tail_fn = random.Below(count);
    program.functions.push_back(std::move(f));
  }
  program.rounds = 60 + random.Below(120);
  program.fuel = 10 + random.Below(120);
  program.depth = 2 + random.Below(8);
  program.c_functions = random.Below(2) ? "default" : "user";
  return program;
}

std::string Print(Program* program) {
  return Printer().Run(program);
}

}  // namespace luatrace::test
