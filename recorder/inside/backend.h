// SPDX-License-Identifier: MIT
// InsideBackend: records the process that has started this program (luatrace.start,
// luaJIT_trace_start) and its descendants: by the rings that their Lua VMs send, as those of a
// command do. The process has the other end of standard input and standard error, a socket: its
// side is luajit-usdt/src/lj_ltapi.c.
//
// Invariants: the first answer is the settings; each request is answered once, the last one when
// all files are complete, one for a snapshot when that is complete, or will never be. A process
// that closes its end is recorded until it ends: a daemon closes all descriptors. What comes from
// the socket can end the recording, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/command/backend.h"
#include "trace/descriptor.h"

namespace luatrace::record {

// What the backend asks of the session.
struct InsideActions {
  std::function<std::string(pid_t)> open;   // see CommandFile
  std::function<bool(uint64_t)> written;    // waits until that time for the files
  std::function<bool(pid_t)> leaves;        // it exits; returns whether others are recorded
  std::function<bool(int)> is_replaceable;  // see outputs.h
  std::function<void(const std::shared_ptr<Output>&, SnapshotFile)> snapshot;  // of that output
};

class InsideBackend : public CommandBackend {
 public:
  // Forks: create it before any thread; throws std::runtime_error.
  InsideBackend(const Options& options, BackendHost& host, InsideActions actions);
  ~InsideBackend() override;

  Attached begin() override;
  int poll(uint64_t now) override;
  bool ended() const override { return ended_; }
  bool asked_to_stop() const override { return asked_to_stop_; }
  void add_descriptors(std::vector<pollfd>& fds) const override;
  void accept() override;
  void on_children(const std::vector<std::pair<pid_t, int>>&, bool) override {}
  void on_exit(int status) override;
  std::vector<std::string> diagnosis(uint32_t) override { return {}; }

 private:
  void read_requests();
  void on_request(const std::string& request, Descriptor file);
  void exits(const std::string& request);
  std::string flush();
  void snapshot(const std::string& request, Descriptor file);

  BackendHost& host_;
  const InsideActions actions_;
  const bool has_flight_;
  std::string stop_ = "S0";  // the request to end
  pid_t pid_;                // the process
  int pidfd_ = -1;           // if the kernel supports it
  bool connected_ = true, ended_ = false, asked_to_stop_ = false;
};

}  // namespace luatrace::record
