// What a kind of source is to the rest: one entry, by which it is checked, made and asked for its
// size. Each kind has a room of its own (source/file, source/sqlite, source/mysql) that knows this
// one and no other kind; app/source_kinds.h lists them.
//
// Threads: entries are constant. check() and count_rows() block the caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "filter/questions.h"
#include "filter/sizing.h"
#include "source/asking.h"
#include "source/feeds.h"
#include "source/follower.h"
#include "source/keyed_table.h"
#include "source/origin.h"
#include "source/redis_session.h"
#include "source/row_lookup.h"
#include "source/source.h"

namespace cuckooguard::source {

// What a source is made of. `targets` are valid for the call.
struct SourceSettings {
  const config::Source& settings;
  std::span<const Target> targets;
  Observer& observer;
  Clock clock;
  Storage storage;
  OpenRedis redis{};                       // of those that read what Redis has
  filter::Questions* questions = nullptr;  // null: nobody wants any; outlives the source

  Feeds feeds() const { return {targets, observer, clock, settings.max_lag}; }
  // `automatic`: the pace where the settings name none.
  Asking asking(std::chrono::milliseconds automatic) const {
    return {questions, settings.strict_every.value_or(automatic)};
  }
  std::vector<Target> copied_targets() const { return {targets.begin(), targets.end()}; }
};

struct SourceParts {
  std::unique_ptr<Follower> follower;
  std::unique_ptr<RowLookup> rows{};  // may be null: rows cannot be asked for
};

struct TableSize {
  std::string table;  // empty: a file
  std::uint64_t rows = 0;
  bool is_estimate = false;
  filter::DeleteMode deletes = filter::DeleteMode::deferred;
  std::optional<std::uint64_t> bytes{};  // of a filter that is there already
  bool is_size_unknown = false;          // of such a one: to nobody but Redis
};

template <typename Settings>
bool is_of(const config::Source& source) {
  return std::holds_alternative<Settings>(source.kind);
}

struct SourceKind {
  std::string_view name;  // as the configuration's `type`
  bool (*is)(const config::Source& settings);
  // A server that others change meanwhile: a start asks for grants and settings, and tables are
  // read one after the other.
  bool is_server;
  // Two of these settings cannot run at once, not even while a reload replaces one by the other.
  bool (*runs_alone)(const config::Source& settings) = [](const config::Source& /*settings*/) {
    return false;
  };
  // What a source of these settings has beside another one of them, which goes on and has what
  // there can be once; it keeps nothing between runs. Null: as they are.
  config::Source (*beside)(config::Source settings) = nullptr;
  // Opens what `settings` names, and says why which targets cannot be read from it, with all
  // reasons at once. Reads no rows.
  std::vector<Refusal> (*check)(const config::Source& settings,
                                std::span<const Target> targets,
                                const Clock& clock);
  // Opens nothing yet. Refusals: the configuration itself is wrong, whatever the database is.
  std::expected<SourceParts, std::vector<Refusal>> (*make)(const SourceSettings& settings);
  // How many rows a namespace's tables have, and which filters they would be given, asked of the
  // database; in no order that means anything. Or a sentence: it cannot be reached, or a table not
  // be read.
  std::expected<std::vector<TableSize>, std::string> (*count_rows)(const config::Source& settings,
                                                                   const Target& target);
  // Those of the database that may be read, whatever the namespaces are; of a file none. Or a
  // sentence: it cannot be opened, and the SQL for an account that could.
  std::expected<std::vector<KeyedTable>, std::string> (*list_tables)(
      const config::Source& settings);
};

// `settings` are copied.
std::expected<std::unique_ptr<Source>, std::vector<Refusal>> make_source(
    const SourceKind& kind, const SourceSettings& settings);

// The pace of questions on demand of what looks at a file or a database on this machine: a look
// costs some 5 us (notes on change following, 9), half a percent of a core at this pace.
inline constexpr std::chrono::milliseconds kLookPace{1};

// A follower that reads all rows again whenever `origin` says that they have changed.
// `serves_strict`: its looks see what is committed at that time.
std::unique_ptr<Follower> make_rescan(std::unique_ptr<Origin> origin,
                                      std::chrono::nanoseconds poll_every,
                                      bool serves_strict,
                                      const SourceSettings& settings);

}  // namespace cuckooguard::source
