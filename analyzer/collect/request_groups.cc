// SPDX-License-Identifier: MIT
#include "analyzer/collect/request_groups.h"

#include <algorithm>
#include <numeric>

#include "base/grow_array.h"

namespace luatrace::analyze {
namespace {

// The function in which a request spent most of its time: of nginx's blocks mostly that of content.
FunctionId entry_of(const RequestSums& request) {
  const auto time = [](const RequestPhase& p) { return p.running_ns + p.wait_ns; };
  const auto most =
      std::max_element(request.phases.begin(), request.phases.end(),
                       [&](const auto& a, const auto& b) { return time(a) < time(b); });
  return most == request.phases.end() ? kNoFunction : most->function;
}

// By request: whether it is one of the slowest `limit`. Of equally slow ones the first.
std::vector<bool> slowest(const std::vector<const RequestSums*>& requests, size_t limit) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0u);
  limit = std::min(limit, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(limit), order.end(),
                    [&](uint32_t a, uint32_t b) {
                      return std::pair(requests[b]->wall(), a) < std::pair(requests[a]->wall(), b);
                    });
  std::vector<bool> out(requests.size());
  for (size_t i = 0; i < limit; i++) out[order[i]] = true;
  return out;
}

}  // namespace

RequestGroups::RequestGroups(const std::vector<const RequestSums*>& requests, size_t separate,
                             const NameOf& name_of) {
  const std::vector<bool> own = slowest(requests, separate ? separate : requests.size());
  std::unordered_map<FunctionId, uint32_t, RandomHash> others;
  for (size_t i = 0; i < requests.size(); i++) {
    const FunctionId entry = entry_of(*requests[i]);
    const auto name = [&](const std::string& begin) {
      names_.push_back(entry ? begin + ' ' + name_of(entry) : begin);
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
