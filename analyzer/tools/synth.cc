// SPDX-License-Identifier: MIT
// luatrace-synth: writes a trace of a made-up program whose call tree has a given number of nodes,
// for measuring the analyzer.
//
// The tree is a heap: node i has the children 8i+1 ... 8i+8 that exist. Each call makes 0 to 4
// calls of children chosen at random, so that most events happen at the leaves, which are visited
// in random order: hard on the caches. With --streams N, N such streams run at the same time, with
// different random numbers, and share the events. The same options give the same bytes.
#include <algorithm>
#include <boost/program_options.hpp>
#include <iostream>
#include <vector>

#include "trace/records.h"
#include "trace/trace_writer.h"

namespace po = boost::program_options;

namespace luatrace::analyze {
namespace {

constexpr uint64_t kFanOut = 8;
constexpr size_t kBlockWords = 8192;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }

 private:
  uint64_t state_;
};

// One Lua VM.
class Synth {
 public:
  Synth(TraceWriter& writer, uint32_t stream, uint64_t events, uint64_t nodes, uint32_t functions,
        uint64_t seed)
      : writer_(writer),
        stream_(stream),
        left_(events),
        nodes_(nodes),
        functions_(functions),
        random_(seed) {}

  void begin() {
    describe();
    emit(lt_ext(LTX_BLOCK, 3, 0), LT_EXT, {now_, 1, lt_pack(stream_, 1)});
    emit(lt_ext(LTX_START, 2, 0), LT_EXT, {now_, lt_pack(1, LTF_JIT)});
    enter(0);
  }
  // Writes one block more; false after the last one.
  bool run();

 private:
  struct Call {
    uint64_t node;
    uint32_t id;
    uint32_t calls;  // Still to be made.
  };

  void describe();
  bool step();
  void enter(uint64_t node);
  uint32_t id_of(uint64_t node) const;
  void emit(uint32_t payload, uint32_t kind, std::initializer_list<uint64_t> more);
  void flush();

  TraceWriter& writer_;
  const uint32_t stream_;
  uint64_t left_, nodes_;
  uint32_t functions_;
  Random random_;
  uint64_t now_ = 1000000, base_ = 1000000;
  uint32_t count_ = 0, depth_at_base_ = 0;
  uint64_t blocks_ = 0;
  std::vector<uint64_t> words_;
  std::vector<Call> stack_;
};

void Synth::describe() {
  lt_stream_info stream{};
  stream.process = 1;
  stream.flags = LTF_JIT;
  stream.recording = 1;
  stream.tid = static_cast<int32_t>(stream_);
  std::string("synthetic").copy(stream.luajit, sizeof stream.luajit - 1);
  writer_.write_stream(stream_, stream);
  std::vector<std::byte> records;
  for (uint32_t i = 1; i <= functions_; i++) {
    lt_func f{};
    f.type = LT_FUNC_LUA;
    f.flags = LT_FUNC_HINT;
    f.id = i;
    f.firstline = i;
    append_func(records, f, "@synth.lua", std::to_string(i).insert(0, 1, 'f'));
    if (records.size() < 1 << 20 && i != functions_) continue;
    writer_.write_funcs(stream_, 1, records);
    records.clear();
  }
}

// Different for the children of one node.
uint32_t Synth::id_of(uint64_t node) const {
  uint64_t parent = node ? (node - 1) / kFanOut : 0;
  uint64_t first = parent * 0x9e3779b97f4a7c15u >> 20;
  return static_cast<uint32_t>(1 + (first + node % kFanOut) % functions_);
}

void Synth::enter(uint64_t node) {
  uint32_t id = id_of(node);
  emit(id, LT_ENTRY, {});
  bool leaf = node * kFanOut + 1 >= nodes_;
  stack_.push_back({node, id, leaf ? 0 : static_cast<uint32_t>(random_() >> 20) % 5});
  if (stack_.size() == 1) stack_[0].calls = UINT32_MAX;
}

// One event; false after the last call has begun.
bool Synth::step() {
  if (left_ <= stack_.size() + 1) return false;
  Call& top = stack_.back();
  if (top.calls && top.node * kFanOut + 1 < nodes_) {
    top.calls--;
    uint64_t first = top.node * kFanOut + 1;
    uint64_t children = std::min(kFanOut, nodes_ - first);
    enter(first + (random_() >> 20) % children);
    return true;
  }
  if (stack_.size() == 1) return false;  // A tree of one node.
  emit(top.id, LT_RETURN, {});
  stack_.pop_back();
  return true;
}

bool Synth::run() {
  for (uint64_t before = blocks_; blocks_ == before;) {
    if (step()) continue;
    for (; !stack_.empty(); stack_.pop_back()) emit(stack_.back().id, LT_RETURN, {});
    emit(lt_ext(LTX_STOP, 0, LTE_CLOSE), LT_EXT, {});
    flush();
    return false;
  }
  return true;
}

void Synth::emit(uint32_t payload, uint32_t kind, std::initializer_list<uint64_t> more) {
  if (words_.size() + 1 + more.size() > kBlockWords) flush();
  now_ += 5 + (random_() >> 30) % 40;
  words_.push_back(lt_word(now_, payload, kind));
  bool first = true;  // The full clock, in the records that this program writes.
  for (uint64_t word : more) {
    words_.push_back(first ? now_ : word);
    first = false;
  }
  count_++;
  if (left_) left_--;
}

void Synth::flush() {
  if (words_.empty()) return;
  EventBlockInfo info;
  info.stream = stream_;
  info.count = count_;
  info.base_tick = base_;
  info.end_tick = now_;
  info.coroutine = 1;
  info.depth = depth_at_base_;
  writer_.write_events(info, words_);
  words_.clear();
  blocks_++;
  base_ = now_;
  count_ = 0;
  depth_at_base_ = static_cast<uint32_t>(stack_.size());
}

void write_all(TraceWriter& writer, const po::variables_map& vm) {
  lt_process_info process{};
  process.pid = process.ns_pid = 1;
  writer.write_process(1, process, "/usr/bin/synth", "synth");
  const uint32_t streams = std::max(1u, vm["streams"].as<uint32_t>());
  std::vector<Synth> running;
  for (uint32_t i = 1; i <= streams; i++) {
    running.emplace_back(writer, i, vm["events"].as<uint64_t>() / streams,
                         std::max<uint64_t>(1, vm["nodes"].as<uint64_t>()),
                         std::max(8u, vm["functions"].as<uint32_t>()),
                         vm["seed"].as<uint64_t>() + i - 1);
    running.back().begin();
  }
  std::vector<Synth*> list;
  for (Synth& stream : running) list.push_back(&stream);
  while (!list.empty()) std::erase_if(list, [](Synth* stream) { return !stream->run(); });
  writer.write_end({});
}

int run(int argc, char** argv) {
  po::options_description options("Options");
  options.add_options()("events", po::value<uint64_t>()->default_value(10000000), "event words")(
      "nodes", po::value<uint64_t>()->default_value(1000), "nodes of the call tree")(
      "functions", po::value<uint32_t>()->default_value(1000), "functions (minimum 8)")(
      "seed", po::value<uint64_t>()->default_value(1), "seed of the random numbers")(
      "streams", po::value<uint32_t>()->default_value(1), "Lua VMs that share the events")(
      "compress", po::value<int>()->implicit_value(1), "compress blocks with this level of zstd")(
      "output,o", po::value<std::string>()->required(), "file to write")("help,h",
                                                                         "print this help");
  po::variables_map vm;
  po::store(po::parse_command_line(argc, argv, options), vm);
  if (vm.count("help")) return std::cout << "luatrace-synth -o FILE [options]\n" << options, 0;
  po::notify(vm);
  std::string error, path = vm["output"].as<std::string>();
  int fd = open_trace(path, &error);
  if (fd < 0) return std::cerr << "luatrace-synth: " << error << '\n', 2;
  lt_file_header header = make_file_header();
  if (vm.count("compress")) header.required |= LT_FEATURE_ZSTD;
  TraceWriter writer(fd, path, header);
  if (vm.count("compress"))
    writer.compress(std::clamp(vm["compress"].as<int>(), kMinCompression, kMaxCompression));
  write_all(writer, vm);
  if (!writer.close()) return std::cerr << "luatrace-synth: " << writer.error() << '\n', 2;
  return 0;
}

}  // namespace
}  // namespace luatrace::analyze

int main(int argc, char** argv) {
  try {
    return luatrace::analyze::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "luatrace-synth: " << e.what() << " (see --help)\n";
    return 1;
  }
}
