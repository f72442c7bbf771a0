// SPDX-License-Identifier: MIT
// luatrace-top: shows what running processes spend their time on, again and again.
//
// luatrace-record writes the trace into a pipe; a View sums it up; at the end of each interval its
// text is shown. One thread does all of it: it waits for the trace, keys, signals,
// messages of the recorder and the end of the interval, whatever comes first. Where tables take
// longer than the events need, the recorder drops events and says so: nothing is stored.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>

#include "analyzer/top/recorder.h"
#include "analyzer/top/screen.h"
#include "analyzer/top/view.h"
#include "base/escape.h"
#include "cli/command_line.h"
#include "cli/duration.h"
#include "cli/mains.h"

using namespace luatrace;
using namespace luatrace::top;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kFailed = 125;
constexpr uint64_t kMinInterval = 100000000;  // ns
constexpr const char* kFunctionOrders = "self inclusive calls suspended name";
constexpr const char* kSampleOrders = "self inclusive samples name";
constexpr const char* kRequestOrders = "wall running waits others unattributed";

struct Options {
  std::chrono::nanoseconds interval{1000000000};
  uint64_t count = 0;  // Tables; 0: no limit.
  TableOptions view;
  std::vector<std::string> recorder;
};

uint64_t positive(const CommandLine& given, const char* name) {
  const auto number = CommandLine::number<uint64_t>(name, *given.last(name));
  if (number == 0) throw UsageError(std::string("--") + name + ": '0' is out of range");
  return number;
}

std::vector<std::string> recorder_options(const CommandLine& given) {
  std::vector<std::string> out{"-q", "-o", "-"};
  for (const char* name : {"pid", "include", "exclude", "c-functions", "via"})
    for (const std::string& value : given.list(name)) {
      out.push_back(std::string("--") + name);
      out.push_back(value);
    }
  if (given.has("children")) out.push_back("--children");
  if (const auto hertz = given.last("sample", "99")) out.push_back("--sample=" + *hertz);
  return out;
}

TableOptions view_options(const CommandLine& given) {
  TableOptions o;
  o.request_by = given.list("request-by");
  o.requests = given.has("requests") || !o.request_by.empty();
  o.samples = given.has("sample");
  if (o.samples && o.requests)
    throw UsageError("--sample excludes --requests: samples know no single requests");
  o.sort = given.last("sort").value_or(o.requests ? "wall" : "self");
  const char* const orders = o.requests  ? kRequestOrders
                             : o.samples ? kSampleOrders
                                         : kFunctionOrders;
  if (!is_choice(orders, o.sort))
    throw UsageError("--sort: invalid value '" + o.sort + "' " +
                     (o.samples    ? "with --sample"
                      : o.requests ? "with --requests"
                                   : "without --requests") +
                     "; choose " + choices_text(orders));
  if (given.has("limit")) o.limit = positive(given, "limit");
  return o;
}

Options read_options(const CommandLine& given) {
  if (!given.operands().empty())
    throw UsageError('\'' + given.operands()[0] +
                     "': not an option; processes are given as -p PID");
  if (!given.has("pid")) throw UsageError("missing process (-p PID)");
  Options o;
  if (const auto text = given.last("interval")) {
    const auto ns = duration_ns(*text, 1e9);
    if (!ns) throw UsageError("--interval: '" + *text + "' is not a time (" + kTimeExamples + ')');
    if (*ns < kMinInterval || *ns > uint64_t{86400} * 1000000000)
      throw UsageError("--interval: '" + *text + "' is out of range: 100ms to 24h");
    o.interval = std::chrono::nanoseconds(*ns);
  }
  if (given.has("count")) o.count = positive(given, "count");
  o.view = view_options(given);
  o.recorder = recorder_options(given);
  return o;
}

int block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

class Top {
 public:
  Top(Options options, const char* self)
      : options_(std::move(options)),
        signals_(block_signals()),
        screen_(std::in_place),
        recorder_(self, options_.recorder, screen_->is_terminal()),
        input_("the recorder's trace", recorder_.trace()) {}

  // Returns the exit status.
  int run();

 private:
  // Waits for whatever comes first. Returns whether the trace has more.
  bool wait();
  // Reads a bit of the trace. False at its end.
  bool read();
  void show();
  int end(bool by_itself);
  bool is_done() const { return quits_ || (options_.count && shown_ >= options_.count); }

  const Options options_;
  const int signals_;
  std::optional<Screen> screen_;
  Recorder recorder_;
  analyze::Input input_;
  std::unique_ptr<View> view_;
  std::string messages_;  // Those of the recorder, if the screen is a terminal, and of the reader.
  std::string table_;     // The last one shown.
  Clock::time_point next_ = Clock::now() + options_.interval;
  uint64_t shown_ = 0;
  bool quits_ = false;
};

bool Top::wait() {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next_ - Clock::now());
  const bool has_more = input_.available() > 0;
  pollfd files[] = {{recorder_.trace(), POLLIN, 0},
                    {signals_, POLLIN, 0},
                    {screen_->is_terminal() ? STDIN_FILENO : -1, POLLIN, 0},
                    {recorder_.messages(), POLLIN, 0}};
  const int timeout = has_more ? 0 : static_cast<int>(std::max<int64_t>(left.count() + 1, 0));
  if (poll(files, std::size(files), timeout) < 0) return false;
  signalfd_siginfo taken;  // A signal that stays pending would end this process later.
  if (files[1].revents) quits_ |= ::read(signals_, &taken, sizeof taken) > 0;
  if (files[2].revents) quits_ |= screen_->quits();
  if (files[3].revents) recorder_.read_messages(messages_);
  return has_more || files[0].revents;
}

// A block of which a part has come is waited for: the recorder is about to write the rest.
bool Top::read() {
  if (view_) return view_->step();
  if (input_.need(1) == 0) return false;  // The recorder has said why.
  const auto warn = [this](const std::string& text) {
    messages_ += "luatrace-top: " + text + '\n';
  };
  const auto make = options_.view.requests  ? request_view
                    : options_.view.samples ? sample_view
                                            : function_view;
  view_ = make(input_, warn, options_.view);
  return true;
}

void Top::show() {
  next_ = std::max(next_ + options_.interval, Clock::now());
  if (!view_) return;
  shown_++;
  table_ =
      view_->text(screen_->is_terminal() ? screen_->rows() : 0, {false, terminal_columns(), false});
  // Nothing comes: the recorder may have said why.
  const bool explains = (table_ == kNothing || table_ == kNoSample) && !messages_.empty();
  if (screen_->is_terminal())
    screen_->show(explains ? table_ + '\n' + messages_ : table_);
  else
    std::cout << (shown_ > 1 ? "\n" : "") << table_ << std::flush;
}

// Was everything written?
bool check_output() {
  if (std::cout.flush()) return true;
  std::cerr << "luatrace-top: standard output: cannot write\n";
  return false;
}

// From now on a second signal ends this process at once, and with it the recorder.
int Top::end(bool by_itself) {
  const bool was_terminal = screen_->is_terminal();
  if (!by_itself) recorder_.stop();
  screen_.reset();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int status = recorder_.wait(messages_);
  if (was_terminal) std::cout << table_ << std::flush;
  std::cerr << messages_;
  if (by_itself && status == 0) std::cerr << "luatrace-top: the recording has ended\n";
  return check_output() ? status : kFailed;
}

int Top::run() {
  bool ended = false;
  while (!is_done() && !ended && std::cout) {
    ended = wait() && !read();
    if (ended || Clock::now() >= next_) show();
  }
  return end(ended);
}

}  // namespace

int luatrace::top_main(int argc, char** argv) {
  try {
    const CommandLine given(top_program(), argc, argv);
    if (!given.print_common(LUATRACE_VERSION)) return Top(read_options(given), argv[0]).run();
    return check_output() ? 0 : kFailed;
  } catch (const UsageError& e) {
    std::cerr << "luatrace-top: " << printable(e.what()) << " (see --help)\n";
  } catch (const std::exception& e) {
    std::cerr << "luatrace-top: cannot continue: " << printable(e.what()) << '\n';
  }
  return kFailed;
}
