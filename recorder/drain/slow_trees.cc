// SPDX-License-Identifier: MIT
#include "recorder/drain/slow_trees.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/os/text.h"
#include "trace/word_scanner.h"

namespace luatrace::record {

SlowTrees::SlowTrees(std::unique_ptr<TraceWriter> out, std::vector<WatchRule> rules,
                     uint64_t max_size, std::function<ClockRate()> rate)
    : CallFollower(std::move(rules)),
      out_(std::move(out)),
      rate_(std::move(rate)),
      max_size_(max_size) {}

SlowTrees::~SlowTrees() = default;

// -- Blocks --

bool SlowTrees::write(BlockBatch& batch) {
  size_t at = 0;
  for (const BlockNote& note : batch.notes) {
    const std::byte* const p = &batch.bytes[at];
    if (note.type == 0) {
      lt_file_header header;
      std::memcpy(&header, p, sizeof header);
      if (std::exchange(begun_, true)) out_->restart(header);
    } else {
      lt_block head;
      std::memcpy(&head, p, sizeof head);
      take(head, {p + sizeof head, head.payload_size});
    }
    at += note.size;
    taken_ += note.size;
  }
  batch.clear();
  return out_->flush();
}

void SlowTrees::take(const lt_block& head, std::span<const std::byte> payload) {
  switch (head.type) {
    case LT_BLOCK_STREAM:
      std::memcpy(&sources_[head.stream].info, payload.data(), sizeof(lt_stream_info));
      return;
    case LT_BLOCK_FUNCS:
      keep_functions(sources_[head.stream], payload);
      return functions(head.stream, payload);
    case LT_BLOCK_EVENTS:
      return events(head, {reinterpret_cast<const uint64_t*>(payload.data()), payload.size() / 8});
    case LT_BLOCK_END: {
      lt_end_info info;
      std::memcpy(&info, payload.data(), sizeof info);
      out_->write_discarded();
      out_->write_end(info);
      return;
    }
    default:
      out_->write_block(head, payload);
  }
}

void SlowTrees::keep_functions(Source& source, std::span<const std::byte> records) {
  for (size_t at = 0; at + sizeof(lt_func) <= records.size();) {
    lt_func f;
    std::memcpy(&f, &records[at], sizeof f);
    std::vector<std::byte>& kept = source.functions[f.id];
    described_ += f.size - kept.size();
    kept.assign(&records[at], &records[at] + f.size);
    at += f.size;
  }
  while (described_ > kMaxDescriptions && !source.functions.empty()) {
    described_ -= source.functions.begin()->second.size();
    source.functions.erase(source.functions.begin());
  }
}

bool SlowTrees::rewrite(const lt_file_header& header) {
  return out_->set_clock_rate(header.tick_mult, header.tick_shift);
}

bool SlowTrees::restart() {
  sources_.clear();
  streams_.clear();
  taken_ = described_ = words_ = 0;
  return true;  // the header follows
}

std::vector<BlockNote> SlowTrees::withdraw() {
  out_->discard();
  return {};
}

void SlowTrees::end_stream(uint32_t stream) {
  const auto it = sources_.find(stream);
  if (it == sources_.end()) return;
  streams_[stream].number = stream;
  lost(streams_[stream]);
  for (const auto& [id, record] : it->second.functions) described_ -= record.size();
  sources_.erase(it);
  ended(stream);
}

// -- Words --

SlowTrees::Tree* SlowTrees::owner(Source& source, uint32_t coroutine) const {
  const auto it = source.owners.find(coroutine);
  return it == source.owners.end() ? nullptr : it->second;
}

void SlowTrees::append(Source& source, Tree& tree, std::span<const uint64_t> r) {
  tree.words.insert(tree.words.end(), r.begin(), r.end());
  words_ += r.size();
  if (words_ <= kMaxWords) return;
  too_long_++;
  remove(source, tree);
}

// The calls around the tree are not in it.
void SlowTrees::append_unwind(Stream& s, Source& source, Tree& tree, std::span<const uint64_t> r) {
  const auto calls = static_cast<uint32_t>(s.open.here().calls.size());
  const auto outside = static_cast<uint32_t>(tree.depth - 1);
  const bool to_depth = lt_ext_arg(lt_payload(r[0])) == 1;
  const uint32_t n = lt_lo(r[1]),
                 left = to_depth ? n - std::min(n, 1u) : calls - std::min(n, calls);
  const uint32_t keep = left > outside ? left - outside : 0;
  const uint64_t words[] = {lt_word(lt_time(r[0]), lt_ext(LTX_UNWIND, 1, 1), LT_EXT),
                            lt_pack(keep + 1, keep > 0 ? lt_hi(r[1]) : LT_ID_NONE)};
  append(source, tree, words);
}

void SlowTrees::remove(Source& source, Tree& tree) {
  words_ -= std::min(words_, tree.words.size());
  for (const uint32_t id : tree.coroutines)
    if (owner(source, id) == &tree) source.owners.erase(id);
  source.trees.erase(&tree);
}

// A coroutine that works for the call from now on, which a reader does not know yet.
void SlowTrees::adopt(Stream& s, Source& source, Tree& tree, uint32_t coroutine, bool resumed) {
  source.owners[coroutine] = &tree;
  tree.coroutines.push_back(coroutine);
  const OpenCalls::Coroutine* const c = s.open.find(coroutine);
  const size_t before = tree.words.size();
  if (resumed && c != nullptr) OpenCalls::report_stack(tree.words, s.tick, coroutine, *c);
  words_ += tree.words.size() - before;
}

void SlowTrees::begin_tree(Stream& s, Source& source) {
  auto made = std::make_unique<Tree>();
  Tree& tree = *made;
  source.trees[&tree] = std::move(made);
  tree.stream = s.number;
  tree.coroutine = tree.current = s.open.current();
  tree.tick = s.tick;
  tree.depth = s.open.here().calls.size() + 1;
  OpenCalls fresh;  // of which nothing but this coroutine is known, without the calls around this
  const uint64_t start[] = {lt_word(s.tick, lt_ext(LTX_START, 2, LT_START_ATTACHED), LT_EXT),
                            s.tick, lt_pack(source.info.recording, source.info.flags),
                            lt_word(s.tick, lt_ext(LTX_THREAD, 1, 0), LT_EXT), s.open.thread()};
  fresh.apply(start);
  tree.words = fresh.report(s.tick, std::max(source.info.recording, 1u), source.info.flags);
  OpenCalls::Coroutine empty;
  empty.known = true;
  empty.request = s.open.here().request;
  empty.marks.inherit(s.open.here().marks);
  OpenCalls::report_stack(tree.words, s.tick, tree.coroutine, empty);
  words_ += tree.words.size();
  adopt(s, source, tree, tree.coroutine, false);
}

void SlowTrees::before(Stream& s, std::span<const uint64_t> r, bool watched) {
  Source& source = sources_[s.number];
  const uint32_t by = s.open.current();
  if (watched && by != 0 && owner(source, by) == nullptr) begin_tree(s, source);
  const uint32_t sub = sub_of(r[0]);
  if (sub == LTX_BLOCK || sub == LTX_PAD || sub == LTX_START || sub == LTX_STOP) return;
  Tree* const tree = owner(source, by);
  if (tree != nullptr && sub == LTX_UNWIND && by == tree->coroutine)
    append_unwind(s, source, *tree, r);
  else if (tree != nullptr)
    append(source, *tree, r);
  if ((sub == LTX_COLLECT || sub == LTX_REQUEST || sub == LTX_LABEL) && r.size() > 1) {
    Tree* const other = owner(source, lt_lo(r[1]));
    if (other != nullptr && other != tree) append(source, *other, r);
    if (sub == LTX_COLLECT) source.owners.erase(lt_lo(r[1]));
  }
  // The Lua VM is on another thread, also for the calls that do not run now.
  for (auto it = source.trees.begin(); sub == LTX_THREAD && it != source.trees.end();) {
    Tree& other = *(it++)->first;  // append() may remove it
    if (&other != tree) append(source, other, r);
  }
}

// The coroutine of a call runs again, after one that does not belong to it.
void SlowTrees::enter(Stream& s, Tree& tree, std::span<const uint64_t> r, uint32_t by) {
  Source& source = sources_[s.number];
  const uint32_t to = s.open.current();
  const uint64_t words[] = {lt_word(s.tick, lt_ext(LTX_SWITCH, 1, 0), LT_EXT), to};
  const bool fits = lt_kind(r[0]) != LT_SUSPEND || tree.current == by;
  tree.current = to;
  append(source, tree, fits ? r : std::span<const uint64_t>(words));
}

void SlowTrees::after(Stream& s, std::span<const uint64_t> r, uint32_t by) {
  const uint32_t to = s.open.current(), sub = sub_of(r[0]);
  if (to == by && sub != LTX_CREATE) return;
  const auto it = sources_.find(s.number);
  if (it == sources_.end() || it->second.trees.empty()) return;
  Source& source = it->second;
  Tree* const tree = owner(source, by);
  if (sub == LTX_CREATE) {
    if (tree != nullptr && r.size() > 1) adopt(s, source, *tree, lt_lo(r[1]), false);
    return;
  }
  if (tree != nullptr) tree->current = to;
  Tree* const other = owner(source, to);
  if (other != nullptr && other != tree) return enter(s, *other, r, by);
  if (tree != nullptr && other == nullptr && lt_kind(r[0]) == LT_RESUME)
    adopt(s, source, *tree, to, true);
}

// Only the end of the call with which a tree began counts.
void SlowTrees::call_ended(Stream& s, uint32_t coroutine, const Call& call, bool by_error) {
  Source& source = sources_[s.number];
  Tree* const tree = owner(source, coroutine);
  if (tree == nullptr || tree->coroutine != coroutine || tree->depth != call.depth) return;
  const double ns = ticks_to_ns(rate_(), s.tick - call.tick);
  bool slow = false;
  for (size_t i = 0; i < rules_.size(); i++)
    if ((call.rules >> i & 1) != 0)
      slow |= ns > static_cast<double>(rules_[i].limit_ns) || (by_error && rules_[i].on_error);
  if (slow) write_tree(s, source, *tree);
  remove(source, *tree);
}

void SlowTrees::lost(Stream& s) {
  const auto it = sources_.find(s.number);
  if (it == sources_.end()) return;
  cut_ += it->second.trees.size();
  while (!it->second.trees.empty()) remove(it->second, *it->second.trees.begin()->second);
}

// -- The file --

void SlowTrees::write_functions(const Source& source, const Tree& tree, uint32_t stream) {
  std::vector<uint32_t> ids;
  for (size_t at = 0; at < tree.words.size();) {
    const uint64_t w = tree.words[at];
    const size_t n = std::max<size_t>(record_words(w), 1);
    if (lt_kind(w) == LT_ENTRY || lt_kind(w) == LT_FRAME)
      ids.push_back(n == 2 ? lt_lo(tree.words[at + 1]) : lt_payload(w));
    at += n;
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<std::byte> records;
  uint32_t count = 0;
  for (const uint32_t id : ids) {
    const auto it = source.functions.find(id);
    if (it == source.functions.end()) continue;
    records.insert(records.end(), it->second.begin(), it->second.end());
    count++;
    if (records.size() < LT_PAYLOAD_MAX / 2) continue;
    out_->write_funcs(stream, count, records);
    records.clear();
    count = 0;
  }
  if (count > 0) out_->write_funcs(stream, count, records);
}

void SlowTrees::write_tree(Stream& s, const Source& source, Tree& tree) {
  if (full_) return;
  tree.words.push_back(lt_word(s.tick, lt_ext(LTX_STOP, 0, LTE_DETACH), LT_EXT));
  words_++;
  full_ = max_size_ != 0 && out_->bytes() + tree.words.size() * 16 + 65536 > max_size_;
  if (full_) return;
  const uint32_t stream = ++streams_written_;
  lt_stream_info info = source.info;
  info.start_tick = tree.tick;
  out_->write_stream(stream, info);
  write_functions(source, tree, stream);
  EventBlocks events(*out_, stream, tree.tick);
  events.append(tree.words);
  events.flush();
}

std::vector<std::string> SlowTrees::remarks() const {
  std::vector<std::string> lines;
  if (too_long_ > 0)
    lines.push_back(counted(too_long_, "call") + " left out: more events than fit into memory");
  if (cut_ > 0)
    lines.push_back(counted(cut_, "call") + " left out: events were lost, or the recording ended");
  for (const std::string& name : unmatched())
    lines.push_back("--only-slow " + shell_word(name) + ": no such function was seen (" +
                    name_advice(name) + "CHUNK:LINE of its definition needs no name)");
  return lines;
}

}  // namespace luatrace::record
