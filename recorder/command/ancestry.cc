// SPDX-License-Identifier: MIT
#include "recorder/command/ancestry.h"

#include "recorder/os/process.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxAncestors = 4096, kMaxUnrelated = 65536;
constexpr int kWalks = 3;

}  // namespace

void Ancestry::add_root(pid_t pid, uint64_t start) {
  more_roots_.insert_or_assign(pid, start);
  known_.clear();
  unrelated_.clear();
}

void Ancestry::begin_pass() {
  known_.clear();
  reads_ = 0;
}

bool Ancestry::includes(pid_t pid) {
  const auto [at, fresh] = known_.try_emplace(pid, false);
  if (!fresh) return at->second;
  Answer answer = Answer::kChanged;
  for (int i = 0; answer == Answer::kChanged && i < kWalks; i++) answer = walk(pid);
  return at->second = answer == Answer::kYes;
}

bool Ancestry::is_unrelated(pid_t pid, uint64_t start) const {
  const auto it = unrelated_.find(pid);
  return it != unrelated_.end() && it->second == start;
}

void Ancestry::remember(const std::vector<std::pair<pid_t, uint64_t>>& path) {
  if (unrelated_.size() + path.size() > kMaxUnrelated) unrelated_.clear();
  for (const auto& [pid, start] : path) unrelated_.insert_or_assign(pid, start);
}

// kChanged: one of the processes has ended meanwhile; its child now has another parent.
Ancestry::Answer Ancestry::walk(pid_t pid) {
  std::vector<std::pair<pid_t, uint64_t>> path;
  pid_t at = pid;
  while (at > 0) {
    if (at == root_) return Answer::kYes;
    if (path.size() == kMaxAncestors) return Answer::kNo;
    const Birth birth = read_birth(at);
    reads_++;
    if (birth.parent < 0) return at == pid ? Answer::kNo : Answer::kChanged;
    const auto root = more_roots_.find(at);
    if (root != more_roots_.end() && root->second == birth.start) return Answer::kYes;
    if (is_unrelated(at, birth.start)) break;
    path.emplace_back(at, birth.start);
    at = birth.parent;
  }
  remember(path);
  return Answer::kNo;
}

}  // namespace luatrace::record
