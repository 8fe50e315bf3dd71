#include "filled/filters.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "filled/dump.h"
#include "filled/forged_dump.h"
#include "filled/hashes.h"

namespace cuckooguard::filled {
namespace {

using testing::hash_of;
using enum Operation::Kind;
using Status = Outcome::Status;

const filter::HashSecret kSecret{};
constexpr Shape kCuckoo{.kind = Kind::cuckoo, .capacity = 100};

class FiltersTest : public ::testing::Test {
 protected:
  Outcome apply(Operation operation) { return filters_.apply(operation); }
  Status make(const std::string& name, const Shape& shape = {}) {
    return apply({.kind = create, .filter = name, .shape = shape}).status;
  }
  std::vector<ItemOutcome> add_new(const std::string& name, std::vector<std::uint64_t> hashes) {
    return apply({.kind = add_if_new, .filter = name, .hashes = std::move(hashes)}).items;
  }
  const Named* find(const std::string& name) {
    directory_ = filters_.directory();
    const auto* const found = directory_->find(name);
    return found == nullptr ? nullptr : &found->second;
  }

  static constexpr auto kDone = ItemOutcome::done;
  static constexpr auto kNotDone = ItemOutcome::not_done;

  Filters filters_{kSecret};
  std::shared_ptr<const Directory> directory_;
};

TEST_F(FiltersTest, are_made_once) {
  EXPECT_EQ(make("a"), Status::done);
  EXPECT_EQ(make("a", kCuckoo), Status::exists);
  EXPECT_EQ(find("a")->filter->shape().kind, Kind::bloom);
  EXPECT_EQ(find("b"), nullptr);
}

TEST_F(FiltersTest, say_of_each_item_whether_it_was_new) {
  make("a");
  EXPECT_EQ(add_new("a", {hash_of(1), hash_of(2), hash_of(1)}),
            (std::vector{kDone, kDone, kNotDone}));
  EXPECT_EQ(add_new("a", {hash_of(2)}), std::vector{kNotDone});
  EXPECT_TRUE(find("a")->filter->may_contain(hash_of(1)));
  EXPECT_EQ(find("a")->filter->facts().items, 2U);
}

TEST_F(FiltersTest, that_are_missing_are_made_only_where_that_is_asked_for) {
  EXPECT_EQ(apply({.kind = add, .filter = "a", .hashes = {1}}).status, Status::no_filter);
  EXPECT_EQ(apply({.kind = add,
                   .filter = "a",
                   .missing = Operation::Missing::is_made,
                   .shape = kCuckoo,
                   .hashes = {hash_of(1)}})
                .items,
            std::vector{kDone});
  EXPECT_EQ(find("a")->filter->shape(), kCuckoo);
}

TEST_F(FiltersTest, of_another_kind_are_not_touched) {
  make("a", kCuckoo);
  EXPECT_EQ(apply({.kind = add, .filter = "a", .hashes = {1}}).status, Status::wrong_kind);
  EXPECT_EQ(find("a")->filter->facts().items, 0U);
}

TEST_F(FiltersTest, erase_and_count) {
  make("a", kCuckoo);
  apply({.kind = add, .filter = "a", .shape = kCuckoo, .hashes = {hash_of(1), hash_of(1)}});
  EXPECT_EQ(apply({.kind = count, .filter = "a", .shape = kCuckoo, .hashes = {hash_of(1)}}).counts,
            std::vector<std::uint64_t>{2});
  EXPECT_EQ(apply({.kind = erase, .filter = "a", .shape = kCuckoo, .hashes = {hash_of(1)}}).items,
            std::vector{kDone});
  EXPECT_EQ(apply({.kind = erase, .filter = "a", .shape = kCuckoo, .hashes = {hash_of(9)}}).items,
            std::vector{kNotDone});
}

TEST_F(FiltersTest, grow_before_whoever_looks_misses_what_was_added) {
  make("a", {.capacity = 100});
  for (std::uint64_t i = 0; i < 5000; ++i) {
    add_new("a", {hash_of(i)});
    ASSERT_TRUE(find("a")->filter->may_contain(hash_of(i))) << i;
  }
  EXPECT_GT(find("a")->filter->layers().size(), 1U);
}

TEST_F(FiltersTest, that_cannot_grow_say_which_item_had_no_room) {
  make("a", {.capacity = 2, .scales = false});
  EXPECT_EQ(add_new("a", {hash_of(1), hash_of(2), hash_of(3), hash_of(1)}),
            (std::vector{kDone, kDone, ItemOutcome::full, kNotDone}));
}

// A drop that was meant for one of before takes out none that has come since.
TEST_F(FiltersTest, that_are_past_their_time_are_dropped_once) {
  make("a");
  apply({.kind = expire, .filter = "a", .until = 1000});
  EXPECT_TRUE(find("a")->is_there(999));
  EXPECT_FALSE(find("a")->is_there(1000));
  EXPECT_TRUE(filters_.expired(999).empty());
  const auto drops = filters_.expired(1000);
  ASSERT_EQ(drops.size(), 1U);
  EXPECT_EQ(apply(drops[0]).status, Status::done);
  make("a");
  EXPECT_EQ(apply(drops[0]).status, Status::no_filter);
  EXPECT_NE(find("a"), nullptr);
}

TEST_F(FiltersTest, tell_whoever_looks_that_something_is_other_than_before) {
  const std::uint64_t before = filters_.version();
  make("a");
  EXPECT_NE(filters_.version(), before);
  const std::uint64_t made = filters_.version();
  apply({.kind = drop, .filter = "a"});
  EXPECT_NE(filters_.version(), made);
}

TEST_F(FiltersTest, load_a_dump_in_pieces_also_over_a_restore) {
  make("a", {.capacity = 5000});
  for (std::uint64_t i = 0; i < 4000; ++i) {
    add_new("a", {hash_of(i)});
  }
  const std::string dump = apply({.kind = Operation::Kind::dump, .filter = "a"}).blob;
  constexpr std::size_t kPiece = 3000;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < dump.size(); at += kPiece) {
    EXPECT_EQ(find("b"), nullptr);
    ASSERT_EQ(
        apply({.kind = load, .filter = "b", .piece = ++number, .blob = dump.substr(at, kPiece)})
            .status,
        Status::done);
    if (number == 2) {
      const std::string all = filters_.dump();
      filters_.clear();
      ASSERT_TRUE(filters_.restore(all).has_value());
    }
  }
  ASSERT_NE(find("b"), nullptr);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    ASSERT_TRUE(find("b")->filter->may_contain(hash_of(i))) << i;
  }
}

TEST_F(FiltersTest, refuse_pieces_out_of_turn_and_what_is_no_dump) {
  EXPECT_EQ(apply({.kind = load, .filter = "b", .piece = 2, .blob = "x"}).status,
            Status::no_filter);
  EXPECT_EQ(apply({.kind = load, .filter = "b", .piece = 1, .blob = std::string(64, 'x')}).status,
            Status::bad_dump);
  make("a");
  EXPECT_EQ(apply({.kind = load, .filter = "a", .piece = 1, .blob = "x"}).status, Status::exists);
  EXPECT_EQ(find("b"), nullptr);
}

// It threw when it was used, on every guard.
TEST_F(FiltersTest, refuse_a_dump_that_somebody_has_made_up) {
  const Shape exact{.kind = Kind::cuckoo, .capacity = 100, .exact = true};
  make("a", exact);
  apply({.kind = add, .filter = "a", .shape = exact, .hashes = {hash_of(1)}});
  const std::string dump =
      apply({.kind = Operation::Kind::dump, .filter = "a", .shape = exact}).blob;
  const auto load_of = [&](const std::string& bytes, bool must_be_tagged) {
    return apply({.kind = load,
                  .filter = "b",
                  .shape = exact,
                  .piece = 1,
                  .blob = bytes,
                  .must_be_tagged = must_be_tagged});
  };
  const std::string twice = testing::with_a_hash_twice(dump);
  EXPECT_EQ(load_of(twice, false).status, Status::bad_dump) << "its tag has not been looked at";
  EXPECT_EQ(load_of(twice, true).status, Status::bad_dump);
  const std::string other =
      testing::forged(dump, [](testing::ForgedLayer& layer) { layer.header.stale = 1; });
  EXPECT_EQ(load_of(other, true).status, Status::bad_dump) << "it could be one, and is not";
  EXPECT_EQ(find("b"), nullptr);
  EXPECT_EQ(load_of(other, false).status, Status::done) << "a guard of before has let it in";
  apply({.kind = drop, .filter = "b"});
  EXPECT_EQ(load_of(dump, true).status, Status::bad_dump);
  EXPECT_EQ(load_of(tagged(dump, kSecret), true).status, Status::done);
}

// Nobody has been told meanwhile that it is there, or that it is not.
TEST_F(FiltersTest, take_a_dump_in_that_was_checked_aside) {
  make("a", kCuckoo);
  apply({.kind = add, .filter = "a", .shape = kCuckoo, .hashes = {hash_of(1)}});
  const Operation whole{
      .kind = load,
      .filter = "b",
      .shape = kCuckoo,
      .piece = 1,
      .blob = apply({.kind = Operation::Kind::dump, .filter = "a", .shape = kCuckoo}).blob};
  const auto load_aside = [&] {
    return filters_.apply(std::span(&whole, 1), Filters::Check::aside).front().whole;
  };
  const auto dump = load_aside();
  ASSERT_NE(dump, nullptr);
  EXPECT_EQ(find("b"), nullptr);
  EXPECT_EQ(apply(whole).status, Status::exists);
  Filters restored(kSecret);
  EXPECT_TRUE(restored.restore(filters_.dump()).has_value());
  Operation other = whole;
  other.blob.resize(64);
  for (std::size_t i = 0; i <= Filters::kLoadingMax; ++i) {
    other.filter = "c" + std::to_string(i);
    EXPECT_EQ(apply(other).status, Status::done) << "the oldest one ends, but that one";
  }
  dump->check();
  EXPECT_EQ(filters_.take_in(*dump).status, Status::done);
  ASSERT_NE(find("b"), nullptr);
  EXPECT_TRUE(find("b")->filter->may_contain(hash_of(1)));
  apply({.kind = drop, .filter = "b"});
  const auto lost = load_aside();
  lost->check();
  filters_.clear();
  EXPECT_EQ(filters_.take_in(*lost).status, Status::bad_dump);
  EXPECT_EQ(find("b"), nullptr);
}

// Of several guards one has less room than the others. None of it is the log's.
class FiltersWithLessRoom : public FiltersTest {
 protected:
  static constexpr Shape kLarge{.kind = Kind::cuckoo, .capacity = 100'000};

  Outcome apply_to_both(const Operation& operation) {
    const Outcome there = filters_.apply(operation);
    const Outcome here = less_.apply(operation);
    EXPECT_TRUE(here == there || here.status == Status::unknown);
    return here;
  }
  Named here(const std::string& name) const { return less_.directory()->find(name)->second; }

  Filters less_{kSecret, {.bytes_max = 100'000, .is_one_of_several = true}};
};

TEST_F(FiltersWithLessRoom, know_of_what_is_too_large_that_it_is_there_and_go_on) {
  apply_to_both({.kind = create, .filter = "large", .shape = kLarge});
  EXPECT_TRUE(here("large").filter->is_unsure());
  EXPECT_TRUE(here("large").filter->may_contain(hash_of(1)));
  const Operation to_large{.kind = add, .filter = "large", .shape = kLarge, .hashes = {hash_of(1)}};
  EXPECT_EQ(apply_to_both(to_large).status, Status::unknown);
  EXPECT_EQ(less_.totals().unsure, 1U);
  EXPECT_EQ(less_.totals().bytes, filters_.totals().bytes) << "limits are the same everywhere";
  EXPECT_NE(less_.why_unsure().find("filter large"), std::string::npos);
  apply_to_both({.kind = create, .filter = "small"});
  EXPECT_EQ(apply_to_both({.kind = add_if_new, .filter = "small", .hashes = {hash_of(1)}}).items,
            std::vector{kDone});
  EXPECT_FALSE(less_.has_room_for_unsure());
  EXPECT_EQ(apply_to_both({.kind = drop, .filter = "large"}).status, Status::done);
  EXPECT_EQ(less_.totals().unsure, 0U);
  EXPECT_EQ(less_.totals().bytes, filters_.totals().bytes);
  EXPECT_EQ(less_.dump(), filters_.dump());
}

TEST_F(FiltersWithLessRoom, are_unsure_of_what_grows_too_large) {
  for (const bool exact : {false, true}) {
    const Shape shape{.kind = Kind::cuckoo, .capacity = 1000, .exact = exact};
    apply_to_both({.kind = create, .filter = "a", .shape = shape});
    std::uint64_t item = 0;
    while (!here("a").filter->is_unsure()) {
      apply_to_both({.kind = add, .filter = "a", .shape = shape, .hashes = {hash_of(item++)}});
    }
    EXPECT_EQ(less_.totals().bytes, filters_.totals().bytes);
    EXPECT_EQ(less_.totals().items, 0U);
    apply_to_both({.kind = drop, .filter = "a"});
    EXPECT_EQ(less_.totals().bytes, 0U);
  }
}

TEST_F(FiltersWithLessRoom, are_unsure_of_a_dump_that_is_too_large_and_restore_what_has_room) {
  apply({.kind = create, .filter = "large", .shape = kLarge});
  apply({.kind = create, .filter = "small"});
  add_new("small", {hash_of(1)});
  ASSERT_TRUE(less_.restore(filters_.dump()).has_value());
  EXPECT_TRUE(here("large").filter->is_unsure());
  EXPECT_EQ(here("large").filter->shape(), kLarge);
  EXPECT_FALSE(here("small").filter->may_contain(hash_of(2)));
  EXPECT_EQ(less_.totals().bytes, filters_.totals().bytes);

  const std::string dump =
      apply({.kind = Operation::Kind::dump, .filter = "large", .shape = kLarge}).blob;
  const std::size_t half = dump.size() / 2;
  const auto piece = [&](std::uint64_t number, std::string blob) {
    return apply_to_both({.kind = load,
                          .filter = "loaded",
                          .shape = kLarge,
                          .piece = number,
                          .blob = std::move(blob)});
  };
  EXPECT_EQ(piece(1, dump.substr(0, half)).status, Status::done);
  EXPECT_EQ(less_.totals().unsure, 2U);
  EXPECT_EQ(piece(2, dump.substr(half)).status, Status::unknown);
  EXPECT_TRUE(here("loaded").filter->is_unsure());
}

// Alone, there is nobody who has it.
TEST_F(FiltersTest, that_have_no_room_here_are_not_made_if_nobody_else_has_them) {
  Filters alone{kSecret, {.bytes_max = 2000}};
  EXPECT_EQ(alone.apply({.kind = create, .filter = "a", .shape = {.capacity = 100'000}}).status,
            Status::no_room);
  EXPECT_EQ(alone.apply({.kind = create, .filter = "b"}).status, Status::done);
  Operation many{.kind = add, .filter = "b"};
  for (std::uint64_t i = 0; i < 5000; ++i) {
    many.hashes.push_back(hash_of(i));
  }
  EXPECT_EQ(alone.apply(many).items.back(), ItemOutcome::no_room);
  EXPECT_EQ(alone.totals().unsure, 0U);
}

// One that an older version let in must not keep all others from being read.
TEST_F(FiltersTest, that_cannot_be_are_unsure_after_a_restore) {
  const Shape exact{.kind = Kind::cuckoo, .capacity = 100, .exact = true};
  make("a", exact);
  apply({.kind = add, .filter = "a", .shape = exact, .hashes = {hash_of(1)}});
  make("b");
  std::string all = filters_.dump();
  const std::string good = dump_of(*find("a")->filter);
  const std::string bad = testing::with_a_hash_twice(good);
  std::string bad_with_size;
  text::put_long_text(bad_with_size, bad);
  const std::size_t at = all.find(good) - sizeof(std::uint64_t);
  all.replace(at, good.size() + sizeof(std::uint64_t), bad_with_size);
  ASSERT_TRUE(filters_.restore(all).has_value());
  EXPECT_TRUE(find("a")->filter->is_unsure());
  EXPECT_FALSE(find("b")->filter->is_unsure());
}

TEST_F(FiltersTest, are_bounded_in_number_and_bytes_by_the_operation) {
  const auto make_with = [this](std::string name, std::uint64_t filters, std::uint64_t bytes) {
    return apply({.kind = create,
                  .filter = std::move(name),
                  .shape = {.capacity = 10'000},
                  .filters_max = filters,
                  .bytes_max = bytes})
        .status;
  };
  EXPECT_EQ(make_with("a", 1, 10'000), Status::no_room);
  EXPECT_EQ(make_with("a", 1, 20'000), Status::done);
  EXPECT_EQ(make_with("b", 1, 1'000'000), Status::no_room);
  EXPECT_EQ(make_with("b", 2, 20'000), Status::no_room);
  Operation many{.kind = add_if_new, .filter = "a", .bytes_max = 20'000};
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    many.hashes.push_back(hash_of(i));
  }
  EXPECT_EQ(apply(many).items.back(), ItemOutcome::no_room);
  many.bytes_max = 1'000'000;
  EXPECT_EQ(apply(many).items.back(), kDone);
  apply({.kind = drop, .filter = "a"});
  EXPECT_EQ(make_with("c", 1, 20'000), Status::done) << "what is gone takes nothing";
}

TEST_F(FiltersTest, bound_what_is_loaded_by_what_it_claims) {
  std::string huge;
  put(huge, std::uint64_t{1} << 40U);
  huge += "CGFILTER";
  const auto begin = [this](const std::string& name, const std::string& piece) {
    return apply({.kind = load,
                  .filter = name,
                  .piece = 1,
                  .blob = piece,
                  .filters_max = 100,
                  .bytes_max = 1'000'000})
        .status;
  };
  EXPECT_EQ(begin("a", huge), Status::no_room);
  std::string some;
  put(some, std::uint64_t{50'000});
  some += "CGFILTER";
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(begin("b" + std::to_string(i), some), Status::done) << "the oldest one ends";
  }
}

// A guard that has read all from the beginning, after FLUSHALL, must have the same as one that was
// there.
TEST_F(FiltersTest, number_filters_anew_when_all_are_cleared) {
  make("a");
  make("b");
  filters_.clear();
  make("a");
  EXPECT_EQ(find("a")->incarnation, 1U);
}

// An operation moves a few of its items, however many there are: the old layer goes when it is
// empty.
TEST_F(FiltersTest, that_are_exact_grow_a_little_with_each_operation) {
  const Shape shape{.kind = Kind::cuckoo, .capacity = 10'000, .exact = true};
  make("a", shape);
  std::uint64_t item = 0;
  const auto next = [&] {
    return apply({.kind = add, .filter = "a", .shape = shape, .hashes = {hash_of(item++)}});
  };
  while (find("a")->filter->layers().size() == 1) {
    EXPECT_EQ(next().status, Status::done);
  }
  const std::uint64_t bytes = filters_.totals().bytes;
  EXPECT_EQ(bytes, find("a")->filter->bytes());
  const std::uint64_t left = find("a")->filter->layers().front()->stats().items;
  EXPECT_GT(left, 10'000U - kMovesPerItem - 1);
  Filters other(kSecret);  // that begins in the middle
  ASSERT_TRUE(other.restore(filters_.dump()).has_value());
  EXPECT_EQ(other.totals().unsure, 0U);
  std::uint64_t more = 0;
  for (; find("a")->filter->layers().size() == 2; ++more) {
    const std::uint64_t hash = hash_of(item);
    EXPECT_EQ(next().status, Status::done);
    other.apply({.kind = add, .filter = "a", .shape = shape, .hashes = {hash}});
  }
  EXPECT_LE(more, left / kMovesPerItem + 1);
  EXPECT_EQ(find("a")->filter->bytes(), bytes) << "the layer that goes is not counted";
  EXPECT_EQ(filters_.totals().bytes, bytes);
  EXPECT_EQ(filters_.totals().items, item);
  EXPECT_EQ(other.dump(), filters_.dump());
}

// Whoever has applied the same has the same, to the byte.
TEST_F(FiltersTest, are_the_same_wherever_the_same_was_applied) {
  Filters other(kSecret);
  std::vector<Operation> all;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    all.push_back({.kind = i % 3 == 2 ? erase : add,
                   .filter = "a",
                   .missing = Operation::Missing::is_made,
                   .shape = kCuckoo,
                   .hashes = {hash_of(i % 3 == 2 ? i / 2 : i)}});
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Outcome outcome = filters_.apply(all[i]);
    if (i == 1500) {  // one that begins in the middle
      ASSERT_TRUE(other.restore(filters_.dump()).has_value());
    } else if (i > 1500) {
      ASSERT_EQ(other.apply(all[i]), outcome) << i;
    }
  }
  EXPECT_EQ(other.dump(), filters_.dump());
}

// Whatever has been done to them: nobody adds them up.
TEST_F(FiltersTest, are_told_together_as_if_somebody_had_added_them_up) {
  const auto expect_sums = [](const Filters& filters) {
    Filters::Totals sums;
    for (const auto& [name, named] : filters.directory()->all()) {
      ++sums.filters;
      sums.items += named.filter->items();
      sums.bytes += named.filter->bytes();
    }
    const Filters::Totals told = filters.totals();
    EXPECT_EQ(told.filters, sums.filters);
    EXPECT_EQ(told.items, sums.items);
    EXPECT_EQ(told.bytes, sums.bytes);
    return told;
  };
  make("a");
  make("b", kCuckoo);
  for (std::uint64_t i = 0; i < 500; ++i) {
    add_new("a", {hash_of(i), hash_of(i / 2)});
    apply({.kind = add, .filter = "b", .shape = kCuckoo, .hashes = {hash_of(i)}});
  }
  apply({.kind = erase, .filter = "b", .shape = kCuckoo, .hashes = {hash_of(1), hash_of(9999)}});
  EXPECT_GT(expect_sums(filters_).items, 900U);
  const std::string dump = apply({.kind = Operation::Kind::dump, .filter = "a"}).blob;
  Filters other{kSecret};
  ASSERT_TRUE(other.restore(filters_.dump()).has_value());
  EXPECT_EQ(expect_sums(other).items, filters_.totals().items);
  apply({.kind = drop, .filter = "a"});
  EXPECT_EQ(expect_sums(filters_).items, 499U);
  apply({.kind = load, .filter = "c", .piece = 1, .blob = dump});
  EXPECT_GT(expect_sums(filters_).items, 900U);
  filters_.clear();
  EXPECT_EQ(expect_sums(filters_).items, 0U);
}

TEST_F(FiltersTest, stay_as_they_are_if_a_dump_of_them_is_damaged) {
  make("a");
  std::string dump = filters_.dump();
  dump.back() = static_cast<char>(dump.back() ^ 1);
  dump.pop_back();
  EXPECT_FALSE(filters_.restore(dump).has_value());
  EXPECT_NE(find("a"), nullptr);
}

}  // namespace
}  // namespace cuckooguard::filled
