// SPDX-License-Identifier: MIT
#include "recorder/sampler/program.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/escape.h"
#include "recorder/os/clock.h"
#include "recorder/os/text.h"
#include "sample.skel.h"
#include "trace/descriptor.h"

namespace luatrace::record::sampler {
namespace {

constexpr uint64_t kInitialPidNamespace = 0xeffffffc;  // its inode

// libbpf's first message, kept in case something fails.
std::string first_warning;

int keep_warning(libbpf_print_level level, const char* format, va_list values) {
  char text[512];
  if (level != LIBBPF_WARN || !first_warning.empty()) return 0;
  std::vsnprintf(text, sizeof text, format, values);
  first_warning = text;
  return 0;
}

bpf::Failure failed(const std::string& what, int error) {
  std::string text = "cannot " + what + ": " + errno_text(error);
  const std::string warning = printable(first_warning.substr(0, first_warning.find('\n')));
  if (!warning.empty()) text += " (" + warning + ")";
  if (access("/sys/kernel/btf/vmlinux", F_OK) != 0) {
    text +=
        "; the kernel has no description of its types (/sys/kernel/btf/vmlinux, "
        "CONFIG_DEBUG_INFO_BTF)";
    if (error == ESRCH) error = EOPNOTSUPP;  // libbpf does not mean a process
  }
  return {error, text};
}

uint32_t ring_size(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return static_cast<uint32_t>(std::bit_ceil(std::clamp(bytes, page, uint64_t{1} << 30)));
}

int open_event(const Settings& s, int cpu) {
  perf_event_attr a{};
  a.size = sizeof a;
  a.type = PERF_TYPE_SOFTWARE;
  a.config = PERF_COUNT_SW_CPU_CLOCK;
  a.sample_period = kSecond / s.hertz;
  a.exclude_idle = 1;
  a.exclude_user = s.only_kernel_mode;
  return static_cast<int>(syscall(SYS_perf_event_open, &a, -1, cpu, -1,
                                  static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC)));
}

bool has_tracepoint(const std::string& name) {
  btf* const types = btf__load_vmlinux_btf();
  const int id = btf__find_by_name_kind(types, ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF);
  btf__free(types);
  return id > 0;
}

}  // namespace

Program::~Program() {
  stop();
  ring_buffer__free(samples_);
  ring_buffer__free(execs_);
  if (skeleton_ != nullptr) luatrace_sampler__destroy(skeleton_);
}

std::string Program::not_built() {
  return "";
}

bpf::Failure Program::start() {
  if (bpf::Failure f = load()) return f;
  bpf::Failure f = settings_.off_cpu ? follow_scheduler() : open_events();
  if (!f) skeleton_->links.on_exec = bpf_program__attach(skeleton_->progs.on_exec);
  return f;
}

bpf::Failure Program::load() {
  first_warning.clear();
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(keep_warning);
  skeleton_ = luatrace_sampler__open();
  if (skeleton_ == nullptr) return failed("open the BPF program", errno);
  auto& constants = *skeleton_->rodata;
  struct stat st {};
  if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != kInitialPidNamespace) {
    constants.pidns_dev = st.st_dev;
    constants.pidns_ino = st.st_ino;
  }
  constants.nthreads = static_cast<uint32_t>(settings_.threads.size());
  for (size_t i = 0; i < settings_.threads.size() && i < SMP_THREADS; i++)
    const_cast<uint32_t&>(constants.threads[i]) = settings_.threads[i];
  constants.with_lua = settings_.lua;
  constants.with_kernel = settings_.kernel;
  constants.with_user = settings_.user;
  constants.period = kSecond / settings_.hertz;
  choose_programs();
  bpf_map__set_max_entries(skeleton_->maps.ring, ring_size(settings_.ring_bytes));
  bpf_map__set_max_entries(skeleton_->maps.works,
                           static_cast<uint32_t>(std::max(1, libbpf_num_possible_cpus())));
  if (const int error = luatrace_sampler__load(skeleton_))
    return failed("load the BPF program", -error);
  return open_rings();
}

bpf::Failure Program::open_rings() {
  const auto& maps = skeleton_->maps;
  execs_ = ring_buffer__new(bpf_map__fd(maps.execs), on_exec, this, nullptr);
  if (execs_ != nullptr)
    samples_ = ring_buffer__new(bpf_map__fd(maps.ring), on_sample, this, nullptr);
  if (samples_ != nullptr) return {};
  return failed("map a ring buffer of " + bytes_text(ring_size(settings_.ring_bytes)), errno);
}

// What is not used is not loaded: kernels may lack what it needs.
void Program::choose_programs() {
  const bool off_cpu = settings_.off_cpu, traced = off_cpu && has_tracepoint("sched_exit_tp");
  bpf_program__set_autoload(skeleton_->progs.on_cpu, !off_cpu);
  bpf_program__set_autoload(skeleton_->progs.blocks, off_cpu);
  bpf_program__set_autoload(skeleton_->progs.runs_traced, traced);
  bpf_program__set_autoload(skeleton_->progs.runs_returned, off_cpu && !traced);
  if (!off_cpu) bpf_map__set_max_entries(skeleton_->maps.blocked, 1);
}

// One event for each processor: threads and processes that are born later need nothing.
bpf::Failure Program::open_events() {
  const int cpus = libbpf_num_possible_cpus();
  int error = 0;
  first_warning.clear();
  for (int cpu = 0; cpu < cpus; cpu++) {
    const int fd = open_event(settings_, cpu);
    if (fd < 0) {
      if (errno != ENODEV) error = errno;  // ENODEV: it is offline
      continue;
    }
    bpf_link* const link = bpf_program__attach_perf_event(skeleton_->progs.on_cpu, fd);
    if (link != nullptr) {
      links_.push_back(link);
      continue;
    }
    error = errno;
    close(fd);
  }
  if (error != 0 || links_.empty()) return failed("sample by perf events", error ? error : ENODEV);
  return {};
}

// What a thread does when it runs again is there first: otherwise threads would remain blocked.
bpf::Failure Program::follow_scheduler() {
  first_warning.clear();
  const auto& programs = skeleton_->progs;
  for (bpf_program* const p : {programs.runs_traced, programs.runs_returned, programs.blocks}) {
    if (!bpf_program__autoload(p)) continue;
    bpf_link* const link = bpf_program__attach(p);
    if (link == nullptr) return failed("follow the kernel's scheduler", errno);
    links_.push_back(link);
  }
  return {};
}

void Program::stop() {
  for (void* const link : links_) bpf_link__destroy(static_cast<bpf_link*>(link));
  links_.clear();
}

bool Program::set_image(uint32_t number, const lt_abi& abi, std::span<const uint8_t> rules) {
  if (skeleton_ == nullptr || rules.size() > SMP_TEXT_MAX) return false;
  const uint32_t place = number % SMP_IMAGES;
  smp_image image{};
  image.abi = abi;
  std::vector<uint8_t> table(SMP_TEXT_MAX);
  std::copy(rules.begin(), rules.end(), table.begin());
  return bpf_map__update_elem(skeleton_->maps.images, &place, sizeof place, &image, sizeof image,
                              BPF_ANY) == 0 &&
         bpf_map__update_elem(skeleton_->maps.rules, &place, sizeof place, table.data(),
                              table.size(), BPF_ANY) == 0;
}

bool Program::set_process(pid_t pid, const smp_process& process) {
  const auto key = static_cast<uint32_t>(pid);
  return bpf_map__update_elem(skeleton_->maps.processes, &key, sizeof key, &process, sizeof process,
                              BPF_ANY) == 0;
}

void Program::update_process(pid_t pid, const smp_process& process) {
  const auto key = static_cast<uint32_t>(pid);
  bpf_map__update_elem(skeleton_->maps.processes, &key, sizeof key, &process, sizeof process,
                       BPF_EXIST);
}

void Program::remove_process(pid_t pid) {
  const auto key = static_cast<uint32_t>(pid);
  bpf_map__delete_elem(skeleton_->maps.processes, &key, sizeof key, 0);
}

// A negative result ends the reading; that record was taken.
int Program::on_sample(void* self, void* data, size_t size) {
  return (*static_cast<Program*>(self)->take_)({static_cast<const std::byte*>(data), size}) ? 0
                                                                                            : -1;
}

int Program::on_exec(void* self, void* data, size_t size) {
  uint32_t serial = 0;
  if (size < sizeof serial) return 0;
  std::memcpy(&serial, data, sizeof serial);
  (*static_cast<Program*>(self)->take_exec_)(serial);
  return 0;
}

bool Program::take_samples(const Take& take) {
  if (samples_ == nullptr) return true;
  take_ = &take;
  const bool all = ring_buffer__consume(samples_) >= 0;
  take_ = nullptr;
  return all;
}

void Program::take_execs(const TakeExec& take) {
  if (execs_ == nullptr) return;
  take_exec_ = &take;
  ring_buffer__consume(execs_);
  take_exec_ = nullptr;
}

uint64_t Program::lost() const {
  return skeleton_ != nullptr ? skeleton_->bss->lost : 0;
}

}  // namespace luatrace::record::sampler
