#include "source/toy/kind.h"

#include <array>
#include <cctype>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "follow/ending_thread.h"
#include "follow/followed_server.h"
#include "follow/pause.h"
#include "follow/server_follower.h"
#include "follow/server_kind.h"
#include "source/follow/toy_follower.h"
#include "text/try.h"

namespace cuckooguard::source {

constexpr std::string_view kLogIsGone = "the log was begun anew";

// Behind a position, on one server.
class ToyStream {
 public:
  ToyStream(ToyServer& server, const ToyPosition& from)
      : server_(server), log_(server.logs()), read_(from.number()) {}

  std::expected<std::optional<ToyEvent>, ToyError> next() {
    if (server_.logs() != log_) {
      return std::unexpected(ToyError{.what = std::string(kLogIsGone)});
    }
    auto event = server_.next(read_);
    read_ += event ? 1 : 0;
    return event;
  }

 private:
  ToyServer& server_;
  std::uint64_t log_;
  std::uint64_t read_;
};

bool is_position_gone(const ToyError& error) {
  return error.what == kLogIsGone;
}

std::expected<TableEstimate, ToyError> size_of_table(ToyConnection& connection,
                                                     const ToyPlan& plan) {
  return TableEstimate{.rows = connection.server().rows(plan.name).size()};
}

// Asks over and over how far the log is.
class ToyProbe {
 public:
  struct Word {
    TimePoint at;
    ToyPosition end;
    ToyPosition shown;
  };
  using Report = std::function<void(const Word& word)>;

  ToyProbe(ToyServer& server, Clock clock, Report report)
      : thread_([&server, clock = std::move(clock), report = std::move(report)](
                    const std::stop_token& stop) {
          do {
            const TimePoint at = clock();
            const ToyPosition shown = server.shown();
            report({.at = at, .end = server.end(), .shown = shown});
          } while (pause_for(std::chrono::milliseconds(1), stop));
          return std::string();
        }) {}

  bool has_ended() const { return thread_.has_ended(); }
  const std::string& why() const { return thread_.why(); }

 private:
  EndingThread thread_;
};

struct ToyFollowerSettings {
  std::string name{};
  std::chrono::nanoseconds max_lag{};
  Asking asking{};
  Storage storage{};
  Observer* observer = nullptr;
  std::shared_ptr<FollowedServer<ToyLogin>> followed{};
  ToyLogin login{};

  static std::string schema() { return "toy"; }
};

class ToyKindFollower final : public ServerFollower<ToyLog> {
 public:
  ToyKindFollower(ToyFollowerSettings settings, Feeds feeds, Clock clock)
      : ServerFollower(std::move(settings), std::move(feeds), std::move(clock)) {}
  ToyKindFollower(const ToyKindFollower&) = delete;
  ToyKindFollower& operator=(const ToyKindFollower&) = delete;
  ~ToyKindFollower() override { end(); }

 private:
  Duration connect(const std::stop_token& /*stop*/) override {
    const auto done = try_to_connect();
    return done ? Duration::zero() : lose(done.error());
  }
  Done try_to_connect() {
    auto connection = TRY(ToyConnection::open(settings_.login));
    ToyServer& server = connection.server();
    const std::string identity = connection.identity();
    if (identity != identity_) {
      TRY(turn_to(identity));
      loader_.reset();
      checkpoints_.reset();
      is_position_gone_ = true;
    }
    is_followed(settings_.login, identity);
    if (is_position_gone_ || !tables_.log.can_resume()) {
      ToyReader reader(std::move(connection), reader_settings());
      TRY(begin_anew(reader));
    }
    stream_ = std::make_unique<ToyStream>(server, tables_.log.resume_position());
    tables_.log.reconnected({}, identity_);
    begin_checkpoints();
    probe_ = std::make_unique<ToyProbe>(server, clock_, [this](const ToyProbe::Word& word) {
      tables_.log.see_committed({.position = word.shown});
      tables_.log.prove(word.at, word.end);
    });
    begin_watch(settings_.login, [](const ToyConnection& found) {
      return std::expected<std::string, ToyError>(found.identity());
    });
    return {};
  }
  Done begin_anew(ToyReader& reader) {
    loader_.reset();
    const bool has_taken_up = TRY(may_take_up() ? take_up(reader, false) : false);
    if (!has_taken_up) {
      const ToyPosition end = TRY(reader.position());
      tables_.log.begin_at(ToyPosition(end.number() > 0 ? end.number() - 1 : 0));
    }
    is_position_gone_ = false;
    return {};
  }
  Done follow_one(const std::stop_token& stop) override {
    const auto event = TRY(stream_->next());
    if (!event) {
      pause_for(std::chrono::microseconds(100), stop);
      return {};
    }
    return apply(*event, stop);
  }
  ToyReaderSettings reader_settings() const override {
    return {.login = settings_.login, .identity = identity_};
  }
};

namespace {

std::map<std::string, const ToyHost*>& named_hosts() {
  static std::map<std::string, const ToyHost*> hosts;
  return hosts;
}

bool is_like(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

struct Kind {
  using Log = ToyLog;
  using Config = config::FileSource;

  static constexpr std::array kBeginReading{"BEGIN"};

  static ToyLogin first_login(const Config& settings) {
    return {.host = named_hosts().at(settings.path)};
  }
  static ToyFollowerSettings following(const SourceSettings& making) {
    return {.login = first_login(ServerKind<Kind>::own(making.settings))};
  }
  static ToyReaderSettings reader_settings(const Config& /*settings*/) { return {}; }
  static std::expected<ToyConnection, std::string> connect(const Config& settings) {
    return in_words(ToyConnection::open(first_login(settings)));
  }
  static std::string account_sql(const Config& /*settings*/, const ToyError& /*refusal*/) {
    return "CREATE USER guard";
  }
  static std::expected<std::vector<KeyedTable>, ToyError> keyed_tables(ToyConnection& connection,
                                                                       const Config& /*settings*/) {
    std::vector<KeyedTable> tables;
    for (std::string& name : connection.server().tables()) {
      tables.push_back({.name = std::move(name), .primary_key = {"{id}"}});
    }
    return tables;
  }
  // The server's own rule: case does not count.
  static std::optional<std::expected<ToyReader::Rows, ToyError>> rows_like(
      ToyConnection& connection,
      const Target& /*target*/,
      const ToyPlan& plan,
      std::string_view identity) {
    auto rows = connection.server().rows(plan.name);
    std::erase_if(rows, [&](const std::string& id) { return !is_like(id, identity); });
    return ToyReader::Rows(std::move(rows));
  }
};

std::vector<Refusal> check(const config::Source& settings,
                           std::span<const Target> targets,
                           const Clock& /*clock*/) {
  std::vector<Refusal> all;
  auto connection = Kind::connect(ServerKind<Kind>::own(settings));
  if (connection) {
    ToyReader reader(*std::move(connection), {});
    for (const Target& target : targets) {
      check_tables(reader, target, all);
    }
  }
  return all;
}

}  // namespace

ToyNetwork::ToyNetwork(std::map<std::string, const ToyHost*> hosts) {
  named_hosts() = std::move(hosts);
}

ToyNetwork::~ToyNetwork() {
  named_hosts().clear();
}

std::unique_ptr<Follower> make_toy_follower(const ToyHost& host, Feeds feeds, Clock clock) {
  return std::make_unique<ToyKindFollower>(
      ToyFollowerSettings{.login = {.host = &host}}, std::move(feeds), std::move(clock));
}

const SourceKind kToy{.name = "toy",
                      .is = is_of<config::FileSource>,
                      .is_server = true,
                      .check = check,
                      .make = ServerKind<Kind>::make,
                      .count_rows = ServerKind<Kind>::count_rows,
                      .list_tables = ServerKind<Kind>::list_tables};

}  // namespace cuckooguard::source
