// SPDX-License-Identifier: MIT
// Names of C functions, with this very program as the traced one.
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "analyzer/symbols/symbolizer.h"

// A function with a name that must be found, in C and in C++.
extern "C" __attribute__((noinline)) int traced_c_function(int x) {
  return x + 1;
}
namespace traced {
__attribute__((noinline)) int cxx_function(int x) {
  return x + 2;
}
}  // namespace traced

namespace luatrace::analyze {
namespace {

std::string own_build_id() {
  int fd = open("/proc/self/exe", O_RDONLY);
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  const void* id = nullptr;
  ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
  std::string out = size > 0 ? std::string(static_cast<const char*>(id), size) : "";
  elf_end(elf);
  close(fd);
  return out;
}

// The executable mappings of this process, as a recorder would write them down.
MapTable own_maps(const std::string& build_id) {
  MapTable maps;
  std::ifstream in("/proc/self/maps");
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return maps;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string range, rights, offset, device, inode, path;
    fields >> range >> rights >> offset >> device >> inode >> path;
    if (rights.find('x') == std::string::npos || path != self) continue;
    size_t dash = range.find('-');
    maps.add({ProcessId(1), std::stoull(range.substr(0, dash), nullptr, 16),
              std::stoull(range.substr(dash + 1), nullptr, 16), std::stoull(offset, nullptr, 16),
              build_id, path});
  }
  return maps;
}

class Symbols : public testing::Test {
 protected:
  std::string name(const MapTable& maps, void* address, ProcessId process = ProcessId(1)) {
    Function f;
    f.process = process;
    f.addr = reinterpret_cast<uint64_t>(address);
    return symbolizer_.find(maps, f).name;
  }
  std::vector<std::string> warnings_;
  Symbolizer symbolizer_{"", [this](const std::string& w) { warnings_.push_back(w); }};
};

TEST_F(Symbols, NamesFunctionsOfThisProgram) {
  auto maps = own_maps(own_build_id());
  EXPECT_EQ(name(maps, reinterpret_cast<void*>(traced_c_function)), "traced_c_function");
  EXPECT_EQ(name(maps, reinterpret_cast<void*>(traced::cxx_function)), "traced::cxx_function(int)");
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(Symbols, AnotherBuildGivesAnOffsetAndOneWarning) {
  auto maps = own_maps("\x01\x02\x03");
  std::string found = name(maps, reinterpret_cast<void*>(traced_c_function));
  EXPECT_NE(found.find("analyzer_tests[010203]+0x"), std::string::npos) << found;
  name(maps, reinterpret_cast<void*>(traced::cxx_function));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("another build"), std::string::npos) << warnings_[0];
  EXPECT_NE(warnings_[0].find("build-id 010203"), std::string::npos) << warnings_[0];
}

TEST_F(Symbols, MissingFileAndUnmappedAddress) {
  MapTable maps = {{ProcessId(1), 0x1000, 0x2000, 0x500, "", "/nowhere/libx\x1b.so"}};
  EXPECT_EQ(name(maps, reinterpret_cast<void*>(0x1234)), "libx\x1b.so+0x734");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_EQ(warnings_[0].find('\x1b'), std::string::npos);
  EXPECT_EQ(name(maps, reinterpret_cast<void*>(0x9999)), "");
  EXPECT_EQ(name(maps, reinterpret_cast<void*>(0x1234), ProcessId(2)),
            "");  // Another process's map.
}

TEST_F(Symbols, DoesNotOpenDevicesOrDirectories) {
  MapTable maps = {{ProcessId(1), 0x1000, 0x2000, 0, "", "/dev/zero"},
                   {ProcessId(1), 0x3000, 0x4000, 0, "", "/tmp"}};
  EXPECT_EQ(name(maps, reinterpret_cast<void*>(0x1000)), "zero+0x0");
  EXPECT_EQ(name(maps, reinterpret_cast<void*>(0x3000)), "tmp+0x0");
}

}  // namespace
}  // namespace luatrace::analyze
