// SPDX-License-Identifier: MIT
#include "recorder/os/switch_events.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr size_t kHead = 4096, kData = 16 * 4096;  // bytes: a page, and about 2,000 switches
constexpr size_t kRecord = 64;                     // or less

// struct perf_event_attr::sample_type in the order in which the kernel writes the fields.
struct SampleId {
  uint32_t pid, tid;
  uint64_t ns;
};

perf_event_attr attributes() {
  perf_event_attr a{};
  a.size = sizeof a;
  a.type = PERF_TYPE_SOFTWARE;
  a.config = PERF_COUNT_SW_DUMMY;
  a.context_switch = 1;
  a.sample_id_all = 1;
  a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  a.use_clockid = 1;
  a.clockid = CLOCK_MONOTONIC;
  a.exclude_kernel = a.exclude_hv = 1;
  return a;
}

std::string reason(int error) {
  if (error != EACCES && error != EPERM) return errno_text(error);
  return errno_text(error) + " (needs root, or kernel.perf_event_paranoid up to 2)";
}

}  // namespace

std::unique_ptr<SwitchEvents> SwitchEvents::open(pid_t tid, std::string* why) {
  perf_event_attr a = attributes();
  Descriptor fd(static_cast<int>(syscall(SYS_perf_event_open, &a, tid, -1, -1,
                                         static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
  if (fd < 0) return *why = "perf_event_open: " + reason(errno), nullptr;
  void* p = mmap(nullptr, kHead + kData, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return *why = "mmap of a perf event: " + reason(errno), nullptr;
  return std::unique_ptr<SwitchEvents>(new SwitchEvents(std::move(fd), static_cast<std::byte*>(p)));
}

SwitchEvents::~SwitchEvents() {
  munmap(memory_, kHead + kData);
}

void SwitchEvents::copy(uint64_t at, void* to, size_t size) const {
  const std::byte* const data = memory_ + kHead;
  const size_t begin = at % kData, first = std::min(size, kData - begin);
  std::memcpy(to, data + begin, first);
  std::memcpy(static_cast<std::byte*>(to) + first, data, size - first);
}

void SwitchEvents::read(std::vector<SwitchEvent>& out) {
  auto* const page = reinterpret_cast<perf_event_mmap_page*>(memory_);
  using Position = std::remove_reference_t<decltype(page->data_head)>;
  const uint64_t head = std::atomic_ref<Position>(page->data_head).load(std::memory_order_acquire);
  uint64_t at = page->data_tail;
  const bool full = head - at > kData - kRecord;
  while (at < head) {
    perf_event_header h;
    copy(at, &h, sizeof h);
    if (h.size < sizeof h + sizeof(SampleId) || h.size > head - at) break;
    SampleId id;
    copy(at + h.size - sizeof id, &id, sizeof id);
    at += h.size;
    if (h.type == PERF_RECORD_LOST)
      out.push_back({SwitchEvent::kLost, id.ns});
    else if (h.type == PERF_RECORD_SWITCH && (h.misc & PERF_RECORD_MISC_SWITCH_OUT) == 0)
      out.push_back({SwitchEvent::kIn, id.ns});
    else if (h.type == PERF_RECORD_SWITCH)
      out.push_back({(h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0 ? SwitchEvent::kPreempted
                                                                         : SwitchEvent::kOut,
                     id.ns});
  }
  if (full && !out.empty()) out.push_back({SwitchEvent::kLost, out.back().ns});
  std::atomic_ref<Position>(page->data_tail).store(head, std::memory_order_release);
}

}  // namespace luatrace::record
