// SPDX-License-Identifier: MIT
// fuzz_seeds DIRECTORY TEXT...: the fuzzers' initial inputs, a folder for each, made from traces in
// the text form and from the hits of tests/import. The fuzzers cut a seed to their longest input
// (scripts/fuzz --size), so of each kind there are short seeds within that length.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "analyzer/pipeline.h"
#include "analyzer/read/image.h"
#include "analyzer/report/saved_profile.h"
#include "cli/usage_error.h"
#include "hits.h"
#include "model.h"
#include "support.h"
#include "trace/crc32c.h"
#include "trace/packing.h"

using namespace luatrace;
using namespace luatrace::analyze;

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

// With time buckets: a tick takes 10 s. Empty if that makes too many.
std::string bucketed_profile(std::string text) {
  const std::string clock = "mult=1 shift=0";
  text.replace(text.find(clock), clock.size(), "mult=10000000000 shift=0 real=1763719000000000000");
  PipelineOptions options;
  options.histograms = options.keeps_buckets = true;
  options.bucket_ns = 60ull * 1000000000;
  options.jobs = 1;
  Pipeline pipeline(options, [](const std::string&) {});
  Diagnostics diag("f", [](const std::string&) {});
  Input input("f", std::vector<uint8_t>(text.begin(), text.end()));
  std::ostringstream out;
  try {
    pipeline.read(input, diag);
    write_profile(out, pipeline.finish());
  } catch (const UsageError&) {
  }
  return out.str();
}

void seed(const std::string& name, const std::string& text) {
  put("text", name, text);
  const auto bytes = to_binary(text);
  put("trace", name, bytes);
  put("trace", name + ".z", packed(bytes));
  std::ostringstream profile;
  write_profile(profile, analyse(text).report);
  put("profile", name, profile.str());
  if (text.find("mult=1 shift=0") == text.npos) return;
  if (const std::string bytes = bucketed_profile(text); !bytes.empty())
    put("profile", name + ".buckets", bytes);
}

// One hit of each kind, and anomalies: gaps in numbers, hits out of order, processes.
const char* const kHits[] = {
    "O @8 a0 90\nS @10 a0 1 0 0 90\nE @20 a0 1 4\nR @30 a0 1 4\nX @40 a0 90",
    ("S @10 a0 1 0 0 90\nE @20 a0 1 4\nc @30 a0 c0 2\nr @40 a0 c0 2\nE @50 c0 2 4\ny @60 c0 c0 2\n"
     "E %71 @70 a0 3 8\nU @80 a0 4\nr @90 a0 c0 2\nT @a0 c0 2 4\ne @b0 c0 c0 0"),
    "r @40 a0 c0 2\nE @50 c0 1 4\ny @60 c0 c0 2\ne @70 c0 c0 0",
    "E @10 a0 1 4\nE @20 a0 1 8\nU @30 a0 0\nT @40 a0 1 8",
    "S @10 a0 1 0 0 90\nE :9 @20 a0 1 4\nE :5 @18 a0 2 8\ne @c0 0 c0 ffffffff\nR :ff @110 a0 1 4"};

// -- Short ones: they describe only the functions up to `last` --

template <class F>
std::string without_lines(const std::string& text, F unwanted) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (!unwanted(line)) out += line + '\n';
  return out;
}

std::string short_trace(const std::string& text, unsigned last) {
  return without_lines(text, [last](const std::string& line) {
    unsigned id = 0;
    const bool function = sscanf(line.c_str(), "func 1:%u", &id) == 1;
    return line.starts_with("process ") || (function && id > last);
  });
}

std::string short_bt(const std::string& text, unsigned last) {
  return without_lines(text, [last](const std::string& line) {
    char kind = 0;
    unsigned id = 0;
    return sscanf(line.c_str(), "%c 7 %x beef", &kind, &id) == 2 && strchr("FCN", kind) &&
           id > last;
  });
}

std::vector<uint8_t> short_stap(const std::vector<uint8_t>& records, uint32_t last) {
  std::vector<uint8_t> out;
  for (size_t at = 0; at + 40 <= records.size(); at += 40) {
    uint32_t function;
    memcpy(&function, &records[at + 4], sizeof function);
    if ((records[at] == 'F' || records[at] == 'T') && function > last) continue;
    out.insert(out.end(), &records[at], &records[at] + 40);
  }
  return out;
}

// CPU time, and requests: also records of more time than passed.
const char kCpu[] =
    "0 start\n0 ringblock co=1 tid=7 rec=1\n3 cpu unknown ticks=3\n5 request 2 0x70\n5 resume 2\n"
    "6 entry 1\n10 entry 2\n40 cpu off ticks=20\n45 return 2\n50 cpu preempted ticks=30\n"
    "60 suspend yield\n70 cpu off ticks=18446744073709551615\n80 resume 2\n90 return 1\n"
    "95 suspend done\n100 stop close\n";

// Segments: iterations that are multiplied, a side trace, places inside a trace, words without a
// time of their own; the last four are false.
const char kSegments[] =
    "segments 1:1 parent=0 trace=1 bytes=100 level=1 counts=1 loop=2 marks=1 "
    "@0+0 @0+0 @1+30 @0+50 @1+80 1:2 2:2\n"
    "segments 1:6 parent=5 trace=2 bytes=40 level=1 loops=1 marks=1 @0+0 @3+40 2:2 1:3 2:3\n"
    "segments 1:8 parent=2 trace=3 bytes=60 level=2 counts=1 marks=1 @0+0 @4+9 1:2 1:3 2:3 2:2\n"
    "10 entry 1\n50 segment 4 9\n50 segment 9 3 300\n60 segment 1 1000\n90 segment 7 2\n"
    "95 return 3\n96 entry 2\n97 return 2\n98 segment 3\n99 return 2\n120 segment 77 3\n"
    "125 packed 4 4*9\n126 packed 7*0,200 77\n127 packed 3 3 9\n128 return 2\n"
    "130 segment 4 99999999\n140 entry 1\n150 segment 9 4000000 4000000\n160 segment 6\n";

// The same code, and samples of it, as if they were in one file: the fuzzer takes both from its
// input.
const char kSampledCode[] =
    "stream 2 process=1 flags=0x200\nfunc 2:1 lua line=10 chunk=\"@a.lua\" name=\"f1\"\n"
    "sample 2 10 ns=1 tid=7 state=compiled trace=1 bytes=100 at=35 1:10\n"
    "sample 2 20 ns=1 tid=7 state=compiled trace=1 bytes=100 at=85 1:10\n"
    "sample 2 30 ns=1 tid=7 state=c trace=2 bytes=40 at=4294967295 1:10\n"
    "sample 2 40 ns=1 tid=7 off=1 trace=3 bytes=60 at=9 1:10\n";

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
  seed("cpu", trace_text(kCpu));
  seed("segments", trace_text(kSegments));
  seed("sampled_code", trace_text(std::string(kSegments) + kSampledCode));
  seed("short_segments", short_trace(trace_text(kSegments), 3));
  for (uint64_t n = 1; n <= 12; n++)
    seed("model" + std::to_string(n), trace_text(model::to_text(model::generate(n, 4 * n))));
  for (unsigned n = 1; n <= 12; n++)
    seed("short" + std::to_string(n),
         short_trace(trace_text(model::to_text(model::generate(n, 3 + n % 6))), n % 3));
  for (size_t i = 0; i < std::size(kHits); i++)
    for (bool end : {true, false}) {
      const std::string name = std::to_string(i) + (end ? "" : "cut");
      for (unsigned last : {0u, 1u, 9u}) {
        const std::string which = name + "_" + std::to_string(last);
        put("bpftrace", which, short_bt(test::bt_text(kHits[i], end), last));
        put("stap", which, short_stap(test::stap_records(kHits[i], end), last));
      }
    }
  return 0;
}
