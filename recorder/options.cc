// SPDX-License-Identifier: MIT
// Converts the command line (by the table, option_table.cc) to Options. Everything after the first
// word that is not an option, or after "--", belongs to the command, so that `luatrace-record -o x
// luajit -v` gives -v to luajit.
#include "recorder/options.h"

#include <charconv>

#include "cli/command_line.h"
#include "cli/duration.h"
#include "cli/execute.h"
#include "cli/size.h"
#include "luatrace_watch.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"
#include "recorder/watch_request.h"
#include "trace/packing.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kMinRing = uint64_t{LT_RING_MIN_BLOCKS} * LT_RING_BLOCK_SIZE;
constexpr uint64_t kMaxRing = uint64_t{LT_RING_MAX_BLOCKS} * LT_RING_BLOCK_SIZE;
constexpr uint64_t kMinFile = 256 * 1024;

uint64_t size_option(const char* name, const std::string& text, uint64_t min, uint64_t max) {
  const auto n = parse_size(text);
  if (!n || *n < min || *n > max)
    throw UsageError(std::string(name) + ": '" + text + "' is not a size between " + grouped(min) +
                     " and " + grouped(max) + " bytes");
  return *n;
}

int compression_level(const std::string& text) {
  int level = 0;
  for (const char c : text)
    level = isdigit(static_cast<unsigned char>(c)) && level < 100 ? level * 10 + (c - '0') : 100;
  if (level < kMinCompression || level > kMaxCompression)
    throw UsageError("--compress: '" + text + "' is not a level from 1 to 19");
  return level;
}

void check_globs(const char* name, const std::vector<std::string>& globs) {
  size_t size = 0;
  for (const auto& g : globs) {
    if (g.empty() || g.find('\n') != g.npos)
      throw UsageError(std::string(name) + ": a pattern cannot be empty or contain a newline");
    size += g.size() + 1;
  }
  if (size > LT_GLOBS_MAX + 1)
    throw UsageError(std::string(name) + ": the patterns are longer than " + grouped(LT_GLOBS_MAX) +
                     " bytes in all; use a shorter one with *");
}

uint32_t depth_option(const std::string& text) {
  uint32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > 1000000000)
    throw UsageError("--max-depth: '" + text + "' is not a number between 1 and 1,000,000,000");
  return n;
}

constexpr uint64_t kMinFlight = 256 * 1024, kMaxFlight = uint64_t{4} << 30;
constexpr uint64_t kFlightOfTime = 256u << 20;  // bytes, if only a time is given
constexpr size_t kMaxRules = 32;

// A size, or a duration: with a unit of time.
void read_flight(const std::string& text, Options& o) {
  const auto size = parse_size(text);
  const auto ns = size ? std::nullopt : duration_ns(text, 0);
  if (ns && *ns > 0) o.flight_ns = *ns;
  if (o.flight_ns == 0 && !(size && *size >= kMinFlight && *size <= kMaxFlight))
    throw UsageError("--flight: '" + text + "' is neither a size from 256K to 4G nor a duration (" +
                     kTimeExamples + ")");
  o.flight = o.flight_ns > 0 ? kFlightOfTime : *size;
}

// FN=TIME. A function's name may contain "=".
std::pair<std::string, uint64_t> slow_option(const char* name, const std::string& text) {
  const size_t at = text.rfind('=');
  const auto ns = at == text.npos ? std::nullopt : duration_ns(text.substr(at + 1), 0);
  if (!ns || *ns == 0 || at == 0)
    throw UsageError(std::string(name) + ": '" + text + "' is not FN=TIME (TIME: " + kTimeExamples +
                     ")");
  return {text.substr(0, at), *ns};
}

void read_selection(const CommandLine& given, Options& o) {
  if (const auto text = given.last("flight")) read_flight(*text, o);
  for (const auto& text : given.list("slow")) o.slow.push_back(slow_option("--slow", text));
  for (const auto& text : given.list("only-slow"))
    o.only_slow.push_back(slow_option("--only-slow", text));
  o.on_error = given.list("on-error");
  o.snapshot = given.has("snapshot");
}

constexpr uint32_t kMaxHits = 1'000'000'000;

uint32_t number_option(const char* name, const std::string& text, uint32_t min, uint32_t max) {
  uint32_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < min || n > max)
    throw UsageError(std::string(name) + ": '" + text + "' is not a number between " +
                     grouped(min) + " and " + grouped(max));
  return n;
}

// Without -o no event is recorded but those of the watched places, and they are only printed.
void watch_without_file(Options& o) {
  o.no_file = true;
  o.output = "/dev/null";
  o.exclude = {"*"};
  o.c_functions = "none";
}

void read_watch(const CommandLine& given, Options& o) {
  WatchOptions w;
  w.places = o.watch = given.list("watch");
  for (const char* const name : {"print", "print-depth", "when", "count"})
    if (o.watch.empty() && given.has(name))
      throw UsageError(std::string("--") + name + " needs --watch");
  if (o.watch.empty()) return;
  for (const auto& text : given.list("print"))
    for (auto& item : watch_items(text)) w.items.push_back(std::move(item));
  if (w.items.empty()) w.items = {"args", "locals"};
  w.condition = given.last("when").value_or("");
  if (const auto n = given.last("count")) w.count = number_option("--count", *n, 1, kMaxHits);
  if (const auto n = given.last("print-depth"))
    w.depth = number_option("--print-depth", *n, 0, LT_WATCH_DEPTH_MAX);
  o.watch_request = watch_request(w);
  if (o.output.empty() && !o.stack && !o.snapshot && o.thread_context.empty())
    watch_without_file(o);
}

// The VM's own events carry the values, so they come only through its ring.
void check_watch(const Options& o) {
  if (o.watch.empty()) return;
  if (o.via == "bpf") throw UsageError("--watch is not possible with --via bpf");
  if (o.stack || o.inside) throw UsageError("--watch excludes --stack and --inside");
  if (o.no_file && o.flight != 0) throw UsageError("--flight needs -o FILE");
}

double seconds_option(const char* name, const std::string& text) {
  constexpr double kSecond = 1e9, kMaxSeconds = 1e9;
  const double seconds = static_cast<double>(duration_ns(text, kSecond).value_or(0)) / kSecond;
  if (!(seconds > 0) || seconds > kMaxSeconds)
    throw UsageError(std::string(name) + ": invalid duration '" + text +
                     "' (seconds, or a unit as in 500ms, 10m, 1h)");
  return seconds;
}

// Options that no other program is likely to have.
constexpr const char* kOnlyOurs =
    "ring-size c-functions only-slow bpf-link flight max-depth max-size children off-cpu";

// Is it an option of ours that few other programs have, or only_ours: that no other one has?
bool looks_like_ours(const std::string& word, bool only_ours) {
  for (const OptionSpec& o : record_program().options) {
    const std::string name = std::string("--") + o.name;
    if (only_ours && !is_choice(kOnlyOurs, o.name)) continue;
    if (std::string_view("verbose quiet help version").find(o.name) != std::string::npos) continue;
    if (word == name || word.starts_with(name + "=")) return true;
    if (!o.letter || !o.value || only_ours) continue;
    const std::string letter = std::string("-") + o.letter;
    const bool number = o.letter == 'd' || o.letter == 'p';  // "-d5"
    if (word == letter || (number && word.starts_with(letter) &&
                           word.find_first_not_of("0123456789.", 2) == word.npos))
      return true;
  }
  return false;
}

constexpr uint32_t kMaxHertz = 10000, kMaxThreads = 16;

void read_sampling(const CommandLine& given, Options& o) {
  if (const auto hz = given.last("sample"))
    o.sample_hz = number_option("--sample", *hz, 1, kMaxHertz);
  for (const auto& tid : given.list("tid"))
    o.threads.push_back(number_option("--tid", tid, 1, INT32_MAX));
  o.off_cpu = given.has("off-cpu");
  o.user_only = given.has("user-only");
  o.kernel_only = given.has("kernel-only");
  o.lua_only = given.has("lua-only");
  if (const auto n = given.last("max-stack"))
    o.max_stack = number_option("--max-stack", *n, 1, LT_SAMPLE_FRAMES_MAX);
  for (const char* const name :
       {"off-cpu", "tid", "user-only", "kernel-only", "lua-only", "max-stack"})
    if (o.sample_hz == 0 && given.has(name))
      throw UsageError(std::string("--") + name + " needs --sample");
  if (o.threads.size() > kMaxThreads) throw UsageError("--tid: more than 16 threads");
  if (o.user_only + o.kernel_only + o.lua_only > 1)
    throw UsageError("--user-only, --kernel-only and --lua-only exclude each other");
}

// What is about events, or about another method.
void check_sampling(const CommandLine& given, const Options& o) {
  if (o.sample_hz == 0) return;
  for (const char* const name : {"include", "exclude", "c-functions", "times", "cpu", "max-depth",
                                 "block", "flight", "slow", "on-error", "only-slow", "snapshot",
                                 "via", "seccomp", "bpf-link", "watch", "stack", "inside"})
    if (given.has(name)) throw UsageError(std::string("--sample excludes --") + name);
}

constexpr double kEvery = 60;  // seconds

// What is luatrace-analyze's is passed on, and checked there.
void read_push(const CommandLine& given, Options& o) {
  o.push = given.last("push").value_or("");
  if (const auto every = given.last("every")) o.every = seconds_option("--every", *every);
  for (const auto& label : given.list("label"))
    o.push_options.insert(o.push_options.end(), {"--label", label});
  for (const char* const name :
       {"push-as", "push-headers", "push-ca", "push-spool", "push-spool-limit", "push-wait"})
    if (const auto value = given.last(name))
      o.push_options.insert(o.push_options.end(), {std::string("--") + name, *value});
  if (o.push.empty() && (o.every > 0 || !o.push_options.empty()))
    throw UsageError("--every, --label and --push-... need --push URL");
  if (o.push.empty()) return;
  if (o.every == 0) o.every = kEvery;
  if (o.seconds > o.every)
    throw UsageError("-d: the window is longer than --every, the time from one to the next");
  for (const char* const name : {"output", "flight", "snapshot", "stack", "watch", "inside"})
    if (given.has(name)) throw UsageError(std::string("--push excludes --") + name);
  if (is_all_programs())
    throw UsageError("--push: this program is static, and cannot load libcurl");
  if (!o.attach()) throw UsageError("--push needs processes to attach to: -p PID, or -a");
}

// What excludes segments: what reads, or changes, single events on their way to the file. Empty:
// nothing.
std::string needs_events(const CommandLine& given, const Options& o) {
  for (const char* const name : {"sample", "flight", "only-slow", "max-depth", "cpu", "inside"})
    if (given.has(name)) return std::string("--") + name;
  const std::string filter = o.via == "bpf" ? recorders_filter(o) : "";
  return filter.empty() ? "" : "--via bpf with " + filter;
}

// By default segments where they pay, if nothing excludes them; into a pipe events, so that its
// reader need not know segments.
void read_times(const CommandLine& given, Options& o) {
  const std::string why = needs_events(given, o);
  o.times = given.last("times").value_or(why.empty() && o.output != "-" ? "auto" : "events");
  if (o.times != "events" && !why.empty())
    throw UsageError("--times " + o.times + " and " + why + " exclude each other");
}

void check_selection(const Options& o) {
  if (o.flight == 0 && !(o.slow.empty() && (o.on_error.empty() || !o.only_slow.empty())))
    throw UsageError("--slow and --on-error need --flight");
  if (o.flight != 0 && !o.only_slow.empty())
    throw UsageError("--flight and --only-slow exclude each other");
  if (o.flight != 0 && o.output == "-")
    throw UsageError("--flight: snapshots are files of their own; -o - is not possible");
  if (o.slow.size() + o.only_slow.size() + o.on_error.size() > kMaxRules)
    throw UsageError("--slow, --only-slow, --on-error: more than 32 in all");
  if (o.flight == 0 && o.output.find("%n") != o.output.npos)
    throw UsageError("%n in the file's name, the number of a snapshot, needs --flight");
}

// It is done at once, and nothing is recorded.
void check_thread_context(const CommandLine& given, const Options& o) {
  if (o.thread_context.empty()) return;
  if (o.pids.empty() || !o.command.empty())
    throw UsageError("--thread-context needs -p PID, and excludes a command and -a");
  for (const OptionSpec& option : record_program().options)
    if (!is_choice("thread-context pid children seccomp verbose quiet", option.name) &&
        given.has(option.name))
      throw UsageError(std::string("--thread-context excludes --") + option.name);
}

// Options that exclude each other.
void check(const Options& o) {
  if (o.json && !o.stack) throw UsageError("--json needs --stack");
  if (o.all && (!o.pids.empty() || o.children || !o.command.empty() || o.stack || o.snapshot ||
                !o.watch.empty()))
    throw UsageError(
        "-a attaches to every process: it excludes a command, -p, --children, --stack, --snapshot "
        "and --watch");
  if (o.stack && (!o.attach() || !o.command.empty() || !o.output.empty() || o.inside))
    throw UsageError("--stack needs -p PID, and excludes a command and -o");
  if (o.snapshot) {
    if (!o.attach() || !o.command.empty() || !o.output.empty() || o.flight != 0 || !o.watch.empty())
      throw UsageError(
          "--snapshot needs -p PID of a process that luatrace-record --flight records, "
          "and excludes a command, -o and --flight");
    for (const auto& pid : o.pids)
      if (pid.size() > 9 || pid.find_first_not_of("0123456789") != pid.npos)
        throw UsageError("--snapshot: -p: '" + pid + "' is not a process id");
    return;
  }
  if (o.inside && o.output == "-")
    throw UsageError(
        "a program that records itself cannot do so into standard output (-): name a file");
  check_watch(o);
  check_selection(o);
  if (o.output.empty() && !o.stack && o.push.empty() && o.thread_context.empty()) {
    const std::string misplaced = explain_misplaced(o.command);
    throw UsageError("missing output file (-o FILE)" + (misplaced.empty() ? "" : "; " + misplaced));
  }
  if (o.inside && (!o.command.empty() || o.attach() || o.via == "bpf"))
    throw UsageError("--inside excludes a command, -p and --via bpf");
  if (o.command.empty() && !o.attach() && !o.inside)
    throw UsageError("missing command after the options (or -p PID, or -a)");
  if (!o.command.empty() && o.attach())
    throw UsageError("a command and -p exclude each other: unexpected '" + o.command[0] + "'");
  for (const auto& spec : o.pids)
    if (!is_process_spec(spec))
      throw UsageError("-p: '" + spec + "' is not a process id, nor PID@HOSTPID");
  const bool bpf = o.via == "bpf" || (o.via == "auto" && o.attach());
  if (!bpf && o.bpf_link != "auto") throw UsageError("--bpf-link needs --via bpf");
  if (o.via == "bpf" && o.seccomp != "check")
    throw UsageError("--seccomp needs --via direct; filters do not affect --via bpf");
  if (o.children && !o.attach())
    throw UsageError("--children needs -p; a command's children are always recorded");
}

void read_sizes(const CommandLine& given, Options& o) {
  if (const auto size = given.last("ring-size"))
    o.ring_size = size_option("--ring-size", *size, kMinRing, kMaxRing);
  if (const auto size = given.last("max-size"))
    o.max_size = size_option("--max-size", *size, kMinFile, UINT64_MAX >> 1);
  if (const auto level = given.last("compress", "1")) o.compression = compression_level(*level);
  if (const auto depth = given.last("max-depth")) o.max_depth = depth_option(*depth);
  if (const auto seconds = given.last("duration")) o.seconds = seconds_option("-d", *seconds);
}

Options options_from(const CommandLine& given) {
  Options o;
  o.output = given.last("output").value_or("");
  o.force = given.has("force");
  o.include = given.list("include");
  o.exclude = given.list("exclude");
  o.c_functions = given.last("c-functions").value_or("");
  o.block = given.has("block");
  o.cpu = given.has("cpu");
  o.pids = given.list("pid");
  o.inside = given.has("inside");
  o.stack = given.has("stack");
  o.thread_context = given.last("thread-context").value_or("");
  o.json = given.has("json");
  o.children = given.has("children");
  o.all = given.has("all");
  o.via = given.last("via").value_or(o.via);
  o.seccomp = given.last("seccomp").value_or(o.seccomp);
  o.bpf_link = given.last("bpf-link").value_or(o.bpf_link);
  o.verbose = given.has("verbose");
  o.quiet = given.has("quiet");
  o.command = given.operands();
  read_sizes(given, o);
  read_selection(given, o);
  read_watch(given, o);
  read_sampling(given, o);
  read_push(given, o);
  check_sampling(given, o);
  read_times(given, o);
  check_thread_context(given, o);
  check_globs("--include", o.include);
  check_globs("--exclude", o.exclude);
  check(o);
  return o;
}

}  // namespace

const char* version_text() {
  return LUATRACE_VERSION;
}

std::string explain_misplaced(const std::vector<std::string>& command, bool failed) {
  for (size_t i = 1; i < command.size() && command[i] != "--"; i++)
    if (looks_like_ours(command[i], !failed))
      return shell_word(command[i]) + " after " + shell_word(command[0]) +
             " is an option of that command; options of luatrace-record come before it";
  return "";
}

Options parse_options(int argc, char** argv, bool* done) {
  const CommandLine given(record_program(), argc, argv);
  *done = given.print_common(version_text());
  Options o;
  if (!*done) o = options_from(given);
  o.self = argc > 0 ? argv[0] : "luatrace-record";
  return o;
}

}  // namespace luatrace::record
