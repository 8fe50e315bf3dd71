// Sources as main runs them: their own thread, the real clock, real databases, writers in other
// threads and processes.
#include <array>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "file/kind.h"
#include "harness/temporary_directory.h"
#include "source/bench.h"
#include "source/source_kind.h"
#include "source/sqlite/writer.h"
#include "sqlite/kind.h"

namespace cuckooguard::source {
namespace {

using sqlite::create_users;
using sqlite::Writer;

using filter::State;
using testing::HasSubstr;

TimePoint real_now() {
  return std::chrono::steady_clock::now();
}

auto made(const config::Source& settings,
          Bench& bench,
          const SourceKind& kind = sqlite::kKind,
          filter::Questions* questions = nullptr) {
  const std::vector<Target> targets = bench.targets();
  return make_source(kind,
                     {.settings = settings,
                      .targets = targets,
                      .observer = bench.witness,
                      .clock = real_now,
                      .storage = {},
                      .questions = questions});
}

config::Source sqlite_settings(const std::string& path) {
  return {.name = "db",
          .kind = config::SqliteSource{.path = path, .poll_every = milliseconds(2)},
          .max_lag = milliseconds(50)};
}

struct Commit {
  int id;
  TimePoint at;  // not before it was done
};

constexpr int kRows = 2000;
constexpr int kCommits = 80;

// Inserts rows one by one, in bursts and with pauses, and tells of each through the pipe once it is
// committed.
void write_rows(const std::string& path, unsigned seed, int pipe) {
  Writer writer(path);
  writer.be_patient(seconds(20));
  std::minstd_rand random(seed);
  for (int id = kRows + 1; id <= kRows + kCommits; ++id) {
    // Ids far above the largest, so that no window of fresh ids could cover for a missed commit.
    writer.run("INSERT INTO users VALUES(" + std::to_string(id * 1000) + ", 'new')");
    const Commit commit{.id = id * 1000, .at = real_now()};
    if (write(pipe, &commit, sizeof commit) != sizeof commit) {
      std::abort();
    }
    const auto pause = random() % 4 == 0 ? milliseconds(random() % 100) : milliseconds(0);
    while (real_now() < commit.at + pause) {
      std::this_thread::yield();
    }
  }
}

// The reading end: what has been committed so far.
class Commits {
 public:
  Commits() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe2 failed");
    }
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  Commits(const Commits&) = delete;
  Commits& operator=(const Commits&) = delete;
  ~Commits() {
    close(ends_[0]);
    close_writing_end();
  }

  int writing_end() const { return ends_[1]; }
  void close_writing_end() {
    if (ends_[1] >= 0) {
      close(std::exchange(ends_[1], -1));
    }
  }
  const std::vector<Commit>& read_all() {
    Commit commit{};
    while (read(ends_[0], &commit, sizeof commit) == sizeof commit) {
      all_.push_back(commit);
    }
    return all_;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::vector<Commit> all_;
};

class Writers : public testing::TestWithParam<std::tuple<const char*, bool>> {};
// NOLINTNEXTLINE(readability-identifier-naming): the macro's own name
INSTANTIATE_TEST_SUITE_P(Everywhere,
                         Writers,
                         testing::Combine(testing::Values("WAL", "DELETE"), testing::Bool()),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param)) +
                                  (std::get<1>(each.param) ? "_process" : "_thread");
                         });

// Looks a row up as a worker does, over and over, while somebody writes.
TEST_P(Writers, no_row_committed_more_than_max_lag_ago_is_ever_absent) {
  const auto [mode, in_process] = GetParam();
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("app.db");
  Writer(path).run("PRAGMA journal_mode=" + std::string(mode) + ";" + create_users(kRows));
  Commits commits;
  const unsigned seed = 20261;
  pid_t child = -1;
  std::thread thread;
  if (in_process) {
    child = fork();
    if (child == 0) {
      write_rows(path, seed, commits.writing_end());
      _exit(0);
    }
  }
  Bench bench;
  const config::Source settings = sqlite_settings(path);
  auto source = made(settings, bench).value();
  source->start();
  if (!in_process) {
    thread = std::thread([&] { write_rows(path, seed, commits.writing_end()); });
  }

  int verdicts = 0;  // on rows that were inserted while the source ran
  const TimePoint deadline = real_now() + seconds(120);
  for (bool all_seen = false; !all_seen && real_now() < deadline;) {
    const auto& rows = commits.read_all();
    const TimePoint now = real_now();
    if (!bench.lives[0].is_fresh(now)) {
      std::this_thread::yield();
      continue;
    }
    int lasting = 0;
    for (const Commit& commit : rows) {
      if (commit.at + settings.max_lag < now) {
        ASSERT_TRUE(bench.has("user:" + std::to_string(commit.id))) << "seed " << seed;
        ++lasting;
      }
    }
    verdicts += lasting;
    all_seen = lasting == kCommits;
  }
  EXPECT_EQ(commits.read_all().size(), static_cast<std::size_t>(kCommits));
  EXPECT_GE(verdicts, kCommits);
  source->stop();
  EXPECT_FALSE(bench.lives[0].is_fresh(real_now()));
  if (thread.joinable()) {
    thread.join();
  }
  if (child > 0) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(Source, a_stop_in_the_middle_of_a_load_is_prompt_and_leaves_everything_passing) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("app.db");
  Writer(path).run("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;" + create_users(200'000));
  for (int i = 0; i < 20; ++i) {
    Bench bench;
    auto source = made(sqlite_settings(path), bench);
    (*source)->start();
    while (i % 2 == 0 && bench.witness.progress().empty() && bench.lives[0].current() == nullptr) {
      std::this_thread::yield();
    }
    (*source)->stop();
    EXPECT_FALSE(bench.lives[0].is_fresh(real_now()));
    (*source)->stop();  // twice is once
  }
}

TEST(Source, a_pause_is_no_reason_to_stop_late) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("app.db");
  Writer(path).run(create_users(1));
  Bench bench;
  config::Source settings = sqlite_settings(path);
  std::get<config::SqliteSource>(settings.kind).poll_every = std::chrono::hours(1);
  auto source = made(settings, bench).value();
  source->start();
  ASSERT_TRUE(bench.witness.wait_for("users", State::ready));
  source.reset();  // the test's own time limit is the deadline
}

// A read that is held until a proof is newer than it, 50 times; without readers there is a look an
// hour.
void expect_answers_to_readers(config::Source settings,
                               const SourceKind& kind,
                               Bench& bench,
                               bool serves_strict) {
  std::atomic<int> told{0};
  filter::Questions questions([&told] {
    ++told;
    told.notify_all();
  });
  settings.max_lag = std::chrono::hours(10);
  auto source = made(settings, bench, kind, &questions).value();
  source->start();
  ASSERT_TRUE(bench.witness.wait_for("users", State::ready));
  const TimePoint begin = real_now();
  for (int read = 0; read < 50; ++read) {
    const TimePoint read_at = real_now();
    questions.want();
    for (int before = told; !bench.lives[0].is_proven_since(read_at); before = told) {
      told.wait(before);
    }
  }
  EXPECT_GE(real_now() - begin, milliseconds(49));  // a millisecond between two looks
  EXPECT_EQ(questions.serves_strict(), serves_strict);
  source->stop();
}

TEST(Source, a_reader_that_waits_is_answered_without_waiting_for_the_next_look) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("app.db");
  Writer(path).run(create_users(10));
  config::Source settings = sqlite_settings(path);
  auto& sqlite = std::get<config::SqliteSource>(settings.kind);
  sqlite.poll_every = std::chrono::hours(1);
  for (const config::Follow follow : {config::Follow::rescan, config::Follow::triggers}) {
    sqlite.follow = follow;
    sqlite.install_triggers = true;
    Bench bench;
    ASSERT_TRUE(sqlite::kKind.check(settings, bench.targets(), real_now).empty());
    expect_answers_to_readers(settings, sqlite::kKind, bench, true);
  }
}

TEST(Source, a_file_that_goes_away_and_comes_back_is_followed_again) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("app.db");
  Writer(path).run(create_users(10));
  Bench bench;
  auto source = made(sqlite_settings(path), bench).value();
  source->start();
  ASSERT_TRUE(bench.witness.wait_for("users", State::ready));
  std::filesystem::remove(path);
  ASSERT_TRUE(bench.witness.wait_for("users", State::down));
  EXPECT_THAT(bench.witness.last().why, HasSubstr("no such file"));
  EXPECT_FALSE(bench.lives[0].is_fresh(real_now()));
  const std::string next = directory.file("next.db");
  Writer(next).run(create_users(5000));
  std::filesystem::rename(next, path);
  ASSERT_TRUE(bench.witness.wait_for("users", State::ready, 2));
  EXPECT_TRUE(bench.has("user:5000"));
}

TEST(Source, a_text_file_is_followed_too) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("ids");
  harness::write_whole_file(path, "1\n2\n");
  Bench bench;
  const config::Source settings{
      .name = "ids",
      .kind = config::FileSource{.path = path, .format = config::FileFormat::lines},
      .max_lag = seconds(1)};
  filter::Questions questions;
  auto source = made(settings, bench, kFile, &questions).value();
  source->start();
  ASSERT_TRUE(bench.witness.wait_for("users", State::ready));
  EXPECT_TRUE(bench.has("user:2"));
  EXPECT_FALSE(questions.serves_strict());  // a stamp is not what a database has committed
  harness::write_whole_file(path + ".new", "777\n");
  std::filesystem::rename(path + ".new", path);
  ASSERT_TRUE(bench.witness.wait_for("users", State::ready, 2));
  EXPECT_TRUE(bench.has("user:777"));
}

TEST(Source, a_writer_in_the_way_at_the_start_delays_the_load_and_no_more) {
  const harness::TemporaryDirectory directory;
  const std::string path = directory.file("app.db");
  Writer writer(path);
  writer.run("PRAGMA journal_mode=DELETE;" + create_users(10) + "BEGIN EXCLUSIVE");
  Bench bench;
  auto source = made(sqlite_settings(path), bench).value();
  source->start();
  ASSERT_TRUE(bench.witness.wait_for("users", State::loading));
  EXPECT_THAT(bench.witness.last().why, HasSubstr("locked by a writer"));
  EXPECT_FALSE(bench.lives[0].is_fresh(real_now()));
  writer.run("COMMIT");
  ASSERT_TRUE(bench.witness.wait_for("users", State::ready));
}

TEST(Source, what_cannot_be_read_is_told_to_whoever_asks_before_the_start) {
  const harness::TemporaryDirectory directory;
  Bench bench;
  const auto targets = bench.targets();
  const auto missing =
      sqlite::kKind.check(sqlite_settings(directory.file("app.db")), targets, real_now);
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_THAT(missing[0].what, HasSubstr("no such file: " + directory.file("app.db")));
  Writer(directory.file("app.db")).run("CREATE TABLE user(id INTEGER PRIMARY KEY)");
  const auto renamed =
      sqlite::kKind.check(sqlite_settings(directory.file("app.db")), targets, real_now);
  ASSERT_EQ(renamed.size(), 1U);
  EXPECT_EQ(renamed[0].ns, "users");
  EXPECT_THAT(renamed[0].what, HasSubstr("did you mean \"user\"?"));
}

TEST(Source, what_cannot_be_read_at_the_start_passes_says_why_and_is_read_when_it_can_be) {
  const harness::TemporaryDirectory directory;
  Bench bench;
  auto source = made(sqlite_settings(directory.file("app.db")), bench).value();
  source->start();
  ASSERT_TRUE(bench.witness.wait_for("users", State::down));
  EXPECT_FALSE(bench.lives[0].is_fresh(real_now()));
  Writer writer(directory.file("app.db"));
  writer.be_patient(seconds(20));
  writer.run("CREATE TABLE user(id INTEGER PRIMARY KEY)");
  ASSERT_TRUE(bench.witness.wait_for("users", State::refused));
  EXPECT_THAT(bench.witness.last().why, HasSubstr("did you mean \"user\"?"));
  EXPECT_FALSE(bench.lives[0].is_fresh(real_now()));
  writer.run("CREATE TABLE users(id INTEGER PRIMARY KEY); INSERT INTO users VALUES(7)");
  ASSERT_TRUE(bench.witness.wait_for("users", State::ready));
  EXPECT_TRUE(bench.has("user:7"));
}

}  // namespace
}  // namespace cuckooguard::source
