// SPDX-License-Identifier: MIT
#include "analyzer/top/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace luatrace::top {
namespace {

constexpr const char* kOtherScreen = "\033[?1049h\033[?7l";  // long lines are cut
constexpr const char* kUsualScreen = "\033[?7h\033[?1049l";
constexpr const char* kHome = "\033[H";
constexpr const char* kEndLine = "\033[K";
constexpr const char* kEndScreen = "\033[J";

}  // namespace

Screen::Screen() {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
  if (tcgetattr(STDIN_FILENO, &before_) != 0) return;
  is_terminal_ = true;
  termios now = before_;
  now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  now.c_cc[VMIN] = 1;
  now.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &now);
  std::cout << kOtherScreen << std::flush;
}

Screen::~Screen() {
  if (!is_terminal_) return;
  std::cout << kUsualScreen << std::flush;
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

size_t Screen::rows() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return 24;
  return size.ws_row;
}

void Screen::show(const std::string& text) {
  std::string out = kHome;
  size_t line = 0;
  for (size_t from = 0; from < text.size() && line < rows(); line++) {
    const size_t end = std::min(text.find('\n', from), text.size());
    out += (line ? "\r\n" : "") + text.substr(from, end - from) + kEndLine;
    from = end + 1;
  }
  std::cout << out << kEndScreen << std::flush;
}

bool Screen::quits() {
  char keys[64];
  const ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
  return n == 0 || std::count(keys, keys + std::max<ssize_t>(n, 0), 'q') > 0;
}

}  // namespace luatrace::top
