// SPDX-License-Identifier: MIT
// DepthFilter; see depth_filter.h. run_plain() takes runs of entries and returns without branches
// that depend on the depth; everything else goes record by record.
#include "trace/depth_filter.h"

#include <algorithm>

namespace luatrace {
namespace {

constexpr size_t kRun = 256;  // words by which the output grows

}  // namespace

// An error removes n calls, some of which may not be in the file. If the call that is then on top
// is itself too deep, none of them is.
void DepthFilter::unwind(std::span<const uint64_t> r, std::vector<uint64_t>& out) {
  const uint32_t depth = scanner_.depth(), n = lt_lo(r[1]);
  const uint32_t hidden = depth > max_ ? depth - max_ : 0;
  const bool to_depth = lt_ext_arg(lt_payload(r[0])) == 1;
  if (to_depth && n > max_) return;  // n - 1 calls stay: only hidden ones are removed
  if (to_depth || depth == LT_DEPTH_UNKNOWN || hidden == 0 || n > depth) {
    out.insert(out.end(), r.begin(), r.end());
  } else if (n > hidden) {
    out.push_back(r[0]);
    out.push_back(lt_pack(n - hidden, lt_hi(r[1])));
    out.insert(out.end(), r.begin() + 2, r.end());
  }
}

void DepthFilter::record(std::span<const uint64_t> r, std::vector<uint64_t>& out) {
  const uint32_t depth = scanner_.depth(), kind = lt_kind(r[0]);
  const bool known = depth != LT_DEPTH_UNKNOWN;
  if (sub_of(r[0]) == LTX_UNWIND && r.size() >= 2) return unwind(r, out);
  if ((kind == LT_ENTRY || kind == LT_FRAME) && known && depth >= max_) return;
  if ((kind == LT_RETURN || kind == LT_TAIL) && known && depth > max_) return;
  out.insert(out.end(), r.begin(), r.end());
  if (sub_of(r[0]) != LTX_STACK || r.size() < 3) return;
  // Only max_ of its frames follow.
  out.back() = std::min<uint64_t>(r.back(), uint64_t{max_} + 1);
}

// Takes entries, returns and tail calls of one word, as long as the depth is known.
size_t DepthFilter::run_plain(std::span<const uint64_t> words, std::vector<uint64_t>& out) {
  uint32_t depth = scanner_.depth();
  if (depth == LT_DEPTH_UNKNOWN) return 0;
  words = words.first(std::min(words.size(), kRun));
  const size_t before = out.size();
  out.resize(before + words.size());
  uint64_t* to = out.data() + before;
  size_t n = 0;
  for (; n < words.size(); n++) {
    const uint64_t w = words[n];
    const uint32_t entry = lt_kind(w) == LT_ENTRY ? 1 : 0;
    if (!is_plain(w) || depth + entry == 0) break;
    *to = w;
    to += depth + entry <= max_ ? 1 : 0;  // the depth of the call that begins or ends
    depth += 2 * entry - 1;
  }
  out.resize(static_cast<size_t>(to - out.data()));
  // The filter ignores jumps in time: the scanner continues when called again.
  for (size_t at = 0; at < n;) at += scanner_.scan(words.subspan(at, n - at)).words;
  return n;
}

size_t DepthFilter::run(std::span<const uint64_t> words, std::vector<uint64_t>& out) {
  size_t taken = 0;
  for (;;) {
    while (const size_t n = run_plain(words.subspan(taken), out)) taken += n;
    if (taken == words.size()) return taken;
    const size_t n = record_words(words[taken]);
    if (n == 0 || n > words.size() - taken) return taken;
    const auto one = words.subspan(taken, n);
    if (std::find(one.begin(), one.end(), 0u) != one.end()) return taken;
    record(one, out);
    if (scanner_.scan(one).words == 0) scanner_.scan(one);
    taken += n;
  }
}

}  // namespace luatrace
