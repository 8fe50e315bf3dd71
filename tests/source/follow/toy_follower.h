// A session that reads a toy log's database, and what follows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "follow/checkpoint_writer.h"
#include "follow/restore.h"
#include "follow/table_loader.h"
#include "follow/table_set.h"
#include "source/follow/toy_applier.h"
#include "source/follow/toy_log.h"
#include "source/follow/toy_server.h"
#include "source/follower.h"

namespace cuckooguard::source {

class ToyReader {
 public:
  struct Settings {
    ToyServer* server;
  };
  class Stream {
   public:
    explicit Stream(ToyServer::Rows rows) : rows_(std::move(rows)), at_(rows_.begin()) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    Stream(Stream&& other) noexcept : rows_(std::move(other.rows_)), at_(rows_.begin()) {}
    Stream& operator=(Stream&&) = delete;
    ~Stream() = default;

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

  explicit ToyReader(Settings settings) : server_(settings.server) {}
  static std::expected<ToyReader, ToyError> open(Settings settings) { return ToyReader(settings); }

  std::expected<ToyPosition, ToyError> position() { return server_->end(); }
  static std::expected<void, ToyError> list(TableSet<ToyLog>& /*tables*/) { return {}; }
  std::expected<ToyPlan, std::variant<std::string, ToyError>> plan(const Target& /*target*/,
                                                                   const std::string& table) {
    return server_->plan(table);
  }
  std::expected<ToyView, ToyError> open_view(const ToyPosition& from,
                                             TableSet<ToyLog>& /*tables*/,
                                             const std::stop_token& /*stop*/) {
    auto [view, rows] = server_->open_view();
    if (!view.covered.covers(from)) {
      return std::unexpected(ToyError{.what = "it does not show what its log has"});
    }
    rows_ = std::move(rows);
    return view;
  }
  static std::expected<void, ToyError> close_view() { return {}; }
  std::expected<TableEstimate, ToyError> size(const ToyPlan& plan) {
    return TableEstimate{.rows = rows_[plan.name].size()};
  }
  std::expected<std::optional<std::string>, ToyError> count(const ToyPlan& plan) {
    return std::to_string(rows_[plan.name].size());
  }
  std::expected<Stream, ToyError> stream(const ToyPlan& plan) { return Stream(rows_[plan.name]); }
  static bool is_somebody_waiting(const ToyPlan& /*plan*/) { return false; }
  void interrupt() const {}

 private:
  ToyServer* server_;
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
        loader_ = std::make_unique<TableLoader<ToyLog>>(
            ToyReader::Settings{.server = &server_}, clock_, tables_, due);
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
    ToyReader reader({.server = &server_});
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

  ToyServer& server_;
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
