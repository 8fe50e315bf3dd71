// Sessions in which tables of a server are read, whatever its kind is; what is asked in them.
//
// Threads: one, but interrupt(), which is any's. Errors: the Log's, if the connection is lost; a
// namespace whose tables cannot be listed passes, and says why: other tables are not held up by it.
// Limits: kListingsMax questions; then the doubt is left for the next time.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "follow/table_set.h"
#include "source/source.h"
#include "text/try.h"

namespace cuckooguard::source {

inline constexpr int kListingsMax = 1000;

template <class Log>
std::expected<void, typename Log::Error> list_tables(TableSet<Log>& tables,
                                                     typename Log::Reader& reader);

// What any Log::Reader has (table_loader.h), which derives from it. Besides:
//   find(wanted)   names of tables, of these names and patterns; a sentence or an Error
//   kUnsure        why a listing has not come to an end
template <class Log>
class ServerReader {
 public:
  using Connection = typename Log::Connection;
  using Error = typename Log::Error;
  using Settings = typename Log::ReaderSettings;
  using Listing = TableSetListing<Log>;

  // In a session that is open.
  ServerReader(Connection connection, Settings settings)
      : connection_(std::move(connection)), settings_(std::move(settings)) {}

  Connection& connection() { return connection_; }
  void interrupt() const { connection_.interrupt(); }
  std::expected<void, Error> list(TableSet<Log>& tables) {
    return list_tables(tables, static_cast<typename Log::Reader&>(*this));
  }
  std::expected<void, Error> close_view() { return connection_.run("ROLLBACK"); }
  std::expected<std::optional<std::string>, Error> count(const typename Log::Plan& plan) {
    return connection_.value(plan.count_sql());
  }
  // What has been applied of the log is visible. By default what is not yet the next proof finds.
  static std::expected<bool, Error> shows_all_of(const TableSetLog<Log>& /*log*/) { return true; }
  // Those that are followed and were not found do not exist. By default a listing has all.
  static std::expected<bool, Error> are_gone(Listing& /*listing*/,
                                             const typename Listing::Tables& /*found*/) {
    return true;
  }

 protected:
  Connection connection_;
  Settings settings_;
};

template <class Log>
std::expected<void, std::variant<std::string, typename Log::Error>> list_until_sure(
    TableSet<Log>& tables, typename Log::Reader& reader) {
  for (int i = 0; i < kListingsMax; ++i) {
    const auto doubt = tables.listing.doubt();
    if (!doubt) {
      return {};
    }
    if (!TRY(reader.shows_all_of(tables.log))) {
      continue;
    }
    typename TableSetListing<Log>::Tables found;
    for (const Target& target : tables.listing.patterned()) {
      found.push_back(TRY(reader.find(target.settings.source.tables)));
    }
    const auto are_gone = TRY(reader.are_gone(tables.listing, found));
    if (are_gone && tables.listing.set(*doubt, found)) {
      return {};
    }
  }
  typename Log::Error unsure;
  unsure.what = Log::Reader::kUnsure;
  return std::unexpected(std::move(unsure));
}

// Finds the tables that a set's patterns match, until no doubt is left, if it is time to.
template <class Log>
std::expected<void, typename Log::Error> list_tables(TableSet<Log>& tables,
                                                     typename Log::Reader& reader) {
  if (!tables.listing.is_due()) {
    return {};
  }
  const auto listed = list_until_sure(tables, reader);
  if (listed) {
    return {};
  }
  const auto* const error = std::get_if<typename Log::Error>(&listed.error());
  tables.listing.fail(words_of(listed.error()), error == nullptr || error->is_refusal());
  if (error != nullptr && error->is_lost()) {
    return std::unexpected(*error);
  }
  return {};
}

// Why a namespace's tables cannot be followed, as far as the server says so.
template <class Reader>
void check_tables(Reader& reader, const Target& target, std::vector<Refusal>& all) {
  const auto refuse = [&](const auto& answer, const std::string& table) {
    if (const auto* const why = answer ? nullptr : std::get_if<std::string>(&answer.error())) {
      all.push_back({.ns = target.settings.name, .table = table, .what = *why});
    }
  };
  const auto tables = reader.find(target.settings.source.tables);
  refuse(tables, "");
  for (const std::string& table : tables.value_or(std::vector<std::string>{})) {
    refuse(reader.plan(target, table), table);
  }
}

}  // namespace cuckooguard::source
