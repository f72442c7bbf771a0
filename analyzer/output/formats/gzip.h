// SPDX-License-Identifier: MIT
// Writes a gzip stream incrementally.
#pragma once

#include <zlib.h>

#include <iosfwd>
#include <string_view>
#include <vector>

namespace luatrace::analyze {

class GzipWriter {
 public:
  explicit GzipWriter(std::ostream& out);  // Throws std::bad_alloc.
  ~GzipWriter() { deflateEnd(&stream_); }
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  void write(std::string_view bytes) { run(bytes, Z_NO_FLUSH); }
  void finish() { run({}, Z_FINISH); }

 private:
  void run(std::string_view bytes, int flush);

  std::ostream& out_;
  z_stream stream_{};
  gz_header header_{};
  std::vector<char> buffer_;
};

// Whether a file begins like those of GzipWriter, which have a comment in gzip's header.
bool is_gzip_of_ours(std::string_view bytes);

}  // namespace luatrace::analyze
