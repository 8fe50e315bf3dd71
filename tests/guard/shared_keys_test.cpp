// Keys that rows of several namespaces can have: absent only if none of them has it.
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guard/explanation.h"
#include "guard/guarded_shop.h"
#include "guard/key_judge.h"

namespace cuckooguard::guard {
namespace {

using testing::HasSubstr;

//   namespace  key                      in the filter
//   0 pages    page:{slug}              home
//   1 drafts   page:draft:{id:uint64}   1; canonical
//   2 users    user:{id:uint64}         1; canonical
//   3 vips     user:vip:{id}            1
class SharedKeys : public testing::Test {
 protected:
  SharedKeys() : epochs_(1), keyspace_(keyspace_of_pages()) {
    for (std::uint32_t ns = 0; ns < keyspace_.size(); ++ns) {
      parts_.push_back(std::make_unique<filter::LiveParts>(epochs_, fixed_secret(ns)));
      lives_.push_back(parts_.back()->add("table"));
      parts_.back()->set_complete(true);
      overlays_.push_back(
          std::make_unique<Overlay>(Overlay::Limits{.max_keys = 8, .ttl = seconds(60)}));
      spaces_.push_back({.mode = config::Mode::enforce,
                         .filter = parts_.back().get(),
                         .overlay = overlays_.back().get()});
      lives_.back()->publish(std::make_unique<filter::CuckooFilter>(
          filter::sizing_for(filter::Layout::w20, 1000, filter::DeleteMode::trusted),
          fixed_secret(ns)));
      prove(ns);
      insert(ns, ns == kPages ? "home" : "1");
    }
    epochs_.reader(0).enter();
    guard_ = std::make_unique<Guard>(
        Guard::Parts{.keyspace = keyspace_, .namespaces = spaces_, .facts = facts_});
  }

  static constexpr std::uint32_t kPages = 0;
  static constexpr std::uint32_t kDrafts = 1;
  static constexpr std::uint32_t kUsers = 2;
  static constexpr std::uint32_t kVips = 3;

  void prove(std::uint32_t ns) { lives_[ns]->set_fresh_until(now_ + seconds(1)); }
  void insert(std::uint32_t ns, std::string_view identity) {
    lives_[ns]->insert(parts_[ns]->hash(identity));
  }
  void erase(std::uint32_t ns, std::string_view identity) {
    lives_[ns]->erase(parts_[ns]->hash(identity));
  }
  Guard::Inspection inspect(std::string_view key) {
    const redis::UserAccess everything{.is_unrestricted = true};
    return guard_->inspect(key, {.access = everything, .now = now_});
  }
  Verdict verdict(std::string_view key) { return inspect(key).verdict; }
  std::string why(std::string_view key) {
    return reason_of(guard_->parts(), inspect(key), 0, now_);
  }

  TimePoint now_{std::chrono::hours(5)};
  filter::Epochs epochs_;
  keyspace::Keyspace keyspace_;
  std::vector<std::unique_ptr<filter::LiveParts>> parts_;
  std::vector<filter::LiveFilter*> lives_;
  std::vector<std::unique_ptr<Overlay>> overlays_;
  std::vector<GuardedNamespace> spaces_;
  redis::Facts facts_;
  std::unique_ptr<Guard> guard_;

 private:
  static keyspace::Keyspace keyspace_of_pages() {
    std::vector<keyspace::NamespaceTemplates> namespaces;
    const auto add = [&namespaces](std::string name, std::string_view key, bool canonical) {
      namespaces.push_back(
          {std::move(name), {keyspace::KeyTemplate::parse(key).value()}, canonical});
    };
    add("pages", "page:{slug}", false);
    add("drafts", "page:draft:{id:uint64}", true);
    add("users", "user:{id:uint64}", true);
    add("vips", "user:vip:{id}", false);
    return keyspace::Keyspace::build(std::move(namespaces)).value();
  }
};

TEST_F(SharedKeys, a_row_whose_key_another_namespace_claims_passes_as_long_as_it_is_there) {
  EXPECT_EQ(verdict("page:draft:42"), Verdict::absent);
  insert(kPages, "draft:42");
  EXPECT_EQ(verdict("page:draft:42"), Verdict::may_exist);
  EXPECT_THAT(why("page:draft:42"), HasSubstr("a row of namespace pages may have this key"));
  EXPECT_EQ(verdict("page:draft:43"), Verdict::absent);
  EXPECT_EQ(why("page:draft:1"), "the filter contains it, or reports a false positive");
  erase(kPages, "draft:42");
  EXPECT_EQ(verdict("page:draft:42"), Verdict::absent);
}

TEST_F(SharedKeys, a_key_that_no_row_of_its_namespace_can_have_may_be_anothers) {
  EXPECT_EQ(inspect("page:draft:x").found.kind, keyspace::Lookup::Kind::impossible);
  EXPECT_EQ(verdict("page:draft:x"), Verdict::absent);
  insert(kPages, "draft:x");
  EXPECT_EQ(verdict("page:draft:x"), Verdict::may_exist);
  EXPECT_EQ(verdict("user:007"), Verdict::absent);
  insert(kUsers, "007");
  EXPECT_EQ(verdict("user:007"), Verdict::may_exist);
}

TEST_F(SharedKeys, pass_while_the_other_namespace_knows_nothing) {
  lives_[kPages]->set_fresh_until(TimePoint::min());
  EXPECT_EQ(verdict("page:draft:42"), Verdict::not_fresh);
  EXPECT_THAT(
      why("page:draft:42"),
      HasSubstr("a row of namespace pages may have this key, and that namespace passes all keys"));
  EXPECT_EQ(verdict("page:draft:x"), Verdict::not_fresh);
  EXPECT_EQ(verdict("user:42"), Verdict::absent) << "no row of pages has it";
  lives_[kDrafts]->set_fresh_until(TimePoint::min());
  prove(kPages);
  EXPECT_THAT(why("page:draft:42"), testing::Not(HasSubstr("pages")));
}

// The row `vip:7` of users has that key, too: users, whose keys have integers, refuses it, and
// knows nothing as long as it is there.
TEST_F(SharedKeys, pass_while_another_namespace_may_have_a_text_for_its_integer) {
  EXPECT_EQ(verdict("user:vip:7"), Verdict::absent);
  lives_[kUsers]->set_fresh_until(TimePoint::min());
  EXPECT_EQ(verdict("user:vip:7"), Verdict::not_fresh);
  EXPECT_THAT(why("user:vip:7"), HasSubstr("a row of namespace users may have this key"));
  EXPECT_EQ(verdict("user:vip:1"), Verdict::may_exist);
  spaces_[kUsers].db = 1;
  EXPECT_EQ(verdict("user:vip:7"), Verdict::absent);
  spaces_[kUsers].db = 0;
  prove(kUsers);
  EXPECT_EQ(inspect("user:vip:7").found.ns, kVips);
  EXPECT_EQ(verdict("user:vip:7"), Verdict::absent);
}

TEST_F(SharedKeys, are_not_those_of_another_db) {
  insert(kPages, "draft:42");
  spaces_[kPages].db = 1;
  EXPECT_EQ(verdict("page:draft:42"), Verdict::absent);
}

// A row that goes from one namespace to the other while it is looked for: it is inserted there
// before it is erased here.
TEST_F(SharedKeys, of_a_row_that_moves_are_never_absent) {
  keyspace::IdentityBuffer scratch;
  keyspace::IdentityBuffer other;
  const auto found = keyspace_.match("page:draft:42", scratch);
  insert(kPages, "draft:42");
  std::atomic<int> moves = 0;
  const std::jthread writer([this, &moves](const std::stop_token& stop) {
    for (; !stop.stop_requested(); ++moves) {
      insert(kDrafts, "42");
      erase(kPages, "draft:42");
      insert(kPages, "draft:42");
      erase(kDrafts, "42");
    }
  });
  for (int i = 0; i < 1'000'000 || moves < 1'000'000; ++i) {
    ASSERT_EQ(
        find_shared({keyspace_, spaces_, found, "page:draft:42"}, filter::Freshness{now_}, other)
            .finding,
        filter::Finding::may_exist);
  }
}

}  // namespace
}  // namespace cuckooguard::guard
