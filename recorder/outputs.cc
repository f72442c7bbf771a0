// SPDX-License-Identifier: MIT
#include "recorder/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "recorder/options.h"
#include "recorder/os/text.h"
#include "trace/descriptor.h"

namespace luatrace::record {
namespace {

// Values are one line each.
std::string note_line(const std::string& key, std::string value) {
  for (size_t at = 0; (at = value.find('\n', at)) != value.npos; at += 2)
    value.replace(at, 1, "\\n");
  return key + "=" + value + "\n";
}

std::string date_text() {
  char text[32];
  const time_t now = time(nullptr);
  tm utc{};
  gmtime_r(&now, &utc);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

// Why a file that exists is kept; empty: it is a trace.
std::string keep_others(int fd) {
  uint64_t magic = 0;
  if (read(fd, &magic, sizeof magic) == sizeof magic && magic == LT_FILE_MAGIC) return "";
  return "it exists and is not a trace; choose another name";
}

// The file without a name that a program which records itself has made: where it is.
std::string temporary_name(const std::string& path) {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(path, error);
  return "the temporary file in " + target.parent_path().string() + " (TMPDIR)";
}

}  // namespace

bool is_replaceable(int fd) {
  struct stat st {};
  if (fstat(fd, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_size == 0)) return true;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  const Descriptor reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return keep_others(reader).empty();
}

bool Outputs::open(pid_t pid) {
  if (options_.output == "-") {
    opened_name_ = "standard output";
    if (isatty(STDOUT_FILENO)) {
      error_ = "-o -: standard output is a terminal; redirect it or name a file";
      return false;
    }
    opened_fd_ = Descriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    trace_stdout_ = opened_fd_;
  } else {
    opened_ = open_file(pid, 1, opened_name_);
    if (is_temporary()) opened_name_ = temporary_name(options_.output);
    opened_pid_ = pid;
    opened_fd_ = Descriptor(opened_.fd);
  }
  if (opened_fd_ >= 0) return true;
  error_ = opened_name_ +
           ": cannot open for writing: " + (opened_.why.empty() ? errno_text(errno) : opened_.why);
  return false;
}

// The next number that no file has: snapshots of earlier recordings are kept.
std::string Outputs::numbered(pid_t pid, uint32_t number) {
  const auto name_of = [&](uint32_t n) {
    const std::string name = expand(options_.output, "%n", static_cast<int>(n));
    return options_.file_per_process() ? expand_pid(name, pid) : name;
  };
  uint32_t& skipped = skipped_[options_.file_per_process() ? pid : 0];
  if (!options_.force && name_of(1) != name_of(2))
    while (access(name_of(skipped + number).c_str(), F_OK) == 0) skipped++;
  return name_of(skipped + number);
}

OpenedOutput Outputs::open_file(pid_t pid, uint32_t number, std::string& name) {
  const std::lock_guard lock(names_mutex_);
  name = numbered(pid, number);
  int& used = names_[name];
  if (used > 0) name += "." + std::to_string(used + 1);
  const auto keep = [this](int fd) {
    const std::string why = keep_others(fd);
    return why.empty() || options_.inside ? why : why + ", or --force overwrites it";
  };
  OpenedOutput opened = open_replacement(name, options_.force ? KeepReason() : keep);
  // A snapshot whose file cannot be opened must not be in the way of the next one.
  if (opened.fd >= 0 || number > 1) used++;
  return opened;
}

std::string Outputs::note() const {
  utsname host{};
  uname(&host);
  std::string text = note_line("recorder", std::string("luatrace-record ") + version_text());
  text += note_line("kernel", std::string(host.sysname) + " " + host.release + " " + host.machine);
  text += note_line("cpus", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  text += note_line("date", date_text());
  if (options_.attach()) {
    text += note_line("attached", shell_line(options_.pids));
    text += note_line("children", options_.children ? "1" : "0");
    text += note_line("via", options_.via);
  } else if (options_.inside) {
    text += note_line("inside", "1");
  } else {
    text += note_line("command", shell_line(options_.command));
    if (options_.via == "bpf") text += note_line("via", options_.via);
  }
  if (!options_.include.empty()) text += note_line("include", shell_line(options_.include));
  if (!options_.exclude.empty()) text += note_line("exclude", shell_line(options_.exclude));
  if (!options_.c_functions.empty()) text += note_line("c-functions", options_.c_functions);
  if (options_.ring_size) text += note_line("ring-size", std::to_string(options_.ring_size));
  if (options_.sample_hz) text += note_line("sample", std::to_string(options_.sample_hz));
  if (options_.off_cpu) text += note_line("off-cpu", "1");
  if (options_.times != "events") text += note_line("times", options_.times);
  if (options_.block) text += note_line("block", "1");
  if (options_.cpu) text += note_line("cpu", "1");
  if (options_.compression) text += note_line("compress", std::to_string(options_.compression));
  if (options_.max_size) text += note_line("max-size", std::to_string(options_.max_size));
  if (options_.max_depth) text += note_line("max-depth", std::to_string(options_.max_depth));
  if (options_.flight_ns) text += note_line("flight-ns", std::to_string(options_.flight_ns));
  if (options_.flight) text += note_line("flight", std::to_string(options_.flight));
  for (const auto& [function, ns] : options_.only_slow)
    text += note_line("only-slow", function + "=" + std::to_string(ns) + "ns");
  for (const auto& place : options_.watch) text += note_line("watch", place);
  if (options_.seconds > 0) text += note_line("duration", std::to_string(options_.seconds));
  return text;
}

// A thread, like the drainer: created after everything that forks.
WriteQueue& Outputs::queue() {
  if (queue_ != nullptr) return *queue_;
  queue_ = std::make_unique<WriteQueue>();
  if (options_.attach() && options_.seconds == 0 && options_.max_size == 0) queue_->watch_disk();
  return *queue_;
}

SelectionSettings Outputs::selection(pid_t pid) {
  SelectionSettings s;
  std::vector<WatchRule> rules;
  for (const auto& [function, ns] : options_.flight ? options_.slow : options_.only_slow)
    rules.push_back({function, ns, false});
  for (const auto& function : options_.on_error) rules.push_back({function, UINT64_MAX, true});
  if (options_.flight == 0) return s.only_slow = std::move(rules), s;
  s.flight = {options_.flight,      options_.flight_ns, std::move(rules), options_.max_size,
              options_.compression, is_temporary(),     options_.quiet};
  s.open = [this, pid](uint32_t number, std::string& name) { return open_file(pid, number, name); };
  return s;
}

std::shared_ptr<Output> Outputs::make(OpenedOutput opened, const std::string& name, pid_t pid) {
  auto output = std::make_shared<Output>(
      queue(), std::move(opened), name, clock_, options_.max_size, options_.compression,
      options_.output != "-", selection(pid), options_.times != "events");
  output->totals().unmatched = UnmatchedGlobs(options_.include);
  output->begin(note());
  return output;
}

std::shared_ptr<Output> Outputs::begin() {
  if (opened_fd_ < 0) return nullptr;
  opened_.fd = opened_fd_.release();  // Also of standard output.
  all_.push_back(make(opened_, opened_name_, opened_pid_));
  begun_ = all_.back().get();
  return all_.back();
}

std::shared_ptr<Output> Outputs::add(pid_t pid, std::string& why) {
  std::string name;
  const OpenedOutput opened = open_file(pid, 1, name);
  if (opened.fd >= 0) return make(opened, name, pid);
  why = name + ": cannot open for writing: " + opened.why;
  failed_ = true;
  return nullptr;
}

void Outputs::remove_unused() const {
  if (opened_fd_ >= 0 && opened_.created) remove_output(opened_name_, opened_);
}

}  // namespace luatrace::record
