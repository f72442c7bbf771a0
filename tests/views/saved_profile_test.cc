// SPDX-License-Identifier: MIT
// Saved profiles: what is read is what was written; merging in any order gives the same bytes; a
// damaged or hostile file is refused without harm.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "analyzer/output/json.h"
#include "analyzer/output/views.h"
#include "analyzer/report/byte_stream.h"
#include "analyzer/report/diff.h"
#include "analyzer/report/saved_profile.h"
#include "model.h"
#include "trace/crc32c.h"
#include "views_support.h"

namespace luatrace::analyze {
namespace {

void load(Report& report, const std::string& bytes) {
  Input input("p", std::vector<uint8_t>(bytes.begin(), bytes.end()));
  ASSERT_TRUE(is_profile(input));
  read_profile(input, report);
}

// Every third one like the profiles of older versions: without filters and groups.
Report random_report(uint64_t seed) {
  Report r =
      analyse_filtered(trace_text(model::to_text(model::generate(seed, 50 + seed % 200))), {});
  if (seed % 3)
    r.files.back().signature =
        FilterSignature{seed % 2 ? "file" : "", "-D " + std::to_string(seed)};
  return r;
}

std::string json(const Report& report) {
  std::ostringstream out;
  write_json(out, report);
  return out.str();
}

TEST(SavedProfile, SurvivesTheFile) {
  for (uint64_t seed = 1; seed <= 100; seed++) {
    std::string once = saved(random_report(seed));
    Report again;
    load(again, once);
    ASSERT_EQ(saved(again), once) << seed;
    ASSERT_EQ(inclusive_ns(again.tree)[0], again.self_ns);
  }
}

TEST(SavedProfile, MergingIsAssociativeAndCommutative) {
  for (uint64_t seed = 1; seed <= 100; seed++) {
    std::string a = saved(random_report(seed)), b = saved(random_report(seed + 1000)),
                c = saved(random_report(seed + 2000));
    auto merged = [](std::initializer_list<std::string> list) {
      Report r;
      for (const auto& bytes : list) load(r, bytes);
      return saved(r);
    };
    std::string all = merged({a, b, c});
    ASSERT_EQ(all, merged({c, a, b})) << seed;
    ASSERT_EQ(all, merged({merged({a, b}), c})) << seed;
    ASSERT_EQ(all, merged({merged({c, b}), a})) << seed;
  }
}

TEST(SavedProfile, RemembersFiltersAndGroups) {
  Report r = random_report(1), old = random_report(3), again;
  ASSERT_TRUE(r.files[0].signature.has_value());
  ASSERT_FALSE(old.files[0].signature.has_value());
  load(again, saved(r));
  load(again, saved(old));
  ASSERT_EQ(again.files.size(), 2u);
  EXPECT_EQ(again.files[0].signature, (FilterSignature{"file", "-D 1"}));
  EXPECT_FALSE(again.files[1].signature.has_value());
}

// Any changed byte (by the checksum), and any cut.
TEST(SavedProfile, DamageIsDetected) {
  const std::string good = saved(random_report(5));
  auto refused = [](const std::string& bytes) {
    Report r;
    Input input("p", std::vector<uint8_t>(bytes.begin(), bytes.end()));
    try {
      read_profile(input, r);
    } catch (const Unreadable&) {
      return r.functions.size() == 2 && r.files.empty();
    }
    return false;
  };
  for (size_t i = 8; i < good.size(); i++) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    ASSERT_TRUE(refused(bad)) << i;
  }
  for (size_t n = 0; n < good.size(); n++) ASSERT_TRUE(refused(good.substr(0, n))) << n;
}

// With correct checksums and random content: refused, or read and shown without harm.
TEST(SavedProfile, HostileContentIsHarmless) {
  std::mt19937_64 random(1);
  const std::string good = saved(random_report(7));
  size_t accepted = 0;
  for (int i = 0; i < 30000; i++) {
    std::string bad = good;
    for (uint64_t n = 1 + random() % 4; n > 0; n--)
      bad[32 + random() % (bad.size() - 32)] = static_cast<char>(random());
    auto put = [&](size_t at, auto value) { memcpy(bad.data() + at, &value, sizeof value); };
    put(24, crc32c(bad.data() + 32, bad.size() - 32));
    put(28, crc32c(bad.data(), 28));
    Input input("p", std::vector<uint8_t>(bad.begin(), bad.end()));
    Report r;
    try {
      read_profile(input, r);
    } catch (const Unreadable&) {
      continue;
    }
    accepted++;
    json(r);
    saved(r);
    ViewOptions options;
    options.compensate = options.suspended = options.tree = options.report = true;
    options.hist = options.callers = options.callees = {"*"};
    for (const Table& t : make_views(r, options)) {
      std::ostringstream text;
      write_text(text, t, {});
    }
    make_diff_views(random_report(3), r, options);
  }
  EXPECT_GT(accepted, 1000u);
}

// A number of functions that cannot be in the file is refused before memory is reserved for it.
TEST(SavedProfile, CountsAreChecked) {
  ByteWriter functions, payload;
  functions.number(UINT64_MAX / 2);
  payload.number(4);
  payload.text(functions.bytes());
  std::string bytes(32, '\0');
  auto put = [&](size_t at, auto value) { memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, kProfileMagic);
  put(8, kProfileVersion);
  put(12, uint32_t{32});
  put(16, uint64_t{payload.bytes().size()});
  put(24, crc32c(payload.bytes().data(), payload.bytes().size()));
  put(28, crc32c(bytes.data(), 28));
  bytes += payload.bytes();
  Input input("p", std::vector<uint8_t>(bytes.begin(), bytes.end()));
  Report r;
  EXPECT_THROW(read_profile(input, r), Unreadable);
}

TEST(SavedProfile, DiffOfEqualsIsNothing) {
  Report a = random_report(11);
  Report b;
  load(b, saved(a));
  Diff diff = make_diff(a, b, true);
  EXPECT_EQ(diff.scale, 1);
  ASSERT_EQ(diff.before_nodes.size(), diff.tree.size());
  for (NodeId i; i < diff.tree.size(); ++i) {
    EXPECT_EQ(diff.before_nodes[i].self_ns, diff.tree[i].self);
    EXPECT_EQ(diff.before_nodes[i].calls, diff.tree[i].calls);
  }
  EXPECT_EQ(inclusive_before_ns(diff.tree, diff.before_nodes), inclusive_ns(diff.tree));
}

}  // namespace
}  // namespace luatrace::analyze
