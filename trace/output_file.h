// SPDX-License-Identifier: MIT
// Files that are written, standard output too. A std::ofstream forgets why a write failed as soon
// as the next call has succeeded; this remembers the first error, so that a full disk is called so.
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

// A file that is created, or emptied; see trace/open_output.h for which may be.
class OutputFile : public std::ostream {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile() override;
  // Writes what is left and closes. Empty if all of it was written, else why not.
  std::string finish();

 private:
  OutputFile(OpenedOutput opened);

  int fd_;
  std::string error_;
  OutputBuffer buffer_;
};

// While it lives, std::cout writes through a buffer that remembers.
class StandardOutput {
 public:
  StandardOutput();
  ~StandardOutput();
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;

 private:
  OutputBuffer buffer_;
  std::streambuf* before_;
};

// Why writing to it failed: an errno; 0 if it did not, or nobody knows.
int write_error(const std::ostream& out);

// As strerror(3) has it; empty for 0.
std::string error_text(int error);

}  // namespace luatrace
