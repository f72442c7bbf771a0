// SPDX-License-Identifier: MIT
#include "analyzer/push/push.h"

#include <time.h>

#include <algorithm>
#include <optional>
#include <random>

#include "analyzer/push/credentials.h"
#include "analyzer/push/http.h"
#include "analyzer/push/request.h"
#include "analyzer/push/spool.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

using Warn = std::function<void(const std::string&)>;
constexpr uint64_t kMilli = 1'000'000;

uint64_t steady_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void sleep_ns(uint64_t ns) {
  timespec rest{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  while (nanosleep(&rest, &rest) != 0) {
  }
}

// What became of a request.
enum class Outcome {
  kTaken,
  kAway,        // Not now: the server cannot be reached, or is overloaded.
  kRefused,     // Never: the server understands it and does not want it.
  kNotSetUp,    // Not with these options: wrong URL, credentials or certificate.
  kUnanswered,  // The server may have taken it.
};

// A later attempt may succeed, and cannot send anything twice.
bool can_wait(Outcome outcome) {
  return outcome == Outcome::kAway || outcome == Outcome::kNotSetUp;
}

// The server said that it has not taken the request, but may take it later.
bool is_passing(long status) {
  return status == 408 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

std::string answer_text(const HttpAnswer& a) {
  if (!a.status) return printable(a.error);
  const std::string text = printable(cut_bytes(a.body.substr(0, a.body.find('\n')), 200));
  return "HTTP status " + std::to_string(a.status) + (text.empty() ? "" : ": " + text);
}

// Sends requests to one server until a time has passed.
class PushSender {
 public:
  PushSender(const PushOptions& options, const Warn& warn)
      : options_(options),
        warn_(warn),
        headers_(push_headers(options.headers_file)),
        http_(options.ca_file),
        deadline_(steady_ns() + options.wait_ns) {}

  // Calls `begin` before each attempt, and `end` after each that the server has surely not taken.
  Outcome send(const PushRequest& request, const std::function<void()>& begin,
               const std::function<void()>& end);

 private:
  Outcome judge(const PushRequest& request, const HttpAnswer& answer) const;
  HttpAnswer post(const PushRequest& request);
  bool pause(uint64_t retry_after);

  const PushOptions& options_;
  const Warn& warn_;
  const std::vector<std::string> headers_;
  HttpClient http_;
  const uint64_t deadline_;
  uint64_t backoff_ns_ = 0;
  std::minstd_rand random_{std::random_device{}()};
};

HttpAnswer PushSender::post(const PushRequest& r) {
  std::vector<std::string> headers = {"Content-Type: " + r.type, "Idempotency-Key: " + r.id};
  if (!r.encoding.empty()) headers.push_back("Content-Encoding: " + r.encoding);
  if (r.form == push_form_name(PushForm::kPyroscopeConnect))
    headers.push_back("Connect-Protocol-Version: 1");
  headers.insert(headers.end(), headers_.begin(), headers_.end());
  const uint64_t now = steady_ns();
  const uint64_t left_ms = now < deadline_ ? (deadline_ - now) / kMilli : 0;
  return http_.post(options_.url + r.query, headers, r.body,
                    static_cast<long>(std::clamp<uint64_t>(left_ms, 1000, 3'600'000)));
}

Outcome PushSender::judge(const PushRequest& request, const HttpAnswer& a) const {
  if (!a.status) {
    if (a.trust_error) return Outcome::kNotSetUp;
    return a.sent ? Outcome::kUnanswered : Outcome::kAway;
  }
  if (a.status >= 200 && a.status < 300) {
    const std::string why = check_push_answer(request.form, a.type, a.body);
    if (why.empty()) return Outcome::kTaken;
    warn_("--push: " + printable(options_.url) + ": " + why);
    return why.starts_with("the server rejected") ? Outcome::kRefused : Outcome::kNotSetUp;
  }
  if (is_passing(a.status)) return Outcome::kAway;
  const bool of_request = a.status == 400 || a.status == 413 || a.status == 422;
  return of_request ? Outcome::kRefused : Outcome::kNotSetUp;
}

// Waits before the next attempt, for as long as the server asks or else twice as long as the last
// time, up to 10 s, of which a random quarter is left out. False if that is after the deadline.
bool PushSender::pause(uint64_t retry_after) {
  constexpr uint64_t kFirst = 250 * kMilli, kLongest = 10'000 * kMilli;
  backoff_ns_ = backoff_ns_ ? std::min(2 * backoff_ns_, kLongest) : kFirst;
  const uint64_t wait = retry_after ? std::min<uint64_t>(retry_after, 86'400) * 1000 * kMilli
                                    : backoff_ns_ - random_() % (backoff_ns_ / 4);
  const uint64_t now = steady_ns();
  if (now >= deadline_ || wait > deadline_ - now) return false;
  sleep_ns(wait);
  return true;
}

Outcome PushSender::send(const PushRequest& request, const std::function<void()>& begin,
                         const std::function<void()>& end) {
  for (;;) {
    begin();
    const HttpAnswer answer = post(request);
    const Outcome outcome = judge(request, answer);
    if (outcome == Outcome::kTaken) backoff_ns_ = 0;
    if (can_wait(outcome)) end();
    if (outcome == Outcome::kAway && pause(answer.retry_after)) continue;
    const bool has_message = answer.status >= 200 && answer.status < 300;  // By judge().
    if (!has_message) warn_("--push: " + printable(options_.url) + ": " + answer_text(answer));
    return outcome;
  }
}

// Sends one that waits.
Outcome send_waiting(PushSender& sender, Spool& spool, const std::string& name, const Warn& warn,
                     const PushRequest& request) {
  const Outcome outcome = sender.send(
      request, [&] { spool.begin(name); }, [&] { spool.put_back(name); });
  if (outcome == Outcome::kTaken) spool.remove(name);
  if (outcome == Outcome::kTaken || can_wait(outcome)) return outcome;
  const bool refused = outcome == Outcome::kRefused;
  spool.set_aside(name, refused);
  warn("--push: " + printable(spool.directory() + '/' + name) +
       (refused
            ? ".refused: the server refused it; it is not sent again"
            : ".unanswered: sent, but no answer came; it is not sent again, unless you rename it "
              "to .push"));
  return outcome;
}

// What became of those that waited.
struct SpoolCounts {
  size_t aside = 0, left = 0, damaged = 0, others = 0;
};

SpoolCounts send_all(PushSender& sender, Spool& spool, const std::string& form, const Warn& warn) {
  SpoolCounts counts;
  for (const std::string& name : spool.waiting()) {
    if (counts.left) {  // They are sent in order.
      counts.left++;
      continue;
    }
    const std::optional<PushRequest> next = spool.read(name);
    if (!next || next->form != form) {
      (next ? counts.others : counts.damaged)++;
      continue;
    }
    const Outcome outcome = send_waiting(sender, spool, name, warn, *next);
    counts.left += can_wait(outcome);
    counts.aside += outcome == Outcome::kRefused || outcome == Outcome::kUnanswered;
  }
  return counts;
}

PushResult push_spooled(const PushRequest& request, const PushOptions& options, const Warn& warn) {
  PushSender sender(options, warn);
  Spool spool(options.spool, options.spool_bytes);
  spool.add(request);
  const SpoolCounts counts = send_all(sender, spool, request.form, warn);
  const auto report = [&](size_t number, const char* what) {
    if (number)
      warn("--push: '" + printable(options.spool) + "': " + std::to_string(number) + what);
  };
  report(counts.damaged, " damaged: not sent");
  report(counts.others, " for servers of another form: not sent");
  report(counts.left, " waiting: the next --push sends them first");
  return counts.left    ? PushResult::kWaiting
         : counts.aside ? PushResult::kFailed
                        : PushResult::kSent;
}

}  // namespace

PushResult push_report(const Report& report, const PushOptions& options, const Warn& warn) {
  const PushRequest request =
      make_push_request(options.form, report, push_labels(report, options.labels));
  if (!options.spool.empty()) return push_spooled(request, options, warn);
  PushSender sender(options, warn);
  const Outcome outcome = sender.send(
      request, [] {}, [] {});
  if (outcome == Outcome::kUnanswered)
    warn("--push: sent, but no answer came: whether the server has it is not known");
  return outcome == Outcome::kTaken ? PushResult::kSent : PushResult::kFailed;
}

}  // namespace luatrace::analyze
