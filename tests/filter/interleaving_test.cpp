// Every step of inserts, displacements and erases, against every step of look-ups, on tiny tables.
//
// A scenario fills a table, then records the stores of a few operations. Each key that is in the
// filter before, between and after them is then looked up in every interleaving; "absent" is a
// failure. The same scenarios with a rule of the protocol broken must fail, or the test would prove
// nothing.

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "filter/bucket.h"
#include "filter/hashes.h"
#include "filter/lanes_scalar.h"
#include "filter/stepped_cells.h"
#include "filter/table_reader.h"
#include "filter/table_writer.h"

namespace cuckooguard::filter {
namespace {

using testing::crafted_hash;
using testing::Interleavings;
using testing::Mutation;
using testing::RecordingCells;

enum class Mode : std::uint8_t { many_copies, at_most_one_row, never_erased };

struct Tally {
  std::uint64_t interleavings = 0;
  std::uint64_t hidden = 0;      // look-ups that missed a key that was there throughout
  std::uint64_t displacing = 0;  // operations that moved something
  std::uint64_t erasing = 0;
  std::uint64_t stashing = 0;
};

template <class Bucket>
class Scenario {
 public:
  Scenario(std::size_t buckets, Mode mode, Mutation mutation)
      : mode_(mode),
        mutation_(mutation),
        addressing_(buckets),
        cells_(buckets),
        writer_(cells_, addressing_) {}

  void insert(std::uint64_t hash) {
    if (mode_ == Mode::at_most_one_row && rows_[hash] != 0) {
      return;
    }
    const std::uint64_t moves = cells_.load_moves();
    cells_.begin_operation(false);
    const InsertOutcome outcome =
        mode_ == Mode::never_erased ? writer_.insert_once(hash) : writer_.insert(hash);
    cells_.end_operation(mutation_);
    ++rows_[hash];
    displaced_ += cells_.load_moves() != moves ? 1 : 0;
    stashed_ += outcome >= InsertOutcome::stashed ? 1 : 0;
  }

  void erase(std::uint64_t hash) {
    if (mode_ == Mode::never_erased || rows_[hash] == 0) {
      return;
    }
    cells_.begin_operation(true);
    EXPECT_NE(writer_.erase(hash), EraseOutcome::not_found);
    cells_.end_operation(mutation_);
    ++erased_;
    if (--rows_[hash] == 0) {
      std::erase(throughout_, hash);
    }
  }

  // From here on stores are steps, and who is in now is looked for while it stays.
  void record() {
    cells_.record();
    displaced_ = erased_ = stashed_ = 0;
    throughout_.clear();
    for (const auto& [hash, rows] : rows_) {
      if (rows > 0) {
        throughout_.push_back(hash);
      }
    }
  }

  void look_up_everything(Tally& tally) const {
    tally.displacing += displaced_;
    tally.erasing += erased_;
    tally.stashing += stashed_;
    for (const std::uint64_t hash : throughout_) {
      Interleavings view(cells_, mutation_);
      do {
        ++tally.interleavings;
        tally.hidden += lookup<Bucket>(view, addressing_, hash) ? 0 : 1;
      } while (view.next());
    }
  }

  // Neighbours share a batch, the move counter and the moments of their loads.
  void look_up_in_pairs(Tally& tally) const {
    for (std::size_t i = 0; i + 1 < throughout_.size(); ++i) {
      const std::array<std::uint64_t, 2> pair{throughout_[i], throughout_[i + 1]};
      Interleavings view(cells_, mutation_);
      do {
        ++tally.interleavings;
        tally.hidden += lookup_batch<Bucket, ScalarLanes>(view, addressing_, pair) == 3 ? 0 : 1;
      } while (view.next());
    }
  }

  [[nodiscard]] const Addressing& addressing() const { return addressing_; }

 private:
  Mode mode_;
  Mutation mutation_;
  Addressing addressing_;
  RecordingCells cells_;
  TableWriter<Bucket, RecordingCells> writer_;
  std::map<std::uint64_t, int> rows_;
  std::vector<std::uint64_t> throughout_;
  std::uint64_t displaced_ = 0;
  std::uint64_t erased_ = 0;
  std::uint64_t stashed_ = 0;
};

// Few fingerprints in few buckets, so that shared fingerprints and swapped buckets are the rule.
template <class Bucket>
std::vector<std::uint64_t> colliding_keys(std::size_t buckets, std::uint64_t fingerprints) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t fingerprint = 1; fingerprint <= fingerprints; ++fingerprint) {
    for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
      keys.push_back(crafted_hash(buckets, bucket, Bucket::kFingerprintMax, fingerprint));
    }
  }
  return keys;
}

template <class Bucket>
Tally run_scenarios(Mode mode, Mutation mutation, bool in_pairs, std::uint64_t seeds) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < seeds && tally.hidden == 0; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t buckets = 2 + 2 * (random() % 3);
    const auto keys =
        colliding_keys<Bucket>(buckets, 2 + Bucket::kSlots / 2 + random() % (Bucket::kSlots + 2));
    const auto any_key = [&] { return keys[random() % keys.size()]; };
    Scenario<Bucket> scenario(buckets, mode, mutation);
    const std::uint64_t slots = buckets * Bucket::kSlots;
    for (std::uint64_t i = slots / 2 + random() % (2 * slots); i > 0; --i) {
      scenario.insert(any_key());
      if (random() % 6 == 0) {
        scenario.erase(any_key());
      }
    }
    scenario.record();
    for (std::uint64_t step = 1 + random() % 3; step > 0; --step) {
      const std::uint64_t key = any_key();
      scenario.insert(key);
      scenario.erase(random() % 2 == 0 ? key : any_key());
    }
    in_pairs ? scenario.look_up_in_pairs(tally) : scenario.look_up_everything(tally);
  }
  return tally;
}

template <class Bucket>
class EveryLayout : public ::testing::Test {};

using Buckets = ::testing::Types<Bucket<Layout::w8>,
                                 Bucket<Layout::w10>,
                                 Bucket<Layout::w12>,
                                 Bucket<Layout::w15>,
                                 Bucket<Layout::w16>,
                                 Bucket<Layout::w20>>;

struct LayoutName {
  template <class Bucket>
  static std::string GetName(int /*index*/) {
    return std::string(Bucket::kShape.name);
  }
};

TYPED_TEST_SUITE(EveryLayout, Buckets, LayoutName);

constexpr std::uint64_t kSeeds = 800;
constexpr std::uint64_t kSeedsToBeCaught = 5000;  // at most; the first catch ends it

TYPED_TEST(EveryLayout, no_interleaving_hides_a_key_that_is_there_throughout) {
  for (const Mode mode : {Mode::many_copies, Mode::at_most_one_row, Mode::never_erased}) {
    const Tally tally = run_scenarios<TypeParam>(mode, Mutation::none, false, kSeeds);
    EXPECT_EQ(tally.hidden, 0);
    EXPECT_GT(tally.interleavings, 5'000) << "the scenarios have become too small to mean much";
    EXPECT_GT(tally.displacing, 5);
    EXPECT_GT(tally.stashing, 3);
    EXPECT_TRUE(mode == Mode::never_erased || tally.erasing > 500);
  }
}

TYPED_TEST(EveryLayout, no_interleaving_hides_a_key_from_a_batch) {
  const Tally tally = run_scenarios<TypeParam>(Mode::many_copies, Mutation::none, true, 300);
  EXPECT_EQ(tally.hidden, 0);
  EXPECT_GT(tally.interleavings, 5'000);
}

TYPED_TEST(EveryLayout, a_reader_without_the_move_counter_is_caught) {
  EXPECT_GT(run_scenarios<TypeParam>(
                Mode::many_copies, Mutation::reader_ignores_moves, false, kSeedsToBeCaught)
                .hidden,
            0);
}

TYPED_TEST(EveryLayout, an_erase_that_does_not_bump_is_caught) {
  EXPECT_GT(run_scenarios<TypeParam>(
                Mode::many_copies, Mutation::erase_does_not_bump, false, kSeedsToBeCaught)
                .hidden,
            0);
  EXPECT_GT(run_scenarios<TypeParam>(
                Mode::at_most_one_row, Mutation::erase_does_not_bump, false, kSeedsToBeCaught)
                .hidden,
            0);
}

TYPED_TEST(EveryLayout, a_bump_behind_its_store_is_caught) {
  EXPECT_GT(run_scenarios<TypeParam>(
                Mode::many_copies, Mutation::bump_after_the_store, false, kSeedsToBeCaught)
                .hidden,
            0);
}

TYPED_TEST(EveryLayout, a_move_that_overwrites_before_it_copies_is_caught) {
  EXPECT_GT(run_scenarios<TypeParam>(
                Mode::many_copies, Mutation::original_goes_before_the_copy, false, kSeedsToBeCaught)
                .hidden,
            0);
}

// The story told in table_reader.h, step by step.
std::uint64_t hidden_by_the_swapped_key(Mutation mutation) {
  using Narrow = Bucket<Layout::w20>;
  constexpr std::size_t kBuckets = 4;
  constexpr std::uint64_t kShared = 1;
  Scenario<Narrow> scenario(kBuckets, Mode::at_most_one_row, mutation);
  const std::uint64_t a = 0;
  const std::uint64_t b = scenario.addressing().other_bucket(a, kShared);
  const auto key = [](std::uint64_t bucket, std::uint64_t fingerprint) {
    return crafted_hash(kBuckets, bucket, Narrow::kFingerprintMax, fingerprint);
  };
  for (std::uint64_t filler = 2; filler <= 4; ++filler) {
    scenario.insert(key(a, filler));
  }
  const std::uint64_t k2 = key(a, kShared);
  scenario.insert(k2);  // A is full: K2 goes to B, and A's overflow bit is set
  scenario.erase(key(a, 2));
  for (std::uint64_t filler = 5; filler <= 6; ++filler) {
    scenario.insert(key(b, filler));  // B is full
  }
  scenario.record();
  const std::uint64_t k1 = key(b, kShared);
  scenario.insert(k1);  // goes to A
  scenario.erase(k1);   // takes the copy in its first bucket, B
  Tally tally;
  scenario.look_up_everything(tally);
  return tally.hidden;
}

TEST(Interleaving, a_key_survives_the_erase_of_its_twin_with_swapped_buckets) {
  EXPECT_EQ(hidden_by_the_swapped_key(Mutation::none), 0);
  EXPECT_GT(hidden_by_the_swapped_key(Mutation::erase_does_not_bump), 0);
  EXPECT_GT(hidden_by_the_swapped_key(Mutation::reader_ignores_moves), 0);
}

}  // namespace
}  // namespace cuckooguard::filter
