// SPDX-License-Identifier: MIT
// fuzz_seeds DIRECTORY TEXT...: what the fuzzers begin with, a folder for each, made from traces in
// the text form and from the hits of tests/import.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "analyzer/aggregate/saved_profile.h"
#include "analyzer/decode/image.h"
#include "hits.h"
#include "model.h"
#include "support.h"
#include "trace/crc32c.h"
#include "trace/packing.h"

using namespace luatrace;

namespace {

std::filesystem::path root;

template <class Bytes>
void put(const char* fuzzer, const std::string& name, const Bytes& bytes) {
  std::filesystem::create_directories(root / fuzzer);
  std::ofstream out(root / fuzzer / name, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

// The same trace with its event blocks compressed.
std::vector<uint8_t> packed(const std::vector<uint8_t>& bytes) {
  lt_file_header header;
  memcpy(&header, bytes.data(), sizeof header);
  header.required |= LT_FEATURE_ZSTD;
  TraceImage image(header);
  std::vector<uint8_t> out = image.take();
  Packer packer(1);
  for (size_t at = sizeof header; at + sizeof(lt_block) <= bytes.size();) {
    lt_block b;
    memcpy(&b, &bytes[at], sizeof b);
    auto payload = std::as_bytes(std::span(bytes)).subspan(at + sizeof b, b.payload_size);
    at += sizeof b + ((b.payload_size + 7) & ~7u);
    auto small = packer.pack(b, payload);
    if (small.empty()) small = payload;
    b.payload_size = static_cast<uint32_t>(small.size());
    b.payload_crc = crc32c(small.data(), small.size());
    b.header_crc = crc32c(&b, offsetof(lt_block, header_crc));
    auto* head = reinterpret_cast<const uint8_t*>(&b);
    out.insert(out.end(), head, head + sizeof b);
    auto* body = reinterpret_cast<const uint8_t*>(small.data());
    out.insert(out.end(), body, body + small.size());
    out.resize((out.size() + 7) & ~size_t{7});
  }
  return out;
}

void seed(const std::string& name, const std::string& text) {
  put("text", name, text);
  const auto bytes = to_binary(text);
  put("trace", name, bytes);
  put("trace", name + ".z", packed(bytes));
  std::ostringstream profile;
  write_profile(profile, analyse(text).report);
  put("profile", name, profile.str());
}

// One hit of each kind, and what is odd: gaps in numbers, hits out of order, processes.
const char* const kHits[] = {
    "O @8 a0 90\nS @10 a0 1 0 0 90\nE @20 a0 1 4\nR @30 a0 1 4\nX @40 a0 90",
    "S @10 a0 1 0 0 90\nE @20 a0 1 4\nc @30 a0 c0 2\nr @40 a0 c0 2\nE @50 c0 2 4\ny @60 c0 c0 2\n"
    "E %71 @70 a0 3 8\nU @80 a0 4\nr @90 a0 c0 2\nT @a0 c0 2 4\ne @b0 c0 c0 0",
    "S @10 a0 1 0 0 90\nE :9 @20 a0 1 4\nE :5 @18 a0 2 8\ne @c0 0 c0 ffffffff\nR :ff @110 a0 1 4"};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::cerr << "usage: fuzz_seeds DIRECTORY TEXT...\n", 1;
  root = argv[1];
  for (int i = 2; i < argc; i++) {
    std::ifstream in(argv[i]);
    std::stringstream text;
    text << in.rdbuf();
    seed("file" + std::to_string(i), text.str());
  }
  for (uint64_t n = 1; n <= 12; n++)
    seed("model" + std::to_string(n), trace_text(model::to_text(model::generate(n, 4 * n))));
  for (size_t i = 0; i < std::size(kHits); i++)
    for (bool end : {true, false}) {
      const std::string name = std::to_string(i) + (end ? "" : "cut");
      put("bpftrace", name, test::bt_text(kHits[i], end));
      put("stap", name, test::stap_records(kHits[i], end));
    }
  return 0;
}
