// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_groups.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "analyzer/collect/request_rules.h"
#include "base/grow_array.h"

namespace luatrace::analyze {
namespace {

// The functions that requests are named by (entry_phase()).
class Entries {
 public:
  explicit Entries(const RequestGroups::Describe& describe) : describe_(describe) {}
  // kNoFunction: it has none.
  FunctionId of(const RequestSums& request);

 private:
  bool is_content(FunctionId function);

  const RequestGroups::Describe& describe_;
  std::unordered_map<FunctionId, bool, RandomHash> content_;  // What is known.
};

bool Entries::is_content(FunctionId function) {
  const auto [at, fresh] = content_.try_emplace(function);
  if (fresh) at->second = rule_of(describe_(function)).phase == Phase::kContent;
  return at->second;
}

FunctionId Entries::of(const RequestSums& request) {
  const auto is = [this](FunctionId function) { return function && is_content(function); };
  const RequestPhase* best = entry_phase(request.phases, is);
  return best ? best->function : kNoFunction;
}

// By request: whether it is one of the slowest `limit`; timers come last. Of equally slow ones the
// first.
std::vector<bool> slowest(const std::vector<const RequestSums*>& requests, size_t limit) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0u);
  limit = std::min(limit, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(limit), order.end(),
                    [&](uint32_t a, uint32_t b) {
                      return std::tuple(requests[a]->timer, requests[b]->wall(), a) <
                             std::tuple(requests[b]->timer, requests[a]->wall(), b);
                    });
  std::vector<bool> out(requests.size());
  for (size_t i = 0; i < limit; i++) out[order[i]] = true;
  return out;
}

}  // namespace

RequestGroups::RequestGroups(const std::vector<const RequestSums*>& requests, size_t separate,
                             const Describe& describe) {
  const std::vector<bool> own = slowest(requests, separate ? separate : requests.size());
  std::unordered_map<FunctionId, uint32_t, RandomHash> others;
  Entries entries(describe);
  for (size_t i = 0; i < requests.size(); i++) {
    const FunctionId entry = entries.of(*requests[i]);
    const auto name = [&](const std::string& begin) {
      names_.push_back(entry ? begin + ' ' + display_name(describe(entry)) : begin);
      return static_cast<uint32_t>(names_.size() - 1);
    };
    uint32_t& group = grown(groups_[requests[i]->stream], requests[i]->number);
    if (own[i])
      group = name("request " + std::to_string(i + 1));
    else if (const auto [at, fresh] = others.try_emplace(entry); fresh)
      group = at->second = name("[other requests]");
    else
      group = at->second;
  }
}

const std::vector<uint32_t>& RequestGroups::of(StreamId stream) const {
  static const std::vector<uint32_t> kNone;
  const auto at = groups_.find(stream);
  return at == groups_.end() ? kNone : at->second;
}

}  // namespace luatrace::analyze
