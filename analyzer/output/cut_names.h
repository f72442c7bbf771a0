// SPDX-License-Identifier: MIT
// Cuts the names of a table or drawing to its width. Invariant: names that differ look different,
// as far as there is space for it: where cut_name() makes two of them equal, they are cut in
// another way, so that what distinguishes them is left, or else numbered.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace luatrace::analyze {

class CutNames {
 public:
  // Each name that will be shown, with its indentation, and the columns that it has there.
  void add(const std::string& text, size_t width);
  // After all of them.
  void settle();
  std::string of(const std::string& text, size_t width) const;

 private:
  using Place = std::pair<std::string, size_t>;  // Text, width.
  bool tell_apart(const std::vector<Place>& group, int way, bool locations);

  std::set<Place> seen_;
  std::map<std::string, std::vector<Place>> by_cut_;  // Without indentation.
  std::set<std::string> taken_;                       // What is shown, without indentation.
  std::map<Place, std::string> other_;                // Those that are cut in another way.
};

}  // namespace luatrace::analyze
