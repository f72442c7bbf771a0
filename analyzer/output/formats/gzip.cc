// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/gzip.h"

#include <cstring>
#include <new>
#include <ostream>

namespace luatrace::analyze {
namespace {

constexpr const char* kWriter = "luatrace";
constexpr int kUnix = 3;             // RFC 1952
constexpr size_t kHeaderBytes = 10;  // before the comment, as there is nothing else

}  // namespace

bool is_gzip_of_ours(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b") && bytes.size() > kHeaderBytes &&
         bytes.substr(kHeaderBytes).starts_with(std::string_view(kWriter, strlen(kWriter) + 1));
}

GzipWriter::GzipWriter(std::ostream& out) : out_(out), buffer_(65536) {
  constexpr int kGzip = 15 + 16;  // The largest window, with gzip's header and checksum.
  if (deflateInit2(&stream_, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  header_.os = kUnix;
  header_.comment = reinterpret_cast<Bytef*>(const_cast<char*>(kWriter));
  deflateSetHeader(&stream_, &header_);
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
