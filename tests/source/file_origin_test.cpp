#include "source/file_origin.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "source/bench.h"
#include "source/temp_directory.h"

namespace cuckooguard::source {
namespace {

using testing::HasSubstr;

class FileOriginTest : public testing::Test {
 protected:
  void open(config::FileFormat format, std::vector<Wanted> wanted = {Wanted{}}) {
    bench_.emplace(std::move(wanted));
    feeds_ = bench_->feeds();
    origin_.emplace(
        config::FileSource{.path = path_, .format = format}, bench_->clock.clock(), [this] {
          if (at_check_) {
            at_check_();
          }
        });
  }
  std::vector<Refusal> check() {
    const auto targets = bench_->targets();
    return origin_->check(targets);
  }
  Snapshot take() {
    origin_->look();
    bench_->clock.advance(FileOrigin::kSettle);
    return origin_->take(feeds_, bench_->never);
  }
  bool is_current(const Snapshot& snapshot) { return origin_->look().version == snapshot.version; }
  // The namespace's reason for being unsynced.
  std::string complaint() const { return bench_->witness.last().why; }

  TempDirectory directory_;
  std::string path_ = directory_.file("ids");
  std::optional<Bench> bench_;
  std::vector<Feed> feeds_;
  std::optional<FileOrigin> origin_;
  std::function<void()> at_check_;
};

TEST_F(FileOriginTest, lines_are_identities) {
  write_file(path_, "1\r\n2\n\n3");
  open(config::FileFormat::lines);
  EXPECT_TRUE(check().empty());
  const Snapshot snapshot = take();
  ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << snapshot.why;
  EXPECT_TRUE(bench_->has("user:1"));
  EXPECT_TRUE(bench_->has("user:2"));
  EXPECT_TRUE(bench_->has("user:3"));
  EXPECT_EQ(bench_->lives[0].current()->stats().items, 3U);
  EXPECT_TRUE(is_current(snapshot));
}

TEST_F(FileOriginTest, csv_columns_are_found_by_name_for_every_namespace) {
  write_file(path_, "name,\"user id\",tenant\na,1,\"x, inc\"\nb,,y\n\"c\"\"d\",3,z\n");
  open(config::FileFormat::csv,
       {{.columns = {{"id", "user id"}}}, {.name = "names", .keys = {"name:{tenant}:{name}"}}});
  EXPECT_TRUE(check().empty());
  ASSERT_EQ(take().kind, Snapshot::Kind::taken);
  EXPECT_TRUE(bench_->has("user:1"));
  EXPECT_TRUE(bench_->has("user:3"));
  EXPECT_EQ(bench_->lives[0].current()->stats().items, 2U);  // an empty field is no key
  EXPECT_TRUE(bench_->has("name:x, inc:a"));
  EXPECT_TRUE(bench_->has("name:y:b"));
  EXPECT_TRUE(bench_->has("name:z:c\"d"));
}

TEST_F(FileOriginTest, what_keeps_it_from_starting_is_said_with_the_fix) {
  open(config::FileFormat::csv);
  ASSERT_EQ(check().size(), 1U);
  EXPECT_THAT(check()[0].what, HasSubstr("there is no file " + path_));
  write_file(path_, "uid,name\n");
  ASSERT_EQ(check().size(), 1U);
  EXPECT_EQ(check()[0].ns, "users");
  EXPECT_THAT(check()[0].what, HasSubstr("no column \"id\", did you mean \"uid\"?"));
  open(config::FileFormat::lines, {{.keys = {"order:{tenant}:{id}"}}});
  ASSERT_EQ(check().size(), 1U);
  EXPECT_THAT(check()[0].what, HasSubstr("format: csv"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_THAT(check()[0].what, HasSubstr("not a regular file"));
}

TEST_F(FileOriginTest, every_way_of_changing_the_file_is_seen) {
  write_file(path_, "1\n2\n");
  open(config::FileFormat::lines);
  const auto expect_seen = [this](const std::string& how, const std::function<void()>& change) {
    const Snapshot snapshot = take();
    ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << how;
    ASSERT_TRUE(is_current(snapshot)) << how;
    change();
    EXPECT_FALSE(is_current(snapshot)) << how;
  };
  expect_seen("append", [this] { std::ofstream(path_, std::ios::app) << "3\n"; });
  expect_seen("rename", [this] { replace_file(path_, "4\n5\n6\n"); });
  expect_seen("same size in place", [this] {
    const auto before = stamp_of_path(path_);
    while (stamp_of_path(path_) == before) {  // the kernel's clock ticks every few milliseconds
      write_file(path_, "7\n8\n9\n");
    }
  });
  expect_seen("old mtime restored", [this] {
    const auto time = std::filesystem::last_write_time(path_);
    const auto before = stamp_of_path(path_);
    while (stamp_of_path(path_)->changed_ns == before->changed_ns) {
      write_file(path_, "7\n8\n1\n");
      std::filesystem::last_write_time(path_, time);
    }
  });
}

TEST_F(FileOriginTest, a_file_is_read_only_once_its_stamp_has_stood_still) {
  write_file(path_, "1\n");
  open(config::FileFormat::lines);
  origin_->look();
  EXPECT_EQ(origin_->take(feeds_, bench_->never).kind, Snapshot::Kind::unclear);
  bench_->clock.advance(FileOrigin::kSettle - nanoseconds(1));
  EXPECT_EQ(origin_->take(feeds_, bench_->never).kind, Snapshot::Kind::unclear);
  replace_file(path_, "2\n");  // begins anew
  bench_->clock.advance(nanoseconds(1));
  EXPECT_EQ(origin_->take(feeds_, bench_->never).kind, Snapshot::Kind::unclear);
  bench_->clock.advance(FileOrigin::kSettle);
  EXPECT_EQ(origin_->take(feeds_, bench_->never).kind, Snapshot::Kind::taken);
}

TEST_F(FileOriginTest, a_change_while_it_is_read_makes_the_snapshot_outdated) {
  std::string text;
  for (int id = 0; id < 5000; ++id) {
    text += std::to_string(id) + "\n";
  }
  write_file(path_, text);
  open(config::FileFormat::lines);
  at_check_ = [this] { std::ofstream(path_, std::ios::app) << "7000\n"; };
  const Snapshot snapshot = take();
  at_check_ = nullptr;
  EXPECT_FALSE(is_current(snapshot));
  const Snapshot again = take();
  EXPECT_TRUE(is_current(again));
  EXPECT_TRUE(bench_->has("user:7000"));
}

TEST_F(FileOriginTest, a_file_that_goes_away_is_lost_and_another_version_when_it_is_back) {
  write_file(path_, "1\n");
  open(config::FileFormat::lines);
  const Snapshot snapshot = take();
  std::filesystem::rename(path_, path_ + ".away");
  EXPECT_EQ(origin_->look().kind, Sighting::Kind::lost);
  std::filesystem::rename(path_ + ".away", path_);
  EXPECT_EQ(origin_->look().kind, Sighting::Kind::seen);
  EXPECT_FALSE(is_current(snapshot));
}

TEST_F(FileOriginTest, a_bad_line_makes_the_namespaces_unsynced_and_is_named) {
  write_file(path_, "id,name\n1,a\n2\n");
  open(config::FileFormat::csv);
  ASSERT_EQ(take().kind, Snapshot::Kind::taken);
  EXPECT_EQ(bench_->lives[0].state(), filter::State::unsynced);
  EXPECT_THAT(complaint(), HasSubstr("line 3 has 1 fields, the header has 2"));
  replace_file(path_, "id,name\nseven,a\n");
  ASSERT_EQ(take().kind, Snapshot::Kind::taken);
  EXPECT_THAT(complaint(), HasSubstr("seven"));
  replace_file(path_, "");
  ASSERT_EQ(take().kind, Snapshot::Kind::taken);
  EXPECT_THAT(complaint(), HasSubstr("no column \"id\""));
}

TEST_F(FileOriginTest, a_stop_ends_the_reading) {
  std::string text;
  for (int id = 0; id < 5000; ++id) {
    text += std::to_string(id) + "\n";
  }
  write_file(path_, text);
  open(config::FileFormat::lines);
  std::stop_source stop;
  int checks = 0;
  at_check_ = [&] {
    ++checks;
    stop.request_stop();
  };
  origin_->look();
  bench_->clock.advance(FileOrigin::kSettle);
  EXPECT_EQ(origin_->take(feeds_, stop.get_token()).kind, Snapshot::Kind::stopped);
  EXPECT_EQ(checks, 1);
}

}  // namespace
}  // namespace cuckooguard::source
