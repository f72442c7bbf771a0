// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/gzip.h"

#include <new>
#include <ostream>

namespace luatrace::analyze {

GzipWriter::GzipWriter(std::ostream& out) : out_(out), buffer_(65536) {
  constexpr int kGzip = 15 + 16;  // The largest window, with gzip's header and checksum.
  if (deflateInit2(&stream_, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
}

// `bytes` is small, so its size fits zlib's unsigned int.
void GzipWriter::run(std::string_view bytes, int flush) {
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_.avail_in = static_cast<uInt>(bytes.size());
  int status;
  do {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    status = deflate(&stream_, flush);
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size() - stream_.avail_out));
  } while (stream_.avail_out == 0 && status != Z_STREAM_END);
}

}  // namespace luatrace::analyze
