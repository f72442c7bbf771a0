// SPDX-License-Identifier: MIT
// --group-by request: which group each request of a file is in, as an earlier pass over the file
// found its requests.
//
// A graph of 100,000 groups shows nothing. So only the slowest requests have groups of their own,
// named by their numbers in --requests; the others of each entry function are one group, to compare
// them with.
//
// Invariant: the number of groups follows from the number of requests that have their own and from
// that of entry functions, not from that of requests.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/collect/requests.h"
#include "analyzer/symbols/function_name.h"
#include "base/random_hash.h"

namespace luatrace::analyze {

class RequestGroups {
 public:
  using Describe = std::function<FunctionName(FunctionId)>;

  RequestGroups() = default;
  // `requests` in the order of their numbers, from 1. separate: how many of the slowest have groups
  // of their own; 0: all.
  RequestGroups(const std::vector<const RequestSums*>& requests, size_t separate,
                const Describe& describe);

  // The names of the groups.
  const std::vector<std::string>& names() const { return names_; }
  // Of a stream, by the request's number in it: indices of names().
  const std::vector<uint32_t>& of(StreamId stream) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<StreamId, std::vector<uint32_t>, RandomHash> groups_;
};

}  // namespace luatrace::analyze
