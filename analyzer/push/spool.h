// SPDX-License-Identifier: MIT
// Pushes that wait for their server in a directory (--push-spool), the oldest first.
//
// An entry is a file. Its ending is its state, and changes by rename:
//   .push        waits to be sent
//   .sending     is being sent
//   .unanswered  was sent, but no answer came: whether the server has it is not known
//   .refused     the server has refused it for good
//
// Invariants: an entry is complete before it has its name, and on the disk; one process at a time
// sends (it holds the lock); what another process was sending when it died is unanswered, so
// nothing is sent twice; all entries together have up to the limit; no secret is in an entry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/push/request.h"

namespace luatrace::analyze {

class Spool {
 public:
  // Makes the directory if it does not exist (with mode 0700), and waits for the lock. Throws
  // std::runtime_error if that cannot be.
  Spool(std::string directory, uint64_t limit);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // Adds a request as the newest that waits. Throws std::runtime_error if it does not fit or cannot
  // be written; then nothing is left of it.
  void add(const PushRequest& request);
  // The names of those that wait, the oldest first.
  std::vector<std::string> waiting() const;
  // Reads an entry; empty if it is damaged.
  std::optional<PushRequest> read(const std::string& name) const;

  // Changes of the state of one that waits. The name does not change. They throw
  // std::runtime_error.
  void begin(const std::string& name) { move(name, ".push", ".sending"); }
  void put_back(const std::string& name) { move(name, ".sending", ".push"); }
  void set_aside(const std::string& name, bool refused) {
    move(name, ".sending", refused ? ".refused" : ".unanswered");
  }
  void remove(const std::string& name);

  const std::string& directory() const { return directory_; }

 private:
  std::string path(const std::string& name, const char* state) const {
    return directory_ + '/' + name + state;
  }
  void move(const std::string& name, const char* from, const char* to);
  uint64_t bytes() const;
  std::string next_name();

  const std::string directory_;
  const uint64_t limit_;
  int lock_ = -1;
  uint64_t last_ = 0;  // The number in the latest name.
};

}  // namespace luatrace::analyze
