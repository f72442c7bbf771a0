// SPDX-License-Identifier: MIT
// The program of kill_sweep; see swept_program.h.
#include "tests/hostile/swept_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "tests/hostile/left_behind.h"

namespace hostile {
namespace {

using luatrace::record::monotonic_ns;

constexpr size_t kBytes = 32;  // of the shared file
constexpr uint64_t kBegin = 20'000'000'000;

std::string text_of(const std::set<std::string>& all) {
  std::string text;
  for (const auto& s : all) text += " (" + s + ")";
  return text;
}

}  // namespace

void fail(const std::string& text) {
  std::fprintf(stderr, "FAIL: %s\n", text.c_str());
  std::exit(1);
}

Progress::Progress(const std::string& file) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, kBytes) != 0) fail(file);
  void* const p = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (p == MAP_FAILED) fail(file + " cannot be mapped");
  words_ = static_cast<volatile double*>(p);
  words_[3] = getpid();
}

Progress::~Progress() {
  munmap(const_cast<double*>(words_), kBytes);
}

SweptProgram::SweptProgram(const std::vector<std::string>& words, const Progress& progress)
    : progress_(progress) {
  std::vector<char*> argv;
  for (const auto& w : words) argv.push_back(const_cast<char*>(w.c_str()));
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execv(argv[0], argv.data());
    _exit(99);
  }
  for (const uint64_t limit = monotonic_ns() + kBegin; progress_.rounds() < 3; usleep(1000))
    if (monotonic_ns() > limit) fail("the program does not begin");
  before_ = {0, descriptors(), code_of(pid_)};
  if (before_.code.empty()) fail("its code cannot be read");
}

SweptProgram::SweptProgram(pid_t pid, const Progress& progress, Untouched before)
    : pid_(pid), progress_(progress), before_(std::move(before)) {}

SweptProgram::~SweptProgram() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string SweptProgram::disturbed(Forgotten forgotten) const {
  if (luatrace::record::process_is_gone(pid_)) return "it has ended";
  if (progress_.is_wrong()) return "it has computed a different result";
  LeftBehind left;
  std::string why;
  if (!look_at(pid_, left, why)) return why;
  if (forgotten != Forgotten::kSwitch && left.ring != 0) return "its switch is on";
  if (forgotten == Forgotten::kNothing && left.owner) return "the claim is left";
  if (forgotten == Forgotten::kNothing && left.settings) return "the settings are left";
  if (left.probes != 0) return "tracers of its probes: " + std::to_string(left.probes);
  if (left.states == 0) return "it has no Lua VM";
  if (left.on != 0) return "a Lua VM is on";
  if (left.patched != 0) return "patched slots: " + std::to_string(left.patched);
  const std::string maps = luatrace::record::read_proc(pid_, "maps");
  if (maps.find("luatrace-ring") != maps.npos) return "it has a ring";
  if (const auto now = descriptors(); now != before_.descriptors)
    return "its descriptors are" + text_of(now) + ", not" + text_of(before_.descriptors);
  if (const std::string changed = changed_code(); !changed.empty()) return changed;
  return stopped();
}

std::set<std::string> SweptProgram::descriptors() const {
  std::set<std::string> all;
  std::error_code e;
  for (const auto& f :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd", e)) {
    const std::string number = f.path().filename();
    if (std::atoi(number.c_str()) >= before_.first_descriptor)
      all.insert(number + " " + luatrace::record::read_link(f.path()));
  }
  return all;
}

std::string SweptProgram::changed_code() const {
  const std::string now = code_of(pid_);
  if (now == before_.code) return "";
  size_t at = 0;
  while (at < std::min(now.size(), before_.code.size()) && now[at] == before_.code[at]) at++;
  std::string text = "its code is changed, from byte " + std::to_string(at) + ":";
  char byte[8];
  for (size_t i = at; i < std::min(now.size(), at + 8); i++)
    text += (std::snprintf(byte, sizeof byte, " %02x", now[i] & 0xff), byte);
  return text;
}

std::string SweptProgram::stopped() const {
  const std::string status = luatrace::record::read_proc(pid_, "status");
  const size_t state = status.find("\nState:\t"), tracer = status.find("\nTracerPid:\t");
  if (state == status.npos || tracer == status.npos) return "it has no status";
  if (std::strchr("RSD", status[state + 8]) == nullptr)
    return std::string("its state is ") + status[state + 8];
  return status[tracer + 12] == '0' ? "" : "a process traces it";
}

}  // namespace hostile
