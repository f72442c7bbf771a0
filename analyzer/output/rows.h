// SPDX-License-Identifier: MIT
// The rows of a table: kept, or made each time that they are read.
// Invariant: a table with a row for each function or node of a large report takes next to no
// memory; what its rows are made from has to live as long as they do.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace luatrace::analyze {

struct Cell;
using Row = std::vector<Cell>;

class Rows {
 public:
  using Maker = std::function<Row(size_t)>;

  size_t size() const;
  bool empty() const { return size() == 0; }
  void push_back(Row row);
  // Adds `count` rows; `make` is called with 0..count-1, in this order, each time they are read.
  void add(size_t count, Maker make);
  // Adds those of `other`, which are shared, not copied.
  void append(const Rows& other);
  // Keeps the first `count`, if there are more.
  void limit(size_t count);
  // Calls `use` with each row, from the first to the last.
  void each(const std::function<void(const Row&)>& use) const;

 private:
  struct Part {
    size_t count;
    Maker make;  // Null: the rows are `kept`.
    std::shared_ptr<std::vector<Row>> kept{};
  };
  std::vector<Part> parts_;
};

}  // namespace luatrace::analyze
