// SPDX-License-Identifier: MIT
// Writes a Parquet file row by row: columns of integers and texts without nulls, one page per
// column and row group.
//
// Columns with few different values are dictionaries with indices, others the differences of
// neighbours. A column whose pages zstd makes smaller is compressed by it.
//
// Invariants: memory is that of one row group, and some 100 bytes for each column of each group
// that was written; the file can be read only when finish() has been called.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace luatrace::analyze {

struct ParquetColumn {
  enum Type { kInt32, kInt64, kText } type;
  const char* name;
  bool steady = false;  // Mostly the same as in the row before: the runs are stored.
};

class ParquetFile {
 public:
  static constexpr size_t kRowsPerGroup = 131072;
  static constexpr size_t kTextsPerGroup = 16 << 20;  // Bytes of different texts.

  ParquetFile(std::ostream& out, std::vector<ParquetColumn> columns);
  ~ParquetFile();
  ParquetFile(const ParquetFile&) = delete;
  ParquetFile& operator=(const ParquetFile&) = delete;

  // A row: put() or put_text() once for each column, then end_row().
  [[gnu::always_inline]] void put(size_t column, int64_t value) {
    Column& c = columns_[column];
    if (!c.what.steady)
      c.numbers[rows_] = value;
    else if (value != c.run_value) [[unlikely]]
      begin_run(c, value);
  }
  void put_text(size_t column, std::string_view text);
  void end_row() {
    if (++rows_ == kRowsPerGroup || text_bytes_ > kTextsPerGroup) write_group();
  }
  // Changes when a row group was written: what the caller knows of texts (text_id()) is void then.
  uint64_t group() const { return groups_.size(); }
  // For a text that is put again and again: its number, for put(), in this group.
  int64_t text_id(size_t column, std::string_view text);
  void finish();

 private:
  struct Column {
    ParquetColumn what;
    // By row; of texts the indices in `texts`. Of a steady column those before the row `run`, from
    // which on all are run_value.
    std::vector<int64_t> numbers;
    int64_t run_value = 0;
    size_t run = 0;
    // Not a dictionary in this many more groups, because the last one became too large; then as
    // many as `skips` if the next one does.
    size_t skip = 0, skips = 1;
    std::vector<std::string> texts;
    std::unordered_map<std::string, int64_t> text_ids;
  };
  // Memory is kept for the next page.
  struct Page {
    int type, encoding;
    size_t values, packed_size;
    std::string bytes, packed;
  };
  class Dictionary;

  [[gnu::noinline]] void begin_run(Column& column, int64_t value);
  void write_group();
  std::string write_column(Column& column);
  Page& new_page(int type, int encoding, size_t values);
  void make_pages(Column& column);
  void make_value(Column& column);
  bool find_entries(Column& column, std::span<const int64_t> values);
  void make_dictionary(const Column& column, std::span<const int64_t> entries);
  bool compress_pages();

  std::ostream& out_;
  std::vector<Column> columns_;
  void* const zstd_;
  const std::unique_ptr<Dictionary> dictionary_;
  std::vector<uint32_t> indices_;
  Page pages_[2];  // Of the column that is written; pages_used_ of them.
  size_t pages_used_ = 0;
  size_t rows_ = 0, text_bytes_ = 0;  // In this group.
  uint64_t all_rows_ = 0, offset_ = 0;
  std::vector<std::string> groups_;  // Metadata of those written.
};

}  // namespace luatrace::analyze
