// SPDX-License-Identifier: MIT
// File names and function names of debug information, which thousands of rows share.
//
// Invariant: each text is stored once; all texts together have up to kMaxBytes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace luatrace::analyze {

using SharedText = std::shared_ptr<const std::string>;  // Null: "".

inline const std::string& string_of(const SharedText& text) {
  static const std::string none;
  return text ? *text : none;
}

class StringPool {
 public:
  // Returns null if `text` is empty or there is no space left.
  SharedText get(std::string text) {
    if (text.empty()) return nullptr;
    const auto found = known_.find(text);
    if (found != known_.end()) return found->second;
    if (text.size() > left_) return is_full_ = true, nullptr;
    left_ -= text.size();
    const auto kept = std::make_shared<const std::string>(std::move(text));
    return known_.emplace(*kept, kept).first->second;
  }
  bool is_full() const { return is_full_; }

 private:
  static constexpr size_t kMaxBytes = 128 << 20;

  std::map<std::string_view, SharedText> known_;
  size_t left_ = kMaxBytes;
  bool is_full_ = false;
};

}  // namespace luatrace::analyze
