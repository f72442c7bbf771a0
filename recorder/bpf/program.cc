// SPDX-License-Identifier: MIT
// The loaded BPF program; see program.h.
#include "recorder/bpf/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "calls.skel.h"
#include "recorder/os/text.h"

namespace luatrace::record::bpf {
namespace {

constexpr uint64_t kInitialPidNamespace = 0xeffffffc;  // its inode

// libbpf's own message, kept in case something fails.
std::string libbpf_said;

int keep_warning(libbpf_print_level level, const char* format, va_list values) {
  char text[512];
  if (level != LIBBPF_WARN || libbpf_said.size() > 2000) return 0;
  std::vsnprintf(text, sizeof text, format, values);
  libbpf_said += text;
  return 0;
}

Failure failed(const std::string& what, int error) {
  std::string text = "cannot " + what + ": " + errno_text(error);
  const std::string said = printable(libbpf_said.substr(0, libbpf_said.find('\n')));
  if (!said.empty()) text += " (" + said + ")";
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

// The program for a kind of site.
bpf_program* program_of(luatrace_bpf* s, size_t kind) {
  if (kind == LTB_TEST) return s->progs.self_test;
  bpf_program* const all[LTB_NPROBES] = {s->progs.function_entry,
                                         s->progs.function_return,
                                         s->progs.function_tailcall,
                                         s->progs.cfunction_entry,
                                         s->progs.cfunction_return,
                                         s->progs.function_unwind,
                                         s->progs.coroutine_create,
                                         s->progs.coroutine_resume,
                                         s->progs.coroutine_yield,
                                         s->progs.coroutine_end,
                                         s->progs.state_open,
                                         s->progs.state_close,
                                         s->progs.coroutine_stack,
                                         s->progs.block,
                                         s->progs.block};
  return all[kind];
}

void fill_constants(luatrace_bpf* s, const ProbedFile& layout, uint32_t rings) {
  for (size_t i = 0; i < LTB_NPROBES; i++)
    std::memcpy(const_cast<ltb_arg*>(s->rodata->args[i]), layout.sites[i].args.data(),
                sizeof s->rodata->args[i]);
  s->rodata->glref_offset = layout.glref_offset;
  s->rodata->glref_size = layout.glref_size;
  s->rodata->nrings = rings;
  struct stat st {};
  if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != kInitialPidNamespace) {
    s->rodata->pidns_dev = st.st_dev;
    s->rodata->pidns_ino = st.st_ino;
  }
}

void choose_programs(luatrace_bpf* s, Mechanism mechanism) {
  const bool multi = mechanism == Mechanism::kMulti;
  for (size_t i = 0; i < LTB_NPROBES; i++) bpf_program__set_autoload(program_of(s, i), !multi);
  bpf_program__set_autoload(s->progs.self_test, !multi);
  bpf_program__set_autoload(s->progs.any_probe, multi);
  if (multi) bpf_program__set_expected_attach_type(s->progs.any_probe, kUprobeMulti);
}

}  // namespace

Program::Program() = default;

Program::~Program() {
  detach_all();
  if (reader_ != nullptr) ring_buffer__free(reader_);
  for (const int fd : ring_fds_) close(fd);
  if (skeleton_ != nullptr) luatrace_bpf__destroy(skeleton_);
}

std::string Program::not_built() {
  return "";
}

Failure Program::load(const ProbedFile& layout, Mechanism mechanism, uint64_t ring_bytes,
                      uint32_t rings) {
  libbpf_said.clear();
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(keep_warning);
  layout_ = layout;
  mechanism_ = mechanism;
  rings = std::clamp<uint32_t>(rings, 1, LTB_RINGS);
  skeleton_ = luatrace_bpf__open();
  if (skeleton_ == nullptr) return failed("open the BPF program", errno);
  fill_constants(skeleton_, layout, rings);
  choose_programs(skeleton_, mechanism);
  if (const int err = luatrace_bpf__load(skeleton_)) return failed("load the BPF program", -err);
  if (Failure f = make_rings(ring_bytes, rings)) return f;
  if (const int err = keeper_.start(program_fds(skeleton_)))
    return failed("start a process that holds the probes", err);
  // Missing in some kernels: then an exec is noticed by the addresses alone.
  skeleton_->links.process_exec = bpf_program__attach(skeleton_->progs.process_exec);
  // The unflushed events of VMs whose process ends: Linux 6.16, 6.10 and newer.
  skeleton_->links.process_exit = bpf_program__attach(skeleton_->progs.process_exit);
  skeleton_->links.before_exec = bpf_program__attach(skeleton_->progs.before_exec);
  return {};
}

Failure Program::make_rings(uint64_t bytes, uint32_t rings) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto size =
      static_cast<uint32_t>(std::bit_ceil(std::clamp<uint64_t>(bytes, page, uint64_t{1} << 30)));
  for (uint32_t i = 0; i < rings; i++) {
    const int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "luatrace", 0, 0, size, nullptr);
    if (fd < 0) return failed("make a ring buffer of " + bytes_text(size), errno);
    ring_fds_.push_back(fd);
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.rings), &i, &fd, BPF_ANY) != 0)
      return failed("use a ring buffer", errno);
    if (reader_ == nullptr)
      reader_ = ring_buffer__new(fd, on_record, this, nullptr);
    else if (ring_buffer__add(reader_, fd, on_record, this) != 0)
      return failed("map a ring buffer", errno);
    if (reader_ == nullptr) return failed("map a ring buffer of " + bytes_text(size), errno);
  }
  return {};
}

// The semaphore is attached with one site, state__close, which comes last; with all of them if
// another tool has it there (share).
std::vector<Program::Site> Program::sites_of(const ProbedFile& file, bool share) const {
  std::vector<Site> sites;
  for (size_t i = 0; i < LTB_NPROBES; i++) {
    const ProbeSite& s = file.sites[i];
    if (s.offset == 0 || i == LTB_CLOSE || i == LTB_BLOCK || i == LTB_SWITCH) continue;
    if (!with_c_ && i == LTB_CRETURN) continue;
    sites.push_back({i, s.offset, share ? file.semaphore : 0});
  }
  sites.push_back({LTB_CLOSE, file.sites[LTB_CLOSE].offset, file.semaphore});
  return sites;
}

// The kernel refuses (EINVAL) a semaphore that differs from another tool's at the same place.
Failure Program::attach(const LuaFile& file, pid_t pid, uint32_t slot, bool* shared) {
  const uint32_t key = static_cast<uint32_t>(pid);
  __atomic_fetch_add(&skeleton_->bss->epochs[slot], 1, __ATOMIC_RELAXED);  // another had the slot
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.slots), &key, &slot, BPF_ANY);
  auto sites = sites_of(file.probed(), false);
  Failure f = attach_sites(file.path(), file.name(), sites, pid, slot);
  if (!f || f.error != EINVAL) return f;
  sites = sites_of(file.probed(), true);
  const Failure again = attach_sites(file.path(), file.name(), sites, pid, slot);
  if (!again) *shared = true;
  return again;
}

namespace {

// Equivalent nops after the site of LTB_SWITCH. One of them is used: the semaphore counts places,
// and if another recorder used the same one the VM would not notice a new tracer.
uint64_t switch_place(const LuaFile& file) {
  constexpr uint64_t kLongest = 11, kShortest = 6, kNops = 32;  // nop and nop10; older: nop5
  const uint64_t offset = file.probed().sites[LTB_SWITCH].offset;
  std::array<uint8_t, kLongest + kNops> code{};
  const int fd = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return offset;
  const ssize_t n = pread(fd, code.data(), code.size(), static_cast<off_t>(offset));
  close(fd);
  const uint64_t site = code[1] == 0x66 ? kLongest : kShortest;
  const auto* nops = code.data() + site;
  const bool all = std::all_of(nops, nops + kNops, [](uint8_t c) { return c == 0x90; });
  if (n != static_cast<ssize_t>(code.size()) || !all) return offset;
  return offset + site + static_cast<uint64_t>(getpid()) % kNops;
}

}  // namespace

// The site first, without the semaphore, so that it can stay when that is lowered. The kernel
// refuses (EINVAL) this if another tool has both at the same place: then we do the same.
Failure Program::attach_blocks(const LuaFile& file, pid_t pid, uint32_t slot) {
  const uint32_t key = static_cast<uint32_t>(pid);
  const uint64_t semaphore = file.probed().block_semaphore;
  bpf_map_update_elem(bpf_map__fd(skeleton_->maps.slots), &key, &slot, BPF_ANY);
  Site site{LTB_BLOCK, file.probed().sites[LTB_BLOCK].offset, 0};
  Failure f = attach_sites(file.path(), file.name(), {&site, 1}, pid, slot);
  if (f.error == EINVAL) {
    site.semaphore = semaphore;
    f = attach_sites(file.path(), file.name(), {&site, 1}, pid, slot);
  }
  if (f) return f;
  links_.back().is_switch = false;
  const Site other{LTB_SWITCH, switch_place(file), semaphore};
  f = attach_sites(file.path(), file.name(), {&other, 1}, pid, slot);
  if (f) return detach(slot), f;
  links_.back().is_switch = true;
  return {};
}

void Program::lower() {
  detach_if([](const Link& l) { return l.is_switch; });
}

Failure Program::attach_sites(const std::string& path, const std::string& name,
                              std::span<const Site> sites, pid_t pid, uint32_t slot) {
  libbpf_said.clear();
  Failure f;
  if (mechanism_ == Mechanism::kMulti) {
    f = attach_multi(path, sites, pid, slot);
  } else {
    for (size_t i = 0; i < sites.size() && !f; i++) f = attach_each(path, sites[i], pid, slot);
    if (f) detach(slot);
  }
  if (f) f = failed("attach to the probes of " + name, f.error);
  return f;
}

Failure Program::attach_multi(const std::string& path, std::span<const Site> sites, pid_t pid,
                              uint32_t slot) {
  std::vector<LinkKeeper::Site> all;
  const int program = bpf_program__fd(skeleton_->progs.any_probe);
  for (const Site& s : sites)
    all.push_back({program, s.offset, s.semaphore, ltb_cookie(slot, s.kind)});
  const int link = keeper_.attach_multi(path, all, pid);
  if (link < 0) return {-link, "link"};
  links_.push_back({slot, true, link});
  return {};
}

Failure Program::attach_each(const std::string& path, const Site& site, pid_t pid, uint32_t slot) {
  const int program = bpf_program__fd(program_of(skeleton_, site.kind));
  const int link = keeper_.attach_each(
      path, {program, site.offset, site.semaphore, ltb_cookie(slot, site.kind)}, pid);
  if (link < 0) return {-link, "link"};
  links_.push_back({slot, site.kind == LTB_CLOSE, link});
  return {};
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

Failure Program::attach_self_test(uint64_t offset, uint32_t slot) {
  const Site site{LTB_TEST, offset, 0};
  return attach_sites("/proc/self/exe", "this program", {&site, 1}, getpid(), slot);
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

// Of a process that had the slot before: neither their addresses nor its pid apply to another one.
void Program::forget_states(uint32_t slot) {
  const int slots = bpf_map__fd(skeleton_->maps.slots);
  uint32_t pid = 0, next_pid = 0, value = 0;
  std::vector<uint32_t> pids;
  for (void* at = nullptr; bpf_map_get_next_key(slots, at, &next_pid) == 0; at = &pid) {
    pid = next_pid;
    if (bpf_map_lookup_elem(slots, &pid, &value) == 0 && value == slot) pids.push_back(pid);
  }
  for (const uint32_t p : pids) bpf_map_delete_elem(slots, &p);
  const int map = bpf_map__fd(skeleton_->maps.flushing);
  ltb_handing_key key{}, next;
  std::vector<ltb_handing_key> old;
  for (void* at = nullptr; bpf_map_get_next_key(map, at, &next) == 0; at = &key) {
    key = next;
    if (key.slot == slot) old.push_back(key);
  }
  for (const ltb_handing_key& k : old) bpf_map_delete_elem(map, &k);
}

void Program::leftover_losses(uint32_t slot, const TakeLoss& take) {
  const int map = bpf_map__fd(skeleton_->maps.losses);
  ltb_loss_key key{}, next;
  std::vector<ltb_loss_key> done;  // another process may get the slot
  for (void* at = nullptr; bpf_map_get_next_key(map, at, &next) == 0; at = &key) {
    key = next;
    ltb_loss_count count{};
    if (key.slot != slot || bpf_map_lookup_elem(map, &key, &count) != 0) continue;
    done.push_back(key);
    if (count.count == 0) continue;
    ltb_loss loss{};
    loss.hit.state = key.state;
    loss.hit.where = ltb_where(slot, LTB_LOSS, 0);
    loss.count = count.count;
    loss.since = count.since;
    take(loss);
  }
  for (const ltb_loss_key& k : done) bpf_map_delete_elem(map, &k);
  skeleton_->bss->pending[slot] = 0;
  forget_states(slot);
}

uint64_t Program::unattributed() const {
  return skeleton_ != nullptr ? skeleton_->bss->unattributed : 0;
}

}  // namespace luatrace::record::bpf
