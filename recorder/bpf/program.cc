// SPDX-License-Identifier: MIT
#include "recorder/bpf/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/escape.h"
#include "calls.skel.h"
#include "luatrace_format.h"
#include "recorder/bpf/wire.h"
#include "recorder/os/maps.h"
#include "recorder/os/text.h"

// The site of the self test, which looks like those of LuaJIT.
#if defined(__x86_64__)
// A leaf without a red zone: it has nothing below the stack pointer.
__asm__(
    ".text\n"
    ".globl luatrace_bpf_site\n"
    ".hidden luatrace_bpf_site\n"
    ".type luatrace_bpf_site, @function\n"
    ".p2align 4\n"
    "luatrace_bpf_site:\n"
    "  nop\n"
    "  .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
    "  ret\n"
    ".size luatrace_bpf_site, .-luatrace_bpf_site\n");
extern "C" void luatrace_bpf_site();
#else
extern "C" __attribute__((noinline)) void luatrace_bpf_site() {
  __asm__ volatile("nop");
}
#endif

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kInitialPidNamespace = 0xeffffffc;  // its inode

// libbpf's own messages, kept in case something fails.
std::string libbpf_warnings;

int keep_warning(libbpf_print_level level, const char* format, va_list values) {
  char text[512];
  if (level != LIBBPF_WARN || libbpf_warnings.size() > 2000) return 0;
  std::vsnprintf(text, sizeof text, format, values);
  libbpf_warnings += text;
  return 0;
}

Failure failed(const std::string& what, int error) {
  std::string text = "cannot " + what + ": " + errno_text(error);
  const std::string warning = printable(libbpf_warnings.substr(0, libbpf_warnings.find('\n')));
  if (!warning.empty()) text += " (" + warning + ")";
  return {error, text};
}

constexpr bpf_attach_type kUprobeMulti = static_cast<bpf_attach_type>(48);

std::vector<int> program_fds(luatrace_bpf* s) {
  std::vector<int> all;
  bpf_program* p;
  bpf_object__for_each_program(p, s->obj) if (bpf_program__fd(p) >= 0)
      all.push_back(bpf_program__fd(p));
  return all;
}

void fill_constants(luatrace_bpf* s, const ProbedFile& layout) {
  std::memcpy(const_cast<ltb_arg*>(s->rodata->args), layout.args.data(), sizeof s->rodata->args);
  struct stat st {};
  if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != kInitialPidNamespace) {
    s->rodata->pidns_dev = st.st_dev;
    s->rodata->pidns_ino = st.st_ino;
  }
}

uint32_t ring_size(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return static_cast<uint32_t>(std::bit_ceil(std::clamp(bytes, page, uint64_t{1} << 30)));
}

// Offset of the site in this program's file, 0 if unknown.
uint64_t site_offset() {
  const auto address = reinterpret_cast<uint64_t>(&luatrace_bpf_site);
  for (const Mapping& m : mappings_of(getpid()))
    if (address >= m.start && address < m.end) return address - m.start + m.offset;
  return 0;
}

template <class Key>
std::vector<Key> keys_of(const bpf_map* map) {
  std::vector<Key> all;
  Key key;
  while (bpf_map__get_next_key(map, all.empty() ? nullptr : &all.back(), &key, sizeof key) == 0)
    all.push_back(key);
  return all;
}

}  // namespace

Program::~Program() {
  detach_all();
  if (reader_ != nullptr) ring_buffer__free(reader_);
  if (skeleton_ != nullptr) luatrace_bpf__destroy(skeleton_);
}

std::string Program::not_built() {
  return "";
}

Failure Program::load(const ProbedFile& layout, Mechanism mechanism, uint64_t ring_bytes) {
  libbpf_warnings.clear();
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(keep_warning);
  layout_ = layout;
  mechanism_ = mechanism;
  skeleton_ = luatrace_bpf__open();
  if (skeleton_ == nullptr) return failed("open the BPF program", errno);
  fill_constants(skeleton_, layout);
  if (mechanism == Mechanism::kMulti)
    for (bpf_program* p : {skeleton_->progs.block, skeleton_->progs.self_test})
      bpf_program__set_expected_attach_type(p, kUprobeMulti);
  bpf_map__set_max_entries(skeleton_->maps.ring, ring_size(ring_bytes));
  if (const int err = luatrace_bpf__load(skeleton_)) return failed("load the BPF program", -err);
  reader_ = ring_buffer__new(bpf_map__fd(skeleton_->maps.ring), on_record, this, nullptr);
  if (reader_ == nullptr)
    return failed("map a ring buffer of " + bytes_text(ring_size(ring_bytes)), errno);
  if (const int err = keeper_.start(program_fds(skeleton_)))
    return failed("start a process that holds the probes", err);
  // Missing in some kernels: then an exec is noticed by the addresses alone.
  skeleton_->links.process_exec = bpf_program__attach(skeleton_->progs.process_exec);
  // The unflushed events of VMs whose process ends (Linux 6.16) or calls exec (6.10).
  skeleton_->links.process_exit = bpf_program__attach(skeleton_->progs.process_exit);
  skeleton_->links.before_exec = bpf_program__attach(skeleton_->progs.before_exec);
  return {};
}

namespace {

// Equivalent nops after the site of `block__switch` or `segments__switch`. One of them is used: the
// semaphore counts places, and if another recorder used the same one the VM would not notice a new
// tracer.
uint64_t switch_place(const LuaFile& file, uint64_t offset) {
  constexpr uint64_t kLongest = 11, kShortest = 6, kNops = 32;  // nop and nop10; older: nop5
  std::array<uint8_t, kLongest + kNops> code{};
  const ssize_t n = pread(file.fd, code.data(), code.size(), static_cast<off_t>(offset));
  const uint64_t site = code[1] == 0x66 ? kLongest : kShortest;
  const auto* nops = code.data() + site;
  const bool all = std::all_of(nops, nops + kNops, [](uint8_t c) { return c == 0x90; });
  if (n != static_cast<ssize_t>(code.size()) || !all) return offset;
  return offset + site + static_cast<uint64_t>(getpid()) % kNops;
}

}  // namespace

// Without the semaphore, so that it can stay when that is lowered. The kernel refuses (EINVAL) this
// if another tool has both at the same place: then we do the same. 0, or errno.
int Program::attach_probe(const LuaFile& file, uint64_t offset, uint64_t semaphore, pid_t pid,
                          uint32_t slot) {
  const int program = bpf_program__fd(skeleton_->progs.block);
  const int error = attach_site(file.path(), {program, offset, 0, slot}, pid, false);
  if (error != EINVAL) return error;
  return attach_site(file.path(), {program, offset, semaphore, slot}, pid, false);
}

int Program::raise(const LuaFile& file, uint64_t offset, uint64_t semaphore, pid_t pid,
                   uint32_t slot) {
  const int program = bpf_program__fd(skeleton_->progs.block);
  return attach_site(file.path(), {program, offset, semaphore, slot}, pid, true);
}

// Both probes; with one link, if that is possible.
int Program::attach_both(const LuaFile& file, pid_t pid, uint32_t slot) {
  const int program = bpf_program__fd(skeleton_->progs.block);
  const ProbedFile& f = file.probed;
  if (mechanism_ == Mechanism::kMulti) {
    const int error =
        attach_site(file.path(), {program, f.block, 0, slot, f.segments, 0}, pid, false);
    if (error != EINVAL) return error;
  }
  const int error = attach_probe(file, f.block, f.semaphore, pid, slot);
  return error != 0 ? error : attach_probe(file, f.segments, f.segments_semaphore, pid, slot);
}

// The semaphores that ask for `auto`, which comes first: VMs do not look at it alone.
int Program::raise_both(const LuaFile& file, pid_t pid, uint32_t slot) {
  const int program = bpf_program__fd(skeleton_->progs.block);
  const ProbedFile& f = file.probed;
  const uint64_t place = switch_place(file, f.segments_switch);
  if (mechanism_ == Mechanism::kMulti)
    return attach_site(
        file.path(), {program, f.auto_switch, f.auto_semaphore, slot, place, f.segments_semaphore},
        pid, true);
  const int error = raise(file, f.auto_switch, f.auto_semaphore, pid, slot);
  return error != 0 ? error : raise(file, place, f.segments_semaphore, pid, slot);
}

// The semaphore of `block` asks for events, and has precedence; that of `segments` allows segments.
// Who allows them needs both probes, because another tracer may ask for events.
int Program::attach_all(const LuaFile& file, pid_t pid, uint32_t slot, uint32_t times) {
  const ProbedFile& f = file.probed;
  if (times == 0 || f.segments == 0) {
    const int error = attach_probe(file, f.block, f.semaphore, pid, slot);
    if (error != 0) return error;
    return raise(file, switch_place(file, f.block_switch), f.semaphore, pid, slot);
  }
  if (const int error = attach_both(file, pid, slot)) return error;
  if ((times & LTC_AUTO) != 0) return raise_both(file, pid, slot);
  return raise(file, switch_place(file, f.segments_switch), f.segments_semaphore, pid, slot);
}

Failure Program::attach(const LuaFile& file, pid_t pid, uint32_t slot, uint32_t times) {
  const uint32_t key = static_cast<uint32_t>(pid);
  const size_t before = links_.size();
  libbpf_warnings.clear();
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.slots), &key, &slot, BPF_ANY);
  const int error = attach_all(file, pid, slot, times);
  if (error == 0) return {};
  for (; links_.size() > before; links_.pop_back()) keeper_.close_link(links_.back().number);
  return failed("attach to the probes of " + file.name, error);
}

// 0, or errno.
int Program::attach_site(const std::string& path, const LinkKeeper::Site& site, pid_t pid,
                         bool is_switch) {
  const int link = keeper_.attach(mechanism_, path, site, pid);
  if (link < 0) return -link;
  links_.push_back({site.cookie, is_switch, link});
  return 0;
}

void Program::lower() {
  detach_if([](const Link& l) { return l.is_switch; });
}

void Program::detach(uint32_t slot) {
  detach_if([slot](const Link& l) { return l.slot == slot; });
}

void Program::detach_all() {
  detach_if([](const Link&) { return true; });
}

void Program::detach_if(const std::function<bool(const Link&)>& wanted) {
  for (const bool is_switch : {true, false})
    std::erase_if(links_, [&](const Link& l) {
      if (l.is_switch != is_switch || !wanted(l)) return false;
      keeper_.close_link(l.number);
      return true;
    });
}

// In the drainer's thread, not in the first one: the uprobe links of Linux 6.6 to 6.9 took the
// process id for that of a thread, so events of other threads did not arrive.
Failure Program::self_test() {
  constexpr uint64_t kHits = 5;
  constexpr uint32_t kSlot = LTB_SLOTS - 1;
  const int program = bpf_program__fd(skeleton_->progs.self_test);
  const LinkKeeper::Site site{program, site_offset(), 0, kSlot};
  libbpf_warnings.clear();
  if (const int error = attach_site("/proc/self/exe", site, getpid(), false)) {
    Failure f = failed("attach to the probes of this program", error);
    if (mechanism_ == Mechanism::kMulti && error == EINVAL)
      f.text += "; --bpf-link multi needs uprobe links (Linux 6.6)";
    return f;
  }
  for (uint64_t i = 0; i < kHits; i++) luatrace_bpf_site();
  uint64_t records = 0;
  consume([&](std::span<const std::byte> record) {
    const auto* hit = reinterpret_cast<const ltb_hit*>(record.data());
    records += hit->kind == LTB_TEST && hit->slot == kSlot;
    return true;
  });
  detach(kSlot);
  if (records == kHits) return {};
  return {EPERM, "a BPF program was attached to this process, but of " + std::to_string(kHits) +
                     " hits " + std::to_string(records) + " arrived"};
}

int Program::on_record(void* self, void* data, size_t size) {
  auto* p = static_cast<Program*>(self);
  p->taken_++;
  const bool more =
      size < sizeof(ltb_hit) || (*p->take_)({static_cast<const std::byte*>(data), size});
  return more ? 0 : -ECANCELED;
}

uint64_t Program::consume(const Take& take) {
  take_ = &take;
  taken_ = 0;
  ring_buffer__consume(reader_);
  take_ = nullptr;
  return taken_;
}

// Neither the addresses of the process nor its pid apply to the next one that gets the slot.
void Program::leftover_losses(uint32_t slot, const TakeLoss& take) {
  const auto& maps = skeleton_->maps;
  for (const ltb_vm& vm : keys_of<ltb_vm>(maps.losses)) {
    uint64_t n = 0;
    if (vm.slot != slot) continue;
    bpf_map__lookup_and_delete_elem(maps.losses, &vm, sizeof vm, &n, sizeof n, 0);
    if (n > 0) take(vm.state, n);
  }
  for (const ltb_vm& vm : keys_of<ltb_vm>(maps.flushing))
    if (vm.slot == slot) bpf_map__delete_elem(maps.flushing, &vm, sizeof vm, 0);
  for (const uint32_t pid : keys_of<uint32_t>(maps.slots)) {
    uint32_t of = slot + 1;
    bpf_map__lookup_elem(maps.slots, &pid, sizeof pid, &of, sizeof of, 0);
    if (of == slot) bpf_map__delete_elem(maps.slots, &pid, sizeof pid, 0);
  }
  skeleton_->bss->loss_vms[slot] = skeleton_->bss->flushing_vms[slot] = 0;
}

uint64_t Program::unattributed() const {
  return skeleton_ != nullptr ? skeleton_->bss->unattributed : 0;
}

}  // namespace luatrace::record::bpf
