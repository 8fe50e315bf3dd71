// A session that reads a toy log's database, and what follows it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/table_pattern.h"
#include "follow/checkpoint_writer.h"
#include "follow/restore.h"
#include "follow/server_reader.h"
#include "follow/table_loader.h"
#include "follow/table_set.h"
#include "source/follow/toy_applier.h"
#include "source/follow/toy_log.h"
#include "source/follow/toy_server.h"
#include "source/follower.h"

namespace cuckooguard::source {

struct ToyReaderSettings {
  ToyLogin login{};
  std::string identity{};
};

template <class T>
using ToyPlanned = std::expected<T, std::variant<std::string, ToyError>>;

class ToyReader : public ServerReader<ToyLog> {
 public:
  static constexpr std::string_view kUnsure = "tables come and go";

  class Rows {
   public:
    explicit Rows(ToyServer::Rows rows) : rows_(std::move(rows)), at_(rows_.begin()) {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    Rows(Rows&& other) noexcept : rows_(std::move(other.rows_)), at_(rows_.begin()) {}
    Rows& operator=(Rows&&) = delete;
    ~Rows() = default;

    std::expected<std::optional<RowValues>, ToyError> next() {
      if (at_ == rows_.end()) {
        return std::nullopt;
      }
      value_ = *at_++;
      return RowValues(&value_, 1);
    }

   private:
    ToyServer::Rows rows_;
    ToyServer::Rows::const_iterator at_;
    std::optional<std::string_view> value_;
  };

  using ServerReader::ServerReader;
  static std::expected<ToyReader, ToyError> open(const Settings& settings) {
    auto connection = TRY(open_same_server(settings.login, settings.identity));
    return ToyReader(std::move(connection), settings);
  }

  std::expected<ToyPosition, ToyError> position() { return server().end(); }
  ToyPlanned<std::vector<std::string>> find(std::span<const std::string> wanted) {
    std::vector<std::string> found;
    for (const std::string& name : wanted) {
      if (!config::is_table_pattern(name)) {
        found.push_back(name);
      }
    }
    for (const std::string& table : server().tables()) {
      if (std::ranges::count(found, table) == 0 &&
          config::matches_any_table(wanted, table, config::NameCase::exact)) {
        found.push_back(table);
      }
    }
    return found;
  }
  ToyPlanned<ToyPlan> plan(const Target& /*target*/, const std::string& table) {
    if (std::ranges::count(server().tables(), table) == 0) {
      return std::unexpected("there is no table " + table);
    }
    return server().plan(table);
  }
  std::expected<ToyView, ToyError> open_view(const ToyPosition& from,
                                             TableSet<ToyLog>& /*tables*/,
                                             const std::stop_token& /*stop*/) {
    auto [view, rows] = server().open_view();
    if (!view.covered.covers(from)) {
      return std::unexpected(ToyError{.what = "it does not show what its log has"});
    }
    rows_ = std::move(rows);
    return view;
  }
  std::expected<TableEstimate, ToyError> size(const ToyPlan& plan) {
    return TableEstimate{.rows = rows_[plan.name].size()};
  }
  std::expected<std::optional<std::string>, ToyError> count(const ToyPlan& plan) {
    return std::to_string(rows_[plan.name].size());
  }
  std::expected<Rows, ToyError> stream(const ToyPlan& plan) { return Rows(rows_[plan.name]); }
  static bool is_somebody_waiting(const ToyPlan& /*plan*/) { return false; }

 private:
  ToyServer& server() { return connection_.server(); }

  std::map<std::string, ToyServer::Rows> rows_;
};

class ToyFollower final : public Follower {
 public:
  ToyFollower(ToyServer& server, Feeds feeds, Clock clock, Storage storage, Observer& observer)
      : server_(server),
        clock_(clock),
        storage_(storage),
        observer_(observer),
        tables_(std::move(feeds), std::move(clock), "toy") {}

  std::chrono::nanoseconds step(const std::stop_token& stop) override {
    if (!has_begun_) {
      begin();
    }
    const TimePoint at = clock_();
    const ToyPosition shown = server_.shown();
    const ToyPosition end = server_.end();
    if (server_.logs() != stream_of_) {
      begin_stream();  // and what was asked may be of either log
      return {};
    }
    tables_.log.see_committed({.position = shown});
    tables_.log.prove(at, end);
    for (auto event = server_.next(read_); event; event = server_.next(read_)) {
      ++read_;
      if (!tables_.log.apply(*event, stop)) {
        break;
      }
    }
    if (!tables_.log.why_void().empty()) {
      loader_.reset();
      writer_.reset();
      has_begun_ = false;
      return {};
    }
    if (!loader_ || loader_->has_ended()) {
      if (const auto due = tables_.loads.take_due(); !due.empty()) {
        loader_ = std::make_unique<TableLoader<ToyLog>>(reader_settings(), clock_, tables_, due);
      }
    }
    tables_.loads.tend();
    return std::chrono::microseconds(100);
  }
  void finish() override {
    loader_.reset();
    writer_.reset();
    tables_.log.expire_all();
  }
  SourceStatus status() const override { return tables_.status().read(); }
  Reached reached(std::string_view position) const override {
    return tables_.status().reached(position);
  }

 private:
  static constexpr const char* kName = "toy";
  static constexpr const char* kServer = "toy-1";

  void begin() {
    if (!take_up()) {
      const std::uint64_t end = server_.end().number();
      tables_.log.begin_at(ToyPosition(end > 0 ? end - 1 : 0));
    }
    begin_stream();
    if (storage_.directory != nullptr) {
      using Writer = CheckpointWriter<ToyLog>;
      writer_ = std::make_unique<Writer>(Writer::Settings{.source = kName,
                                                          .server = kServer,
                                                          .directory = *storage_.directory,
                                                          .every = storage_.checkpoint_every,
                                                          .observer = observer_},
                                         tables_);
    }
    has_begun_ = true;
  }
  void begin_stream() {
    stream_of_ = server_.logs();
    read_ = tables_.log.resume_position().number();
    tables_.log.reconnected({}, kServer);
  }
  bool take_up() {
    if (storage_.directory == nullptr || std::exchange(has_tried_, true)) {
      return false;
    }
    const ToyReaderSettings settings = reader_settings();
    auto reader = ToyReader::open(settings).value();
    return Restore<ToyLog>({.source = kName,
                            .directory = *storage_.directory,
                            .observer = observer_,
                            .server = kServer,
                            .is_cluster = false,
                            .max_lag = std::chrono::seconds(1)},
                           tables_,
                           reader)
        .take_up()
        .value_or(false);
  }

  ToyReaderSettings reader_settings() const {
    return {.login = {.host = &host_}, .identity = kServer};
  }

  ToyServer& server_;
  ToyHost host_{server_, kServer};
  Clock clock_;
  Storage storage_;
  Observer& observer_;
  TableSet<ToyLog> tables_;
  std::uint64_t stream_of_ = 0;
  std::uint64_t read_ = 0;
  bool has_begun_ = false;
  bool has_tried_ = false;
  std::unique_ptr<TableLoader<ToyLog>> loader_;
  std::unique_ptr<CheckpointWriter<ToyLog>> writer_;
};

}  // namespace cuckooguard::source
