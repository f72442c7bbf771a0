// SPDX-License-Identifier: MIT
#include "analyzer/output/rows.h"

#include <algorithm>
#include <utility>

#include "analyzer/output/table.h"

namespace luatrace::analyze {

size_t Rows::size() const {
  size_t all = 0;
  for (const Part& part : parts_) all += part.count;
  return all;
}

void Rows::push_back(Row row) {
  // Do not append to rows that are shared or that limit() has cut.
  const Part* last = parts_.empty() ? nullptr : &parts_.back();
  if (!last || last->kept.use_count() != 1 || last->kept->size() != last->count)
    parts_.push_back({0, nullptr, std::make_shared<std::vector<Row>>()});
  parts_.back().kept->push_back(std::move(row));
  parts_.back().count++;
}

void Rows::add(size_t count, Maker make) {
  parts_.push_back({count, std::move(make)});
}

void Rows::append(const Rows& other) {
  parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
}

void Rows::limit(size_t count) {
  for (Part& part : parts_) {
    part.count = std::min(part.count, count);
    count -= part.count;
  }
}

void Rows::each(const std::function<void(const Row&)>& use) const {
  for (const Part& part : parts_)
    for (size_t i = 0; i < part.count; i++) part.kept ? use((*part.kept)[i]) : use(part.make(i));
}

}  // namespace luatrace::analyze
