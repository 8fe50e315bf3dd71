#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "file/kind.h"
#include "harness/temporary_directory.h"
#include "source/bench.h"

namespace cuckooguard::source {
namespace {

// As careful jobs do: aside, then renamed over it.
void replace_file(const std::string& path, std::string_view content) {
  harness::write_whole_file(path + ".new", content);
  std::filesystem::rename(path + ".new", path);
}

using testing::HasSubstr;

constexpr auto kLines = config::FileFormat::lines;
constexpr auto kCsv = config::FileFormat::csv;

struct Following {
  explicit Following(config::FileFormat format, const std::vector<Wanted>& wanted = {Wanted{}})
      : bench(wanted),
        feeds(bench.feeds()),
        origin({.path = path, .format = format}, bench.clock.clock(), [this] { at_check(); }) {}

  std::vector<Refusal> check() {
    const auto targets = bench.targets();
    return origin.check(targets);
  }
  Snapshot take(const std::stop_token& stop = {}) {
    origin.look();
    bench.clock.advance(FileOrigin::kSettle);
    return origin.take(feeds, stop);
  }
  bool is_current(const Snapshot& snapshot) { return origin.look().version == snapshot.version; }
  std::string complaint() const { return bench.witness.last().why; }

  harness::TemporaryDirectory directory;
  std::string path = directory.file("ids");
  std::function<void()> at_check = [] {};
  Bench bench;
  Feeds feeds;
  FileOrigin origin;
};

// 5000 identities, one per line.
std::string many_lines() {
  std::string text;
  for (int id = 0; id < 5000; ++id) {
    text += std::to_string(id) + "\n";
  }
  return text;
}

TEST(FileOrigin, lines_are_identities) {
  Following file(kLines);
  harness::write_whole_file(file.path, "1\r\n2\n\n3");
  EXPECT_TRUE(file.check().empty());
  const Snapshot snapshot = file.take();
  ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << snapshot.why;
  EXPECT_TRUE(file.bench.has("user:1"));
  EXPECT_TRUE(file.bench.has("user:2"));
  EXPECT_TRUE(file.bench.has("user:3"));
  EXPECT_EQ(file.bench.lives[0].current()->stats().items, 3U);
  EXPECT_TRUE(file.is_current(snapshot));
}

TEST(FileOrigin, csv_columns_are_found_by_name_for_every_namespace) {
  Following file(
      kCsv,
      {{.columns = {{"id", "user id"}}}, {.name = "names", .keys = {"name:{tenant}:{name}"}}});
  harness::write_whole_file(file.path,
                            "name,\"user id\",tenant\na,1,\"x, inc\"\nb,,y\n\"c\"\"d\",3,z\n");
  EXPECT_TRUE(file.check().empty());
  ASSERT_EQ(file.take().kind, Snapshot::Kind::taken);
  EXPECT_TRUE(file.bench.has("user:1"));
  EXPECT_TRUE(file.bench.has("user:3"));
  EXPECT_EQ(file.bench.lives[0].current()->stats().items, 2U);  // an empty field is no key
  EXPECT_TRUE(file.bench.has("name:x, inc:a"));
  EXPECT_TRUE(file.bench.has("name:y:b"));
  EXPECT_TRUE(file.bench.has("name:z:c\"d"));
}

TEST(FileOrigin, csv_rows_count_only_where_the_condition_holds) {
  Following file(kCsv, {{.where = "gone IS NULL AND kind IN ('a', 'b')"}});
  harness::write_whole_file(file.path, "kind,id,gone\na,1,\nb,2,\nb,3,x\nc,4,\n,5,\nA,6,\n");
  EXPECT_TRUE(file.check().empty());
  ASSERT_EQ(file.take().kind, Snapshot::Kind::taken);
  EXPECT_TRUE(file.bench.has("user:1"));
  EXPECT_TRUE(file.bench.has("user:2"));
  EXPECT_EQ(file.bench.lives[0].current()->stats().items, 2U);
}

TEST(FileOrigin, a_condition_needs_its_columns_in_the_header) {
  Following file(kCsv, {{.where = "kinds = 'a'"}});
  harness::write_whole_file(file.path, "id,kind\n");
  ASSERT_EQ(file.check().size(), 1U);
  EXPECT_THAT(file.check()[0].what, HasSubstr("where: the header line has no column \"kinds\""));
}

TEST(FileOrigin, what_keeps_it_from_starting_is_said_with_the_fix) {
  Following csv(kCsv);
  ASSERT_EQ(csv.check().size(), 1U);
  EXPECT_THAT(csv.check()[0].what, HasSubstr("no such file: " + csv.path));
  harness::write_whole_file(csv.path, "uid,name\n");
  ASSERT_EQ(csv.check().size(), 1U);
  EXPECT_EQ(csv.check()[0].ns, "users");
  EXPECT_THAT(csv.check()[0].what, HasSubstr("no column \"id\", did you mean \"uid\"?"));

  Following lines(kLines, {{.keys = {"order:{tenant}:{id}"}}});
  harness::write_whole_file(lines.path, "1\n");
  ASSERT_EQ(lines.check().size(), 1U);
  EXPECT_THAT(lines.check()[0].what, HasSubstr("format: csv"));
  std::filesystem::remove(lines.path);
  std::filesystem::create_directory(lines.path);
  EXPECT_THAT(lines.check()[0].what, HasSubstr("not a regular file"));
}

TEST(FileOrigin, every_way_of_changing_the_file_is_seen) {
  Following file(kLines);
  const std::string& path = file.path;
  harness::write_whole_file(path, "1\n2\n");
  const auto expect_seen = [&file](const std::string& how, const std::function<void()>& change) {
    const Snapshot snapshot = file.take();
    ASSERT_EQ(snapshot.kind, Snapshot::Kind::taken) << how;
    ASSERT_TRUE(file.is_current(snapshot)) << how;
    change();
    EXPECT_FALSE(file.is_current(snapshot)) << how;
  };
  expect_seen("append", [&path] { std::ofstream(path, std::ios::app) << "3\n"; });
  expect_seen("rename", [&path] { replace_file(path, "4\n5\n6\n"); });
  expect_seen("same size in place", [&path] {
    const auto before = stamp_of_path(path);
    while (stamp_of_path(path) == before) {  // the kernel's clock ticks every few milliseconds
      harness::write_whole_file(path, "7\n8\n9\n");
    }
  });
  expect_seen("old mtime restored", [&path] {
    const auto time = std::filesystem::last_write_time(path);
    const auto before = stamp_of_path(path);
    while (stamp_of_path(path)->changed_ns == before->changed_ns) {
      harness::write_whole_file(path, "7\n8\n1\n");
      std::filesystem::last_write_time(path, time);
    }
  });
}

TEST(FileOrigin, a_file_is_read_only_once_its_stamp_has_stood_still) {
  Following file(kLines);
  harness::write_whole_file(file.path, "1\n");
  const auto kind = [&file] { return file.origin.take(file.feeds, file.bench.never).kind; };
  file.origin.look();
  EXPECT_EQ(kind(), Snapshot::Kind::unclear);
  file.bench.clock.advance(FileOrigin::kSettle - nanoseconds(1));
  EXPECT_EQ(kind(), Snapshot::Kind::unclear);
  replace_file(file.path, "2\n");  // begins anew
  file.bench.clock.advance(nanoseconds(1));
  EXPECT_EQ(kind(), Snapshot::Kind::unclear);
  file.bench.clock.advance(FileOrigin::kSettle);
  EXPECT_EQ(kind(), Snapshot::Kind::taken);
}

// A job that writes in place, and pauses.
TEST(FileOrigin, a_file_that_somebody_has_open_for_writing_must_stand_still_for_longer) {
  Following file(kLines);
  std::ofstream writer(file.path);
  writer << "1\n" << std::flush;
  const Snapshot early = file.take();
  EXPECT_EQ(early.kind, Snapshot::Kind::unclear);
  EXPECT_THAT(early.why, HasSubstr("is open for writing"));
  writer << "2\n" << std::flush;
  file.take();
  file.bench.clock.advance(FileOrigin::kSettleWhileOpen);
  EXPECT_EQ(file.take().kind, Snapshot::Kind::taken) << "it may be kept open for ever";
  writer << "3\n";
  writer.close();
  EXPECT_EQ(file.take().kind, Snapshot::Kind::taken);
  EXPECT_TRUE(file.bench.has("user:3"));
}

TEST(FileOrigin, a_change_while_it_is_read_makes_the_snapshot_outdated) {
  Following file(kLines);
  harness::write_whole_file(file.path, many_lines());
  file.at_check = [&file] { std::ofstream(file.path, std::ios::app) << "7000\n"; };
  const Snapshot snapshot = file.take();
  file.at_check = [] {};
  EXPECT_FALSE(file.is_current(snapshot));
  const Snapshot again = file.take();
  EXPECT_TRUE(file.is_current(again));
  EXPECT_TRUE(file.bench.has("user:7000"));
}

TEST(FileOrigin, a_file_that_goes_away_is_lost_and_another_version_when_it_is_back) {
  Following file(kLines);
  harness::write_whole_file(file.path, "1\n");
  const Snapshot snapshot = file.take();
  std::filesystem::rename(file.path, file.path + ".away");
  EXPECT_EQ(file.origin.look().kind, Sighting::Kind::lost);
  std::filesystem::rename(file.path + ".away", file.path);
  EXPECT_EQ(file.origin.look().kind, Sighting::Kind::seen);
  EXPECT_FALSE(file.is_current(snapshot));
}

TEST(FileOrigin, a_bad_line_makes_the_namespaces_unsynced_and_is_named) {
  Following file(kCsv);
  harness::write_whole_file(file.path, "id,name\n1,a\n2\n");
  ASSERT_EQ(file.take().kind, Snapshot::Kind::taken);
  EXPECT_EQ(file.bench.lives[0].state(), filter::State::unsynced);
  EXPECT_THAT(file.complaint(), HasSubstr("line 3 has 1 fields, the header has 2"));
  replace_file(file.path, "id,name\n9007199254740993x,a\n");
  ASSERT_EQ(file.take().kind, Snapshot::Kind::taken);
  EXPECT_THAT(file.complaint(), HasSubstr("9007199254740993x"));
  replace_file(file.path, "");
  ASSERT_EQ(file.take().kind, Snapshot::Kind::taken);
  EXPECT_THAT(file.complaint(), HasSubstr("no column \"id\""));
}

TEST(FileOrigin, a_filter_that_is_too_small_is_filled_again_from_the_first_line) {
  Following file(kLines);
  harness::write_whole_file(file.path, "1\n");
  bool has_grown = false;
  file.at_check = [&] {
    if (!std::exchange(has_grown, true)) {  // the lines were counted before
      std::string more;
      for (int id = 10'000; id < 60'000; ++id) {
        more += std::to_string(id) + "\n";
      }
      std::ofstream(file.path, std::ios::app) << more;
    }
  };
  harness::write_whole_file(file.path, many_lines());
  ASSERT_EQ(file.take().kind, Snapshot::Kind::taken);
  ASSERT_TRUE(has_grown);
  for (const char* key : {"user:0", "user:4999", "user:10000", "user:59999"}) {
    EXPECT_TRUE(file.bench.has(key)) << key;
  }
  EXPECT_FALSE(file.bench.lives[0].current()->stats().full);
}

TEST(FileOrigin, a_stop_ends_the_reading) {
  Following file(kLines);
  harness::write_whole_file(file.path, many_lines());
  std::stop_source stop;
  int checks = 0;
  file.at_check = [&] {
    ++checks;
    stop.request_stop();
  };
  EXPECT_EQ(file.take(stop.get_token()).kind, Snapshot::Kind::stopped);
  EXPECT_EQ(checks, 1);
}

}  // namespace
}  // namespace cuckooguard::source
