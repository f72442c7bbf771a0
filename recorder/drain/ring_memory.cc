// SPDX-License-Identifier: MIT
// RingMemory; see ring_memory.h.
#include "recorder/drain/ring_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "recorder/os/memfd.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kUsual = 8u << 20;  // bytes of blocks, see lt_control.ring_size
constexpr uint64_t kRest = 2u << 20;   // header and descriptions: 1.1 MB
constexpr uint64_t kMaxMemory = uint64_t{LT_RING_MAX_BLOCKS} * LT_RING_BLOCK_SIZE + kRest;
constexpr uint32_t kMaxMeta = 1u << 20;

struct Closer {
  int fd;
  ~Closer() { close(fd); }
};

std::string check_file(int fd, struct stat& st) {
  const int seals = is_memfd(fd) ? fcntl(fd, F_GET_SEALS) : -1;
  if (seals < 0) return "it is not a memfd";
  if ((seals & F_SEAL_SHRINK) == 0 || (seals & F_SEAL_GROW) == 0)
    return "its memory is not sealed against changes of size";
  if (fstat(fd, &st) != 0) return "fstat: " + errno_text(errno);
  if (st.st_size < static_cast<off_t>(LT_RING_HDR_SIZE)) return "it is too small for a header";
  if (static_cast<uint64_t>(st.st_size) > kMaxMemory) return "it is larger than any ring";
  return "";
}

}  // namespace

uint64_t max_ring_size(uint64_t requested) {
  const uint64_t min_size = uint64_t{LT_RING_MIN_BLOCKS} * LT_RING_BLOCK_SIZE;
  return std::max(requested != 0 ? requested : kUsual, min_size) + kRest;
}

// fstat() would ask the file system, and a hostile one (FUSE) need not answer. Only files in memory
// have seals; a descriptor of O_PATH (EBADF) does not show them.
bool is_memfd(int fd) {
  struct statx st {};
  if (fcntl(fd, F_GET_SEALS) < 0 && errno != EBADF) return false;
  return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
         S_ISREG(st.stx_mode) && memfd_device() != 0 &&
         makedev(st.stx_dev_major, st.stx_dev_minor) == memfd_device();
}

std::string check_ring(const lt_ring& r, uint64_t file_size) {
  if (r.magic != LT_RING_MAGIC) return "wrong magic";
  if (r.version != LT_RING_VERSION)
    return "version " + std::to_string(r.version) + ", this recorder knows version " +
           std::to_string(LT_RING_VERSION);
  if (r.block_size != LT_RING_BLOCK_SIZE) return "wrong block size";
  if (r.nblocks < 2) return "fewer than 2 blocks";
  if (r.clock != LT_CLOCK_TSC && r.clock != LT_CLOCK_MONOTONIC) return "unknown clock";
  if (!std::has_single_bit(r.meta_size) || r.meta_size < 4096 || r.meta_size > kMaxMeta)
    return "wrong size of the meta area";
  const uint64_t data_end = r.data_ofs + uint64_t{r.nblocks} * r.block_size;
  if (r.data_ofs < LT_RING_HDR_SIZE || r.data_ofs % 8 != 0 || data_end > file_size)
    return "blocks outside the memory";
  if (r.meta_ofs < LT_RING_HDR_SIZE || r.meta_ofs % 8 != 0 || r.meta_ofs > file_size ||
      r.meta_size > file_size - r.meta_ofs)
    return "meta area outside the memory";
  if (r.meta_ofs < data_end && r.meta_ofs + r.meta_size > r.data_ofs)
    return "blocks and meta area overlap";
  return "";
}

std::unique_ptr<RingMemory> RingMemory::map(int fd, std::string* why) {
  const Closer closer{fd};
  struct stat st {};
  *why = check_file(fd, st);
  if (!why->empty()) return nullptr;
  const auto size = static_cast<size_t>(st.st_size);
  // Populate it now, while the target waits, but do not allocate the memory: that is the target's
  // part.
  const bool present = static_cast<uint64_t>(st.st_blocks) * 512 >= size;
  const int flags = MAP_SHARED | (present ? MAP_POPULATE : 0);
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (p == MAP_FAILED) return *why = "mmap: " + errno_text(errno), nullptr;
  lt_ring info;
  std::memcpy(&info, p, sizeof info);
  *why = check_ring(info, size);
  if (!why->empty()) return munmap(p, size), nullptr;
  info.luajit[sizeof info.luajit - 1] = 0;
  return std::unique_ptr<RingMemory>(
      new RingMemory(static_cast<std::byte*>(p), size, info, st.st_ino));
}

RingMemory::~RingMemory() {
  munmap(base_, size_);
}

std::span<uint64_t> RingMemory::block(uint64_t n) const {
  std::byte* const p = base_ + info_.data_ofs + n % info_.nblocks * info_.block_size;
  return {reinterpret_cast<uint64_t*>(p), block_words()};
}

}  // namespace luatrace::record
