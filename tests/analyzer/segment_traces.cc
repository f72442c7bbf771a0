// SPDX-License-Identifier: MIT
#include "segment_traces.h"

#include <random>
#include <sstream>
#include <vector>

namespace luatrace::analyze {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}
  std::string trace(const std::string& clock);

 private:
  uint64_t below(uint64_t n) { return random_() % n; }
  void describe(uint64_t stream);
  std::string body(bool balanced, uint32_t& events);
  void event(uint64_t stream);
  void word(uint64_t stream);
  void packed(uint64_t stream);

  std::mt19937_64 random_;
  std::ostringstream out_;
  std::vector<uint64_t> tick_, places_;
};

// Events of an iteration: calls and tail calls inside each other, or any.
std::string Generator::body(bool balanced, uint32_t& events) {
  std::string out;
  std::vector<uint64_t> open;
  const auto add = [&](uint64_t kind, uint64_t function) {
    out += ' ' + std::to_string(kind) + ':' + std::to_string(function);
    events++;
  };
  for (uint64_t n = below(8); n > 0; n--) {
    if (open.empty() || below(2)) {
      open.push_back(1 + below(12));
      add(1, open.back());
    } else {
      add(below(4) ? 2 : 3, open.back());
      open.pop_back();
    }
    if (!balanced && below(4) == 0) add(1 + below(3), 1 + below(12));
  }
  for (; balanced && !open.empty(); open.pop_back()) add(2, open.back());
  return out;
}

void Generator::describe(uint64_t stream) {
  uint64_t& next = places_[stream];
  uint32_t events = 0;
  const std::string text = body(below(4) != 0, events);
  const uint64_t exits = 1 + below(4), loop = below(exits + 1);
  out_ << "segments " << stream << ':' << next << " parent=" << (below(3) ? 0 : below(next))
       << " trace=" << 1 + next % 7 << " bytes=" << 40 + below(100) << " level=" << 1 + below(2)
       << " counts=" << (below(4) != 0) << " loops=" << (below(8) == 0) << " loop=" << loop
       << " marks=1 @0+0";
  for (uint64_t i = 0; i < exits; i++) out_ << " @" << below(events + 1) << '+' << below(120);
  out_ << text << '\n';
  next += 1 + exits;
}

void Generator::packed(uint64_t stream) {
  out_ << "packed";
  uint64_t items = 0;
  do {
    const uint64_t iterations = items < 2 && below(3) == 0 ? 1 + below(40) : 0;
    out_ << ' ' << 1 + below(places_[stream] + (below(16) == 0));
    if (iterations != 0) out_ << (below(2) ? "*" : "*0,") << iterations;
    items += iterations != 0 ? 2 : 1;
  } while (items < 3 && below(4) != 0);
}

// Times are close together, or far apart, or the same.
void Generator::word(uint64_t stream) {
  if (below(3) == 0) return packed(stream);
  out_ << "segment " << 1 + below(places_[stream] + (below(16) == 0));
  static constexpr uint64_t kMost[] = {2, 10, 300};
  for (uint64_t level = 0; level < 2; level++) out_ << ' ' << below(kMost[below(3)]);
}

void Generator::event(uint64_t s) {
  static constexpr uint64_t kSteps[] = {1, 30, 2000};
  out_ << (tick_[s] += below(3) ? below(kSteps[below(3)]) : 0) << ' ' << s << ' ';
  const uint64_t kind = below(24);
  const uint64_t function = 1 + below(12);
  if (kind < 10)
    word(s);
  else if (kind < 14)
    out_ << "entry " << function;
  else if (kind < 17)
    out_ << "return " << function;
  else if (kind == 17)
    out_ << "tail " << function;
  else if (kind == 18)
    out_ << "resume " << 1 + below(4);
  else if (kind == 19)
    out_ << "suspend " << (below(3) ? "yield" : "error");
  else if (kind == 20)
    out_ << "unwind " << 1 + below(3) << " top=-";
  else if (kind == 21)
    out_ << "section 1 " << (below(2) ? "begin" : "end") << " \"s\"";
  else if (kind == 22 && below(4) == 0)
    out_ << "loss " << 1 + below(9) << " since=" << tick_[s];
  else
    out_ << "create " << 1 + below(4);
  out_ << '\n';
}

std::string Generator::trace(const std::string& clock) {
  const uint64_t streams = 1 + below(2);
  tick_.assign(streams + 1, 1000);
  places_.assign(streams + 1, 1);
  out_ << "#luatrace-text 1\nclock monotonic " << clock << "\nprocess 1 pid=7 exe=\"/x\"\n";
  for (uint64_t s = 1; s <= streams; s++) {
    out_ << "stream " << s << " process=1 tid=" << 70 + s << " recording=1 cost_ps=5000\n";
    for (uint64_t f = 1; f <= 10; f++)
      out_ << "func " << s << ':' << f << (f % 4 ? " lua line=" : " c addr=") << f
           << " chunk=\"@x.lua\" name=\"n" << f % 5 << "\"\n";
    for (uint64_t n = 1 + below(6); n > 0; n--) describe(s);
  }
  for (uint64_t i = 0; i < 150 * streams; i++) {
    const uint64_t s = 1 + below(streams);
    if (below(40) == 0) describe(s);
    event(s);
  }
  out_ << "end exit=0\n";
  return out_.str();
}

}  // namespace

std::string segment_trace(uint64_t seed, const std::string& clock) {
  return Generator(seed).trace(clock);
}

}  // namespace luatrace::analyze
