// SPDX-License-Identifier: MIT
// CommandBackend: starts a command and records it and its processes: by the rings that its Lua VMs
// send to our socket, or (--via bpf) by attaching to each process that sends one. Invariants: a Lua
// VM waits for our answer before it runs anything; it gets none after stop(). The command has ended
// when it was waited for; everything has ended when all children have: the command's orphans become
// our children.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recorder/backend/backend.h"
#include "recorder/backend/options.h"
#include "recorder/command/diagnose.h"
#include "recorder/command/listener_apart.h"
#include "recorder/os/clock.h"

namespace luatrace::record {

// The file for the command's trace.
struct CommandFile {
  // Opens it for a command with that pid, before it runs. Empty, or the reason for failure.
  std::function<std::string(pid_t)> open;
  // The command's standard output; -1: ours.
  std::function<int()> stdout_fd;
};

class CommandBackend : public Backend {
 public:
  // Forks: create it before any thread. Options and host must outlive it. root: see ListenerApart.
  CommandBackend(const Options& options, BackendHost& host, CommandFile file, pid_t root = 0);

  // Lua VMs are not asked to connect: they are only observed. Before begin().
  void do_not_listen() { listener_.reset(); }

  // Attaches to processes instead of draining their rings: `attach` is called for each process that
  // sends a ring, and returns why it is not recorded (the rest of a sentence) or an empty text.
  void attach_by(std::unique_ptr<Backend> backend, std::function<std::string(const Peer&)> attach);

  Attached begin() override;
  Attached check(pid_t pid) override { return attacher_ ? attacher_->check(pid) : Attached{}; }
  Attached attach(pid_t pid) override { return attacher_ ? attacher_->attach(pid) : Attached{}; }
  bool holds(pid_t pid) override { return attacher_ == nullptr || attacher_->holds(pid); }
  void forget(pid_t pid) override;
  int poll(uint64_t now) override;
  void stop() override;
  bool stopped() override { return attacher_ == nullptr || attacher_->stopped(); }
  std::string broken() const override { return attacher_ ? attacher_->broken() : ""; }
  std::vector<std::string> remarks() override;
  bool ended() const override { return command_ended_ && !has_children_; }
  pid_t command() const override { return command_ended_ ? 0 : command_; }
  int wait_status() const override { return wait_status_; }
  void add_descriptors(std::vector<pollfd>& fds) const override;
  void accept() override;
  void on_children(const std::vector<std::pair<pid_t, int>>& ended, bool more) override;
  std::vector<std::string> diagnosis(uint32_t reason) override;
  uint32_t clock() const override { return attacher_ ? attacher_->clock() : default_clock(); }

 protected:
  // What Lua VMs must know, as environment variables.
  std::vector<std::pair<std::string, std::string>> environment() const;
  // Accepts the descendants of that process, too.
  void add_root(pid_t pid) {
    if (listener_ != nullptr) listener_->add_root(pid);
  }

 private:
  Attached start();
  std::string handle_hello(Hello& hello);
  void report_all(const std::vector<std::string>& refusals);
  void report_orphans(uint64_t now);

  const Options& options_;
  BackendHost& host_;
  CommandFile file_;
  std::unique_ptr<ListenerApart> listener_;  // until stop()
  std::unique_ptr<Backend> attacher_;        // null: by rings
  std::function<std::string(const Peer&)> attach_;
  Diagnosis diagnosis_;
  std::vector<pid_t> inherited_;  // children from before the command
  pid_t command_ = -1;
  int wait_status_ = -1;
  bool command_ended_ = false;
  bool has_children_ = true;  // the command, or its orphans
  uint64_t begin_ns_ = 0;
  uint64_t orphans_ns_ = 0;              // when to report that there are some
  uint64_t recorded_ = 0, refused_ = 0;  // hellos
  uint64_t outsiders_ = 0;               // connections of processes that are not the command's
};

}  // namespace luatrace::record
