// SPDX-License-Identifier: MIT
// See oracle.h. Lua's errors are C++ exceptions, its coroutines are contexts of <ucontext.h>.
// Invariant: Coroutine::calls is the stack that the events so far describe.
#include "oracle.h"

#include <ucontext.h>

#include <functional>
#include <memory>

namespace luatrace::test {
namespace {

struct LuaError {};

struct Coroutine {
  uint32_t number = 1;
  std::vector<std::string> calls;
  int c_calls = 0;  // C functions on its stack: no yield across them
  bool dead = false, failed = false, yielded = false;
  ucontext_t self{}, resumer{};
  std::unique_ptr<char[]> stack;
  std::function<void()> body;
};

class Oracle {
 public:
  Oracle(const Program& program, const std::string& file) : program_(program), file_(file) {}

  std::vector<Call> Run() {
    Enter(file_ + ":0");
    for (int i = 0; i < program_.rounds; i++) {
      fuel_ = program_.fuel;
      Protected([this] { CallFunction(0, program_.depth); });
    }
    if (Library()) {
      Enter("C:print");
      Leave(Kind::kReturn);
    }
    Leave(Kind::kReturn);
    return std::move(events_);
  }

 private:
  std::string Name(int line) const { return file_ + ":" + std::to_string(line); }
  bool Library() const { return program_.c_functions == "default"; }

  void Enter(std::string what) {
    current_->calls.push_back(what);
    events_.push_back({Kind::kEntry, current_->number,
                       static_cast<uint32_t>(current_->calls.size()), std::move(what)});
  }

  void Leave(Kind kind) {
    events_.push_back({kind, current_->number, static_cast<uint32_t>(current_->calls.size()),
                       current_->calls.back()});
    current_->calls.pop_back();
  }

  void UnwindTo(size_t depth) {
    while (current_->calls.size() > depth) Leave(Kind::kUnwind);
  }

  // pcall: whether there was no error.
  bool Protected(const std::function<void()>& f) {
    const size_t depth = current_->calls.size();
    const int c_calls = current_->c_calls;
    try {
      f();
      return true;
    } catch (LuaError&) {
      UnwindTo(depth);
      current_->c_calls = c_calls;
      return false;
    }
  }

  void CallFunction(int number, int d) {
    const Function& f = program_.functions[number];
    Enter(Name(f.line));
    if (--fuel_ < 0 || d <= 0) return Leave(Kind::kReturn);
    for (const Statement& s : f.body) Do(s, d);
    switch (f.tail) {
      case Function::kFunction:
        Leave(Kind::kTail);
        return CallFunction(f.tail_fn, d - 1);
      case Function::kFast:
        return Leave(Kind::kTail);
      case Function::kCallableTail:
        Leave(Kind::kTail);
        return CallThrough(program_.functions[f.tail_fn].call_line, f.tail_fn, d - 1);
      default:
        Leave(Kind::kReturn);
    }
  }

  // A metamethod that calls the function and returns.
  void CallThrough(int line, int number, int d) {
    Enter(Name(line));
    CallFunction(number, d);
    Leave(Kind::kReturn);
  }

  void Do(const Statement& s, int d) {
    const Function& f = program_.functions[s.fn];
    switch (s.type) {
      case Statement::kCall:
        return CallFunction(s.fn, d - 1);
      case Statement::kLoop:
        for (int i = 0; i < s.n; i++)
          for (const Statement& inner : s.body) Do(inner, d);
        return;
      case Statement::kPcall:
        Protected([&] { CallFunction(s.fn, d - 1); });
        return;
      case Statement::kError:
        if (d != s.n) return;
        if (Library()) Enter("C:error");
        throw LuaError();
      case Statement::kYield:
        return Yield();
      case Statement::kCoroutine:
        return UseCoroutine(s, d);
      case Statement::kWrap:
        return UseCoroutine(s, d);
      case Statement::kGsub:
        return Gsub(s, d);
      case Statement::kIndex:
        return CallThrough(f.index_line, s.fn, d - 1);
      case Statement::kCollect:
        return d % 4 == 0 ? CallLibrary("collectgarbage") : void();
      case Statement::kFlush:
        return d % 4 == 1 ? CallLibrary("jit.flush") : void();
      case Statement::kAdd:
        return CallThrough(f.add_line, s.fn, d - 1);
      default:
        return CallThrough(f.call_line, s.fn, d - 1);
    }
  }

  void CallLibrary(const char* name) {
    if (!Library()) return;
    Enter(std::string("C:") + name);
    Leave(Kind::kReturn);
  }

  void Gsub(const Statement& s, int d) {
    if (Library()) Enter("C:string.gsub");
    current_->c_calls++;
    for (int i = 0; i < s.n; i++) {
      Enter(Name(s.line));
      CallFunction(s.fn, d - 1);
      Leave(Kind::kReturn);
    }
    current_->c_calls--;
    if (Library()) Leave(Kind::kReturn);
  }

  void Yield() {
    if (current_->number == 1) return;
    if (current_->c_calls > 0) throw LuaError();  // across a C call
    current_->yielded = true;
    if (Library()) Enter("C:coroutine.yield");
    swapcontext(&current_->self, &current_->resumer);
    if (Library()) Leave(Kind::kReturn);
  }

  // resume and wrap differ in how an error comes back, which here means the same.
  void UseCoroutine(const Statement& s, int d) {
    coroutines_.push_back(std::make_unique<Coroutine>());
    Coroutine* co = coroutines_.back().get();
    co->number = static_cast<uint32_t>(coroutines_.size()) + 1;
    co->body = [this, &s, d] { CallFunction(s.fn, d - 1); };
    events_.push_back({Kind::kCreate, 0, 0, "co" + std::to_string(co->number)});
    for (int i = 0; i < s.n && Resume(co); i++) {
    }
  }

  static void Start(unsigned high, unsigned low) {
    auto* self = reinterpret_cast<Oracle*>(static_cast<uintptr_t>(high) << 32 | low);
    Coroutine* co = self->current_;
    try {
      co->body();
    } catch (LuaError&) {
      self->UnwindTo(0);
      co->failed = true;
    }
    co->dead = true;
    setcontext(&co->resumer);
  }

  // Most coroutines are short: clearing a new stack for each took most of the time.
  std::unique_ptr<char[]> TakeStack() {
    if (free_stacks_.empty()) return std::make_unique_for_overwrite<char[]>(kStackSize);
    auto stack = std::move(free_stacks_.back());
    free_stacks_.pop_back();
    return stack;
  }

  void Prepare(Coroutine* co) {
    co->stack = TakeStack();
    getcontext(&co->self);
    co->self.uc_stack.ss_sp = co->stack.get();
    co->self.uc_stack.ss_size = kStackSize;
    const auto address = reinterpret_cast<uintptr_t>(this);
    makecontext(&co->self, reinterpret_cast<void (*)()>(&Oracle::Start), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  }

  // Whether the resume succeeded (a dead coroutine cannot be resumed).
  bool Resume(Coroutine* co) {
    if (co->dead) return false;
    if (!co->stack) Prepare(co);
    events_.push_back({Kind::kResume, 0, 0, "co" + std::to_string(co->number)});
    Coroutine* before = current_;
    current_ = co;
    co->yielded = false;
    swapcontext(&co->resumer, &co->self);
    current_ = before;
    events_.push_back({Kind::kSuspend, 0, 0,
                       co->yielded  ? "yield"
                       : co->failed ? "error"
                                    : "done"});
    if (co->dead) free_stacks_.push_back(std::move(co->stack));
    return !co->failed;
  }

  static constexpr size_t kStackSize = 256 * 1024;

  const Program& program_;
  const std::string file_;
  int fuel_ = 0;
  Coroutine main_;
  Coroutine* current_ = &main_;
  std::vector<std::unique_ptr<Coroutine>> coroutines_;
  std::vector<std::unique_ptr<char[]>> free_stacks_;
  std::vector<Call> events_;
};

}  // namespace

std::vector<Call> Predict(const Program& program, const std::string& file) {
  return Oracle(program, file).Run();
}

}  // namespace luatrace::test
