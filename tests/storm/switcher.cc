// SPDX-License-Identifier: MIT
// See switcher.h. The symbol is looked up in the ELF file's symbol tables, its address in the
// process from /proc/PID/maps.
#include "switcher.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

namespace luatrace::test {
namespace {

// Value of a symbol of a 64-bit ELF file; 0 if it is not there.
uint64_t SymbolValue(const std::string& path, const std::string& name) {
  std::ifstream in(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    const Elf64_Shdr& s = sections[i];
    if (s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM) continue;
    const char* names = file.data() + sections[s.sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(file.data() + s.sh_offset);
    for (size_t k = 0; k < s.sh_size / sizeof(Elf64_Sym); k++)
      if (name == names + symbols[k].st_name) return symbols[k].st_value;
  }
  return 0;
}

bool PositionIndependent(const std::string& path) {
  Elf64_Ehdr header{};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  return header.e_type == ET_DYN;
}

struct Symbol {
  std::string path;  // of the executable
  uint64_t value = 0;
};

Symbol FindControl(const std::vector<std::string>& argv) {
  for (const std::string& word : argv) {
    std::error_code none;
    const auto path = std::filesystem::canonical(word, none);
    if (none || !std::filesystem::is_regular_file(path) || access(path.c_str(), X_OK) != 0)
      continue;
    if (const uint64_t value = SymbolValue(path, "luajit_usdt_control")) return {path, value};
  }
  return {};
}

// Lowest address at which a process maps the file; 0: not (yet).
uint64_t LoadAddress(pid_t pid, const std::string& path) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(path)) return std::stoull(line, nullptr, 16);
  return 0;
}

struct Child {
  pid_t pid = -1;
  int in = -1;  // the program waits for a line
  int out = -1;
};

Child Start(const std::vector<std::string>& argv) {
  int ends[2], starts[2];
  Child child;
  if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(starts, O_CLOEXEC) != 0) return child;
  std::vector<char*> args;
  for (const auto& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  child.pid = fork();
  if (child.pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(starts[0], 0);
    dup2(ends[1], 1);
    execvp(args[0], args.data());
    _exit(127);
  }
  close(ends[1]);
  close(starts[0]);
  child.in = starts[1];
  child.out = ends[0];
  return child;
}

// The next value of the control word: semaphore of events, ring, semaphore of blocks, 16 bits each.
uint64_t NextWord(Ways ways, std::mt19937& random) {
  const uint64_t probes = random() & 1, ring = random() & 1, blocks = random() & 1;
  if (ways == Ways::kProbes) return probes;
  if (ways == Ways::kRing) return ring << 16;
  if (ways == Ways::kBlocks) return blocks << 32;
  return probes | ring << 16 | blocks << 32;
}

// Of processor time that a process has had; 0 also if that is not known.
unsigned SecondsOf(pid_t pid) {
  clockid_t clock;
  timespec t{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return static_cast<unsigned>(t.tv_sec);
}

// A switch takes the program more time than lies between two switches where system calls are slow:
// after this many it runs on as it is then, and ends.
constexpr uint64_t kMaxSwitches = 5'000;

// Lets the program begin, and switches until it is gone or has had its time.
void Storm(const Child& child, uint64_t address, Ways ways, uint32_t seed, unsigned seconds,
           StormResult* result) {
  const pid_t pid = child.pid;
  const int memory = open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC);
  std::mt19937 random(seed);
  while (memory >= 0) {
    const uint64_t word = NextWord(ways, random);
    siginfo_t info{};
    if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0) break;
    const bool switches = result->switches < kMaxSwitches;
    if (switches && pwrite(memory, &word, sizeof word, static_cast<off_t>(address)) != sizeof word)
      break;
    if (switches && result->switches++ == 0 && write(child.in, "\n", 1) != 1) break;
    if (SecondsOf(pid) >= seconds) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::microseconds(30 + random() % 970));
  }
  if (memory >= 0) close(memory);
  close(child.in);
}

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, n);
  close(fd);
  return text;
}

}  // namespace

StormResult RunInStorm(const std::vector<std::string>& argv, Ways ways, uint32_t seed,
                       unsigned seconds) {
  StormResult result;
  const auto [path, value] = FindControl(argv);
  if (value == 0) {
    result.error = argv.back() + ": no program with a symbol luajit_usdt_control runs it";
    return result;
  }
  signal(SIGPIPE, SIG_IGN);  // the program may be gone before it gets its line
  const Child child = Start(argv);
  std::thread reader([&] { result.output = ReadAll(child.out); });
  uint64_t base = 0;
  for (int i = 0; i < 600'000 && base == 0; i++) {
    base = LoadAddress(child.pid, path);
    if (base == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (!PositionIndependent(path)) base = 0;
  Storm(child, base + value, ways, seed, seconds, &result);
  waitpid(child.pid, &result.wait_status, 0);
  reader.join();
  return result;
}

}  // namespace luatrace::test
