// SPDX-License-Identifier: MIT
// SlowTrees (--only-slow): a destination for the blocks of a trace that passes on only the calls of
// some functions that were slow enough, each with everything that ran for it, as a stream of its
// own: from the entry of the call to its end.
//
// To a call belong the coroutine in which it began, those that it creates or resumes, and those
// that they create or resume. Invariants: words of one call are in order, and each of its
// coroutines begins with its stack; words of open calls take up to kMaxWords in all (then the call
// that needs more is left out, and counted); the file grows with slow calls only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/drain/call_watch.h"

namespace luatrace::record {

class SlowTrees : public BlockSink, private CallFollower {
 public:
  static constexpr size_t kMaxWords = 8u << 20;
  static constexpr uint64_t kMaxDescriptions = 64u << 20;  // bytes

  SlowTrees(std::unique_ptr<TraceWriter> out, std::vector<WatchRule> rules, uint64_t max_size,
            std::function<ClockRate()> rate);
  ~SlowTrees() override;

  bool seekable() const override { return out_->seekable(); }
  bool write(BlockBatch& batch) override;
  bool rewrite(const lt_file_header& header) override;
  bool restart() override;
  bool close() override { return out_->close(); }
  bool ok() const override { return out_->ok(); }
  std::string error() const override { return out_->error(); }
  uint64_t written() const override { return out_->written() == out_->bytes() ? taken_ : 0; }
  void give_up() override { out_->forget_unwritten(); }
  std::vector<BlockNote> withdraw() override;

  TraceWriter& out() { return *out_; }
  bool full() const { return full_; }  // --max-size
  void end_stream(uint32_t stream);
  // At the end: what else a user should know.
  uint64_t found() const { return streams_written_; }  // Slow calls that were written.
  std::vector<std::string> remarks() const;

 private:
  struct Tree {
    uint32_t stream = 0;
    uint32_t coroutine = 0, current = 0;  // in which it began; the last one that it names
    uint64_t tick = 0;
    size_t depth = 0;
    std::vector<uint64_t> words;
    std::vector<uint32_t> coroutines;
  };
  struct Source {  // a stream
    lt_stream_info info{};
    std::map<uint32_t, std::vector<std::byte>> functions;
    std::unordered_map<uint32_t, Tree*> owners;  // by coroutine
    std::map<Tree*, std::unique_ptr<Tree>> trees;
  };

  void take(const lt_block& head, std::span<const std::byte> payload);
  void keep_functions(Source& source, std::span<const std::byte> records);
  void before(Stream& s, std::span<const uint64_t> r, bool watched) override;
  void after(Stream& s, std::span<const uint64_t> r, uint32_t by) override;
  void call_ended(Stream& s, uint32_t coroutine, const Call& call, bool by_error) override;
  void lost(Stream& s) override;

  Tree* owner(Source& source, uint32_t coroutine) const;
  void begin_tree(Stream& s, Source& source);
  void adopt(Stream& s, Source& source, Tree& tree, uint32_t coroutine, bool resumed);
  void enter(Stream& s, Tree& tree, std::span<const uint64_t> r, uint32_t by);
  void append(Source& source, Tree& tree, std::span<const uint64_t> r);
  void append_unwind(Stream& s, Source& source, Tree& tree, std::span<const uint64_t> r);
  void remove(Source& source, Tree& tree);
  void write_tree(Stream& s, const Source& source, Tree& tree);
  void write_functions(const Source& source, const Tree& tree, uint32_t stream);

  std::unique_ptr<TraceWriter> out_;
  std::function<ClockRate()> rate_;
  const uint64_t max_size_;
  std::map<uint32_t, Source> sources_;
  uint64_t taken_ = 0, described_ = 0, cut_ = 0, too_long_ = 0;
  size_t words_ = 0;
  uint32_t streams_written_ = 0;
  bool begun_ = false, full_ = false;
};

}  // namespace luatrace::record
