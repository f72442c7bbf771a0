// SPDX-License-Identifier: MIT
// The terminal, while tables replace each other on it: keys come at once and are not shown, lines
// are drawn from the top. Invariant: the destructor restores the terminal.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>

namespace luatrace::top {

class Screen {
 public:
  // Standard input and output, if both are terminals.
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  bool is_terminal() const { return is_terminal_; }
  size_t rows() const;  // Of the terminal; 24 if unknown.
  // Replaces what is shown. `text`: lines, escaped; those that do not fit are left out.
  void show(const std::string& text);
  bool quits();  // Reads the keys pressed: whether one of them is q.

 private:
  bool is_terminal_ = false;
  termios before_{};
};

}  // namespace luatrace::top
