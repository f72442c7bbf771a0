// SPDX-License-Identifier: MIT
// The rows of a table, either stored or generated each time they are read.
// Invariant: a table with a row for each function or node of a large report takes almost no memory.
// The data from which rows are generated must outlive them.
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
  // Adds `count` rows; each reading calls `make` with 0..count-1, in this order.
  void add(size_t count, Maker make);
  // Adds the rows of `other`, which are shared, not copied.
  void append(const Rows& other);
  // Truncates to the first `count` rows.
  void limit(size_t count);
  // Calls `use` with each row in order.
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
