// SPDX-License-Identifier: MIT
// The worked example of docs/trace-format.md is, byte for byte, what TraceWriter writes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "tests/trace/mini_reader.h"
#include "trace/records.h"
#include "trace/trace_writer.h"

namespace luatrace {
namespace {

void write_example(TraceWriter& w) {
  lt_stream_info stream{};
  stream.process = 1;
  stream.flags = LTF_JIT | LTF_GC64;
  stream.recording = 1;
  stream.tid = 42;
  stream.start_tick = 5000;
  std::snprintf(stream.luajit, sizeof stream.luajit, "LuaJIT 2.1");
  w.write_stream(1, stream);

  std::vector<std::byte> funcs;
  lt_func f{};
  f.type = LT_FUNC_LUA;
  f.id = 1;
  f.firstline = 3;
  f.lastline = 5;
  append_func(funcs, f, "@a.lua", "f");
  w.write_funcs(1, 1, funcs);

  EventBlocks events(w, 1, 5000);
  events.append(std::vector<uint64_t>{
      lt_word(5001, lt_ext(LTX_BLOCK, 3, 0), LT_EXT), 5001, 1, lt_pack(42, 1),
      lt_word(5010, 1, LT_ENTRY), lt_word(5030, 1, LT_ENTRY),
      lt_word(5070, lt_ext(LTX_UNWIND, 1, 0), LT_EXT), lt_pack(1, 1), lt_word(5100, 1, LT_RETURN)});
  events.flush();
  w.write_end({});
}

std::string example_bytes() {
  const std::string path = ::testing::TempDir() + "example." + std::to_string(getpid());
  lt_file_header h = make_file_header();
  h.start_tick = h.start_mono_ns = 5000;
  h.start_real_ns = 1700000000000005000;
  h.trace_id = 0x1122334455667788;
  std::string error;
  TraceWriter w(open_trace(path, &error), path, h);
  write_example(w);
  EXPECT_TRUE(w.close()) << w.error();
  const std::string bytes = mini::slurp(path);
  unlink(path.c_str());
  return bytes;
}

std::string hex(const std::string& bytes) {
  std::string out;
  char two[4];
  for (const unsigned char c : bytes) {
    std::snprintf(two, sizeof two, "%02x", c);
    out += two;
  }
  return out;
}

// The hex digits of the ```hex block, without what follows a ';' in each line.
std::string hex_in_document(const char* path) {
  std::ifstream in(path);
  std::string line, all;
  bool inside = false;
  while (std::getline(in, line)) {
    if (line.starts_with("```")) {
      inside = line == "```hex";
      continue;
    }
    if (!inside) continue;
    for (const char c : line.substr(0, line.find(';')))
      if (c != ' ') all += c;
  }
  return all;
}

TEST(FormatDoc, TheWorkedExampleIsTrue) {
  const std::string bytes = example_bytes();
  EXPECT_NO_THROW(EXPECT_TRUE(mini::parse(bytes).ended()));
  EXPECT_EQ(hex(bytes), hex_in_document(FORMAT_DOC));
}

}  // namespace
}  // namespace luatrace
