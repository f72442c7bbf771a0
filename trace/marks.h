// SPDX-License-Identifier: MIT
// Marks: the labels and the open sections of a coroutine, as the records that said so (LTX_LABEL,
// LTX_MARK). Invariant: each record is a whole one of its kind; nothing is known of texts here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace luatrace {

class Marks {
 public:
  static constexpr size_t kMaxLabels = 64, kMaxSections = 256;

  // Each takes a whole record of its kind.
  void label(std::span<const uint64_t> r);
  void section(std::span<const uint64_t> r);
  void inherit(const Marks& from) { labels_ = from.labels_; }
  void clear_sections() { sections_.clear(); }
  void clear() { *this = {}; }

  // About, with those that other coroutines have, too.
  size_t words() const;
  // The records for a reader who knows none of it, as events of that coroutine at that clock.
  void report_labels(std::vector<uint64_t>& out, uint64_t tick, uint32_t id) const;
  void report_sections(std::vector<uint64_t>& out, uint64_t tick, uint32_t id) const;

  bool operator==(const Marks&) const;

 private:
  using Text = std::shared_ptr<const std::vector<uint64_t>>;
  struct Label {
    uint32_t key_words;  // of the text; the value follows
    Text text;
    bool has_key(const Label& other) const;
  };
  std::vector<Label> labels_;
  std::vector<Text> sections_;
};

}  // namespace luatrace
