// SPDX-License-Identifier: MIT
#include "recorder/sampler/kernel_symbols.h"

#include <gtest/gtest.h>

namespace luatrace::record::sampler {
namespace {

TEST(KernelSymbols, FunctionsByAddress) {
  KernelSymbols symbols;
  symbols.read(
      "ffffffff81000100 T schedule\n"
      "ffffffff81000100 T alias\n"
      "ffffffff81000180 d data\n"
      "ffffffff81000200 t __schedule\n"
      "ffffffff83000000 T _einittext\n"
      "ffffffffc0001000 t read_page\t[ext4]\n"
      "ffffffffc0002000 t bpf_prog_1_on_cpu\t[bpf]\n");
  const auto name = [&](uint64_t address) { return symbols.name(symbols.find(address)); };
  EXPECT_EQ(name(0xffffffff81000100), "schedule");
  EXPECT_EQ(name(0xffffffff810001ff), "schedule");
  EXPECT_EQ(name(0xffffffff81000200), "__schedule");
  EXPECT_EQ(name(0xffffffff81000000), "[kernel]");
  EXPECT_EQ(name(0xffffffffc0001004), "read_page");
  EXPECT_EQ(symbols.module(symbols.find(0xffffffffc0001004)), "ext4");
  EXPECT_EQ(name(0xffffffffc0002000), "bpf_prog_1_on_cpu");
  // Loaded after the symbols were read, between the kernel and the modules.
  EXPECT_EQ(name(0xffffffffa0000000), "[kernel]");
}

TEST(KernelSymbols, HiddenAddresses) {
  KernelSymbols symbols;
  symbols.read("0000000000000000 T schedule\n");
  EXPECT_EQ(symbols.find(0xffffffff81000100), KernelSymbols::kNone);
}

}  // namespace
}  // namespace luatrace::record::sampler
