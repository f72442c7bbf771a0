// SPDX-License-Identifier: MIT
#include "analyzer/output/columns/parquet_file.h"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <new>
#include <ostream>
#include <span>

#include "analyzer/output/columns/encodings.h"
#include "analyzer/output/columns/thrift.h"

namespace luatrace::analyze {
namespace {

// Numbers of parquet.thrift.
enum { kTypeInt32 = 1, kTypeInt64 = 2, kTypeByteArray = 6 };
enum { kPlain = 0, kRle = 3, kDeltaPacked = 5, kRleDictionary = 8 };
enum { kDataPage = 0, kDictionaryPage = 2 };
enum { kUncompressed = 0, kZstd = 6 };
constexpr int kLevel = 1;
constexpr char kMagic4[] = "PAR1";

int type_of(ParquetColumn::Type type) {
  return type == ParquetColumn::kInt32   ? kTypeInt32
         : type == ParquetColumn::kInt64 ? kTypeInt64
                                         : kTypeByteArray;
}

void put_plain_texts(std::string& out, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    put_little_endian(out, text.size(), 4);
    out += text;
  }
}

uint32_t index_bytes(size_t entries) {
  return entries <= 1 << 8 ? 1 : entries <= 1 << 16 ? 2 : 4;
}

std::string page_head(int type, int encoding, size_t values, size_t size, size_t packed) {
  ThriftStruct head, kind;
  head.i32(1, type).i32(2, static_cast<int64_t>(size)).i32(3, static_cast<int64_t>(packed));
  kind.i32(1, static_cast<int64_t>(values)).i32(2, encoding);
  if (type == kDictionaryPage) return head.child(7, kind).whole();
  return head.child(5, kind.i32(3, kRle).i32(4, kRle)).whole();
}

std::string schema_element(const ParquetColumn& column) {
  ThriftStruct element;
  element.i32(1, type_of(column.type)).i32(3, 0 /* required */).text(4, column.name);
  if (column.type == ParquetColumn::kText)
    element.i32(6, 0 /* UTF8 */).child(10, ThriftStruct().child(1, {}));
  return element.whole();
}

}  // namespace

// The different values of a column, in a hash table that is used again for each.
class ParquetFile::Dictionary {
 public:
  static constexpr size_t kMaxEntries = 1 << 14;

  // Fills `indices` with those of the values. False if there are too many different ones.
  bool build(std::span<const int64_t> values, std::vector<uint32_t>& indices);
  const std::vector<int64_t>& entries() const { return entries_; }

 private:
  static constexpr size_t kSlots = 2 * kMaxEntries;
  static constexpr int kShift = 64 - std::countr_zero(kSlots);
  struct Slot {
    int64_t value;
    uint32_t index, epoch;
  };
  uint32_t index_of(int64_t value);

  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
  std::vector<int64_t> entries_;
  uint32_t epoch_ = 0;
};

uint32_t ParquetFile::Dictionary::index_of(int64_t value) {
  size_t at = static_cast<uint64_t>(value) * 0x9e3779b97f4a7c15u >> kShift;
  while (slots_[at].epoch == epoch_ && slots_[at].value != value) at = (at + 1) % kSlots;
  if (slots_[at].epoch != epoch_) {
    slots_[at] = {value, static_cast<uint32_t>(entries_.size()), epoch_};
    entries_.push_back(value);
  }
  return slots_[at].index;
}

bool ParquetFile::Dictionary::build(std::span<const int64_t> values,
                                    std::vector<uint32_t>& indices) {
  epoch_++;
  entries_.clear();
  indices.resize(values.size());
  int64_t last = 0;
  uint32_t index = 0;
  for (size_t i = 0; i < values.size(); i++) {
    if (i == 0 || values[i] != last) index = index_of(last = values[i]);
    indices[i] = index;
    if (entries_.size() > kMaxEntries) return false;
  }
  return true;
}

ParquetFile::ParquetFile(std::ostream& out, std::vector<ParquetColumn> columns)
    : out_(out), zstd_(ZSTD_createCCtx()), dictionary_(std::make_unique<Dictionary>()) {
  if (!zstd_) throw std::bad_alloc();
  for (const ParquetColumn& column : columns)
    columns_.push_back({column, std::vector<int64_t>(kRowsPerGroup), 0, 0, 0, 1, {}, {}});
  out_ << kMagic4;
  offset_ = 4;
}

ParquetFile::~ParquetFile() {
  ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(zstd_));
}

int64_t ParquetFile::text_id(size_t column, std::string_view text) {
  Column& c = columns_[column];
  const auto [it, fresh] =
      c.text_ids.try_emplace(std::string(text), static_cast<int64_t>(c.texts.size()));
  if (fresh) {
    c.texts.emplace_back(text);
    text_bytes_ += text.size();
  }
  return it->second;
}

void ParquetFile::put_text(size_t column, std::string_view text) {
  put(column, text_id(column, text));
}

void ParquetFile::begin_run(Column& c, int64_t value) {
  std::fill(c.numbers.begin() + static_cast<ptrdiff_t>(c.run),
            c.numbers.begin() + static_cast<ptrdiff_t>(rows_), c.run_value);
  c.run_value = value;
  c.run = rows_;
}

ParquetFile::Page& ParquetFile::new_page(int type, int encoding, size_t values) {
  Page& page = pages_[pages_used_++];
  page.type = type;
  page.encoding = encoding;
  page.values = values;
  page.bytes.clear();
  return page;
}

void ParquetFile::make_dictionary(const Column& c, std::span<const int64_t> entries) {
  const bool text = c.what.type == ParquetColumn::kText;
  Page& page = new_page(kDictionaryPage, kPlain, text ? c.texts.size() : entries.size());
  if (text) return put_plain_texts(page.bytes, c.texts);
  for (const int64_t value : entries)
    put_little_endian(page.bytes, static_cast<uint64_t>(value),
                      c.what.type == ParquetColumn::kInt32 ? 4 : 8);
}

// Whether the values have few different ones, which dictionary_ and indices_ have then. Rarely
// tried for columns that have too many again and again, such as start times.
bool ParquetFile::find_entries(Column& c, std::span<const int64_t> values) {
  constexpr size_t kMaxSkips = 16;
  if (c.skip) return c.skip--, false;
  if (dictionary_->build(values, indices_)) return c.skips = 1, true;
  c.skip = c.skips;
  c.skips = std::min(2 * c.skips, kMaxSkips);
  return false;
}

// The pages of a column: its dictionary, if it has one, and its values.
void ParquetFile::make_pages(Column& c) {
  pages_used_ = 0;
  if (c.what.steady && c.run == 0) return make_value(c);
  if (c.what.steady) begin_run(c, c.run_value);
  const std::span<const int64_t> values(c.numbers.data(), rows_);
  if (c.what.type == ParquetColumn::kText) {
    indices_.assign(values.begin(), values.end());
    make_dictionary(c, {});
    put_indices(new_page(kDataPage, kRleDictionary, rows_).bytes, indices_,
                index_bytes(c.texts.size()));
  } else if (find_entries(c, values)) {
    const std::vector<int64_t>& entries = dictionary_->entries();
    make_dictionary(c, entries);
    put_indices(new_page(kDataPage, kRleDictionary, rows_).bytes, indices_,
                index_bytes(entries.size()));
  } else {
    put_deltas(new_page(kDataPage, kDeltaPacked, rows_).bytes, values);
  }
}

// The same for a column that has one value in all rows.
void ParquetFile::make_value(Column& c) {
  const bool text = c.what.type == ParquetColumn::kText;
  make_dictionary(c, {&c.run_value, 1});
  put_index(new_page(kDataPage, kRleDictionary, rows_).bytes,
            text ? static_cast<uint32_t>(c.run_value) : 0, rows_,
            index_bytes(text ? c.texts.size() : 1));
}

// Compresses the pages; false if that is not worth it.
bool ParquetFile::compress_pages() {
  size_t before = 0, after = 0;
  for (Page& page : std::span(pages_).first(pages_used_)) {
    const size_t bound = ZSTD_compressBound(page.bytes.size());
    if (page.packed.size() < bound) page.packed.resize(bound);
    const size_t n = ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(zstd_), page.packed.data(), bound,
                                       page.bytes.data(), page.bytes.size(), kLevel);
    if (ZSTD_isError(n)) return false;
    page.packed_size = n;
    before += page.bytes.size();
    after += n;
  }
  return after < before - before / 16;
}

// Writes the column's chunk; returns its ColumnChunk.
std::string ParquetFile::write_column(Column& c) {
  make_pages(c);
  const bool compressed = compress_pages();
  const uint64_t begin = offset_;
  uint64_t plain_size = 0, data_at = begin;
  std::vector<int> encodings;
  for (const Page& page : std::span(pages_).first(pages_used_)) {
    const std::string& bytes = compressed ? page.packed : page.bytes;
    const size_t size = compressed ? page.packed_size : page.bytes.size();
    const std::string head =
        page_head(page.type, page.encoding, page.values, page.bytes.size(), size);
    if (page.type == kDataPage) data_at = offset_;
    (out_ << head).write(bytes.data(), static_cast<std::streamsize>(size));
    offset_ += head.size() + size;
    plain_size += head.size() + page.bytes.size();
    encodings.push_back(page.encoding);
  }
  ThriftStruct meta;
  meta.i32(1, type_of(c.what.type)).i32s(2, encodings).texts(3, {c.what.name});
  meta.i32(4, compressed ? kZstd : kUncompressed).i64(5, static_cast<int64_t>(rows_));
  meta.i64(6, static_cast<int64_t>(plain_size)).i64(7, static_cast<int64_t>(offset_ - begin));
  meta.i64(9, static_cast<int64_t>(data_at));
  if (pages_used_ > 1) meta.i64(11, static_cast<int64_t>(begin));
  return ThriftStruct().i64(2, static_cast<int64_t>(begin)).child(3, meta).whole();
}

void ParquetFile::write_group() {
  if (rows_ == 0) return;
  const uint64_t begin = offset_;
  std::vector<std::string> chunks;
  for (Column& c : columns_) {
    chunks.push_back(write_column(c));
    c.texts.clear();
    c.text_ids.clear();
    c.run = 0;
  }
  ThriftStruct group;
  group.children(1, chunks).i64(2, static_cast<int64_t>(offset_ - begin));
  groups_.push_back(group.i64(3, static_cast<int64_t>(rows_)).whole());
  all_rows_ += rows_;
  rows_ = text_bytes_ = 0;
}

void ParquetFile::finish() {
  write_group();
  std::vector<std::string> schema = {
      ThriftStruct().text(4, "luatrace").i32(5, static_cast<int64_t>(columns_.size())).whole()};
  for (const Column& c : columns_) schema.push_back(schema_element(c.what));
  ThriftStruct file;
  file.i32(1, 2).children(2, schema).i64(3, static_cast<int64_t>(all_rows_));
  const std::string footer = file.children(4, groups_).text(6, "luatrace").whole();
  std::string end = footer;
  put_little_endian(end, footer.size(), 4);
  out_ << end << kMagic4;
}

}  // namespace luatrace::analyze
