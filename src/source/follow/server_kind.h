// What a kind of server is to the rest (source/source_kind.h), made of what its traits say.
//
// A `Kind` has, of its own:
//   Log, Config                      config::MysqlSource, say
//   kBeginReading                    SQL by which a transaction begins that shows one moment
//   following(making)                the follower's settings, but for what all kinds have
//   reader_settings(config)          a reader's, but for the server
//   first_login(config)              of whom an account that fails is told
//   connect(config)                  a connection, or a sentence
//   account_sql(config, refusal)     an account that could connect
//   keyed_tables(connection, config) all that the account may see
//   rows_like(connection, target, plan, identity)
//                                    those equal to it, and perhaps others, RowLookup::kRowsMax at
//                                    most; nothing: no row can have it
//
// Threads, errors: as in source_kind.h and row_lookup.h.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "follow/followed_server.h"
#include "follow/log_feed.h"
#include "source/filter_load.h"
#include "source/row_lookup.h"
#include "source/source_kind.h"
#include "text/try.h"

namespace cuckooguard::source {

// Asks the server that is followed for rows (source/row_lookup.h).
template <class Kind>
class ServerRowLookup final : public RowLookup {
 public:
  using Log = typename Kind::Log;
  using Reader = typename Log::Reader;
  // A connection to the server, for one question.
  using Open = std::function<std::expected<typename Log::Connection, std::string>()>;

  // `settings`: but for the server.
  ServerRowLookup(Open open, typename Reader::Settings settings, std::vector<Target> targets)
      : RowLookup(std::move(targets)), open_(std::move(open)), settings_(std::move(settings)) {}

  static Open opening(std::shared_ptr<const FollowedServer<typename Log::Login>> followed) {
    return [followed = std::move(followed)]() -> std::invoke_result_t<Open> {
      auto server = followed->known();
      if (!server) {
        return std::unexpected("the guard does not follow a server yet");
      }
      server->login.timeout = kTimeout;
      return in_words(open_same_server(server->login, server->identity));
    };
  }

 private:
  Has look(const Target& target, std::string_view identity, const std::stop_token& stop) override {
    auto connection = TRY(open_());
    Reader reader(std::move(connection), settings_);
    const std::stop_callback wake(stop, [&reader] { reader.interrupt(); });
    for (const char* const sql : Kind::kBeginReading) {
      TRY(in_words(reader.connection().run(sql)));
    }
    const auto tables = TRY(in_words(reader.find(target.settings.source.tables)));
    for (const std::string& table : tables) {
      const Has has = table_has(reader, target, table, identity);
      if (!has || *has) {
        return has;
      }
    }
    return false;
  }

  Has table_has(Reader& reader,
                const Target& target,
                const std::string& table,
                std::string_view identity) {
    const auto plan = TRY(in_words(reader.plan(target, table)));
    auto rows = Kind::rows_like(reader.connection(), target, plan, identity);
    if (!rows) {
      return false;
    }
    if (!*rows) {
      return std::unexpected(rows->error().what);
    }
    const auto places = places_in(plan.needed(), plan.condition_columns);
    for (std::size_t seen = 0; seen < kRowsMax; ++seen) {
      const auto row = TRY(in_words((*rows)->next()));
      if (!row) {
        return false;
      }
      if (plan.condition.holds(*row, places) &&
          is_it(target, LogFeed<Log>::identity(plan, *row), identity)) {
        return true;
      }
    }
    return std::unexpected("too many rows compare equal to it");
  }

  Open open_;
  typename Reader::Settings settings_;
};

template <class Kind>
struct ServerKind {
  using Log = typename Kind::Log;
  using Config = typename Kind::Config;

  static const Config& own(const config::Source& settings) {
    return std::get<Config>(settings.kind);
  }

  static std::expected<SourceParts, std::vector<Refusal>> make(const SourceSettings& making) {
    typename Log::FollowerSettings following = Kind::following(making);
    following.name = making.settings.name;
    following.max_lag = making.settings.max_lag;
    following.storage = making.storage;
    following.observer = &making.observer;
    following.followed = std::make_shared<FollowedServer<typename Log::Login>>();
    auto rows =
        std::make_unique<ServerRowLookup<Kind>>(ServerRowLookup<Kind>::opening(following.followed),
                                                Kind::reader_settings(own(making.settings)),
                                                making.copied_targets());
    return SourceParts{.follower = std::make_unique<typename Log::Follower>(
                           std::move(following), making.feeds(), making.clock),
                       .rows = std::move(rows)};
  }

  static std::unique_ptr<RowLookup> rows(const config::Source& settings,
                                         std::span<const Target> targets) {
    return std::make_unique<ServerRowLookup<Kind>>(
        [config = own(settings)] { return Kind::connect(config); },
        Kind::reader_settings(own(settings)),
        std::vector<Target>(targets.begin(), targets.end()));
  }

  static Reached reached(std::string_view position, std::string_view wanted) {
    using Position = typename Log::Position;
    const auto here = Position::parse(position, std::nullopt);
    const auto there = here ? Position::parse(wanted, here->flavor()) : std::nullopt;
    if (!there) {
      return Reached::not_a_position;
    }
    return here->covers(*there) ? Reached::yes : Reached::not_yet;
  }

  static std::expected<std::vector<TableSize>, std::string> count_rows(
      const config::Source& settings, const Target& target) {
    auto connection = TRY(Kind::connect(own(settings)));
    typename Log::Reader reader(std::move(connection), Kind::reader_settings(own(settings)));
    const auto tables = TRY(in_words(reader.find(target.settings.source.tables)));
    std::vector<TableSize> sizes;
    for (const std::string& table : tables) {
      const auto plan = TRY(in_words(reader.plan(target, table)));
      const auto size = TRY(in_words(size_of_table(reader.connection(), plan)));
      sizes.push_back(
          {.table = plan.name,
           .rows = size.rows,
           .is_estimate = true,
           .deletes = chosen_deletes(target.settings.filter.deletes, plan.identity_is_unique)});
    }
    return sizes;
  }

  static std::expected<std::vector<KeyedTable>, std::string> list_tables(
      const config::Source& source) {
    const Config& settings = own(source);
    auto connection = Log::Connection::open(Kind::first_login(settings));
    if (!connection) {
      const auto& error = connection.error();
      return std::unexpected(
          error.is_refusal() ? error.what + "\n" + Kind::account_sql(settings, error) : error.what);
    }
    return in_words(Kind::keyed_tables(*connection, settings));
  }
};

}  // namespace cuckooguard::source
