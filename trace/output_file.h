// SPDX-License-Identifier: MIT
// Output files, including standard output. A std::ofstream forgets why a write failed as soon as
// the next call succeeds; these remember the first error, so that a full disk is reported as one.
#pragma once

#include <memory>
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include "trace/open_output.h"

namespace luatrace {

class OutputBuffer : public std::streambuf {
 public:
  explicit OutputBuffer(int fd);
  OutputBuffer(const OutputBuffer&) = delete;
  OutputBuffer& operator=(const OutputBuffer&) = delete;
  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

 private:
  bool empty();

  const int fd_;
  int error_ = 0;
  std::vector<char> bytes_;
};

// A file that is written as a whole or not at all: until finish() a file of that name stays as it
// is, except for those that open_replacement() opens themselves. trace/open_output.h says which
// files are accepted.
class OutputFile : public std::ostream {
 public:
  // keep: see open_replacement().
  explicit OutputFile(const std::string& path, const KeepReason& keep = nullptr);
  ~OutputFile() override;
  // Writes the rest, gives the file its name and closes it. Empty if everything was written, else
  // the reason; then nothing is left of it: a part of an output looks like a whole one.
  std::string finish();

 private:
  OutputFile(const std::string& path, OpenedOutput opened);
  void drop();

  const std::string path_;
  const OpenedOutput opened_;
  int fd_;
  std::string error_;
  OutputBuffer buffer_;
};

// During its lifetime std::cout writes through a buffer that remembers errors.
class StandardOutput {
 public:
  StandardOutput();
  ~StandardOutput();

 private:
  OutputBuffer buffer_;
  std::streambuf* before_;
};

// The errno of a failed write; 0 if none failed or the reason is unknown.
int write_error(const std::ostream& out);

// As in strerror(3); empty for 0.
std::string error_text(int error);

}  // namespace luatrace
