// SPDX-License-Identifier: MIT
// Inputs that are nearly right: bytes changed, lines and records doubled, swapped, removed, numbers
// replaced by extreme ones. Meant to run under AddressSanitizer, too. The seed is printed;
// LUATRACE_MUTATIONS is the number of inputs (default 1500 of each form).
#include <gtest/gtest.h>

#include <random>

#include "hits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace luatrace::analyze::test {
namespace {

const char* const kSeed = R"(
    O @8 a0 90
    S @10 a0 1 0 0 90
    E @20 a0 1 4
    c @30 a0 c0 2
    r @40 a0 c0 2
    E @50 c0 2 4
    y @60 c0 c0 2
    S @65 a0 1 1 0 90
    E @66 a0 1 4
    E %71 @70 a0 3 8
    U @80 a0 4
    r @90 a0 c0 2
    T @a0 c0 2 4
    e @b0 c0 c0 0
    e @c0 0 c0 ffffffff
    R :ff @110 a0 1 4
    X @120 a0 90)";

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::vector<uint8_t> operator()(std::vector<uint8_t> bytes, size_t unit) {
    for (uint32_t n = 1 + random_() % 6; n > 0 && bytes.size() > unit; n--) once(bytes, unit);
    return bytes;
  }

 private:
  size_t at(size_t size) { return random_() % size; }
  // A unit: a record, or a line.
  std::pair<size_t, size_t> piece(const std::vector<uint8_t>& b, size_t unit) {
    size_t from = at(b.size());
    if (unit > 1) return {from - from % unit, std::min(from - from % unit + unit, b.size())};
    while (from > 0 && b[from - 1] != '\n') from--;
    size_t to = from;
    while (to < b.size() && b[to] != '\n') to++;
    return {from, std::min(to + 1, b.size())};
  }
  void once(std::vector<uint8_t>& b, size_t unit) {
    auto [from, to] = piece(b, unit);
    const std::vector<uint8_t> copy(b.begin() + static_cast<long>(from),
                                    b.begin() + static_cast<long>(to));
    static const uint8_t kBytes[] = {0, 1, 0xff, 0x7f, 0x80, '\n', ' ', '0', 'f', ':', '-'};
    switch (random_() % 7) {
      case 0:
        b[at(b.size())] = static_cast<uint8_t>(random_());
        break;
      case 1:
        b[at(b.size())] = kBytes[at(sizeof kBytes)];
        break;
      case 2:
        b.erase(b.begin() + static_cast<long>(from), b.begin() + static_cast<long>(to));
        break;
      case 3: {
        const size_t where = piece(b, unit).first;
        b.insert(b.begin() + static_cast<long>(where), copy.begin(), copy.end());
        break;
      }
      case 4:
        b.resize(at(b.size()) + 1);
        break;
      case 5:
        b.insert(b.begin() + static_cast<long>(at(b.size())), kBytes[at(sizeof kBytes)]);
        break;
      default:  // A run of extreme bytes: huge numbers.
        for (size_t i = at(b.size()), n = 0; i < b.size() && n < 8; i++, n++)
          b[i] = unit > 1 ? 0xff : 'f';
    }
  }
  std::mt19937 random_;
};

void run(const std::vector<uint8_t>& good, size_t unit) {
  const char* number = getenv("LUATRACE_MUTATIONS");
  const int count = number ? atoi(number) : 1500;
  const uint32_t seed = std::random_device()();
  printf("seed %u\n", seed);
  Mutator mutate(seed);
  LLVMFuzzerTestOneInput(good.data(), good.size());
  for (int i = 0; i < count; i++) {
    const auto bytes = mutate(good, unit);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
}

TEST(ImportMutations, Text) {
  const std::string text = bt_text(kSeed);
  run(std::vector<uint8_t>(text.begin(), text.end()), 1);
}

TEST(ImportMutations, Records) {
  run(stap_records(kSeed), 40);
}

}  // namespace
}  // namespace luatrace::analyze::test
