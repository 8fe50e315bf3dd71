// A Debezium that writes a database's log into channels: at least once, with snapshots, and with
// everything that restarts, compaction and trimming do to it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "made_database.h"
#include "simulation/random.h"
#include "stream/reader.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::source::stream {

using simulation::Random;

struct Written {
  std::uint64_t offset = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;
};

// With what was taken out in front, and in between.
struct MadeChannel {
  std::deque<Written> entries;
  std::uint64_t trimmed = 0;
  std::uint64_t added = 0;
  std::uint64_t lost = 0;
};

// Which streams or topics there are, in this order.
struct MadeLayout {
  bool has_notifications = false;
  bool is_one_stream = false;
  std::size_t partitions = 1;  // of each table's topic
  bool is_compacted = false;
};

class MadeDebezium {
 public:
  static constexpr std::string_view kOurSignal = "cuckooguard-1";

  MadeDebezium(MadeDatabase& database,
               std::vector<std::string> tables,
               Random& random,
               MadeLayout layout,
               bool is_postgres)
      : layout(layout),
        is_postgres(is_postgres),
        database_(database),
        tables_(std::move(tables)),
        random_(random) {
    if (layout.has_notifications) {
      add_topic("notifications", 1);
    }
    if (layout.is_one_stream) {
      add_topic("all", 1);
      return;
    }
    for (const std::string& table : tables_) {
      add_topic(table, layout.partitions);
    }
    add_topic("heartbeat", 1);
  }

  MadeLayout layout;
  bool is_postgres;
  std::vector<std::string> topics;
  Reader::Channels numbers;
  std::vector<MadeChannel> channels;
  std::uint64_t garbled_one_in = ~std::uint64_t{0};  // of the messages

  std::size_t topic_of(std::size_t table) const {
    return (layout.has_notifications ? 1 : 0) + (layout.is_one_stream ? 0 : table);
  }

  // All rows as they were when the log was so long. `broken_off`: so many of them, and then it
  // stops: false.
  bool snapshot(std::size_t log_length, std::optional<std::size_t> broken_off = {}) {
    incremental_.reset();
    const MadeDatabase::Rows rows = database_.rows_at(log_length);
    std::vector<Logged> all;
    for (std::size_t table = 0; table < rows.size(); ++table) {
      for (const auto& [id, code] : rows[table]) {
        all.push_back({.table = table, .id = id, .after = code});
      }
    }
    const bool is_now = log_length == database_.log.size();
    const std::uint64_t pos = is_now ? database_.pos() - 1 : database_.log[log_length].pos - 1;
    notify("STARTED", "Initial Snapshot", "", "");
    std::size_t next = 0;
    for (std::size_t table = 0; table < rows.size(); ++table) {
      for (; next < all.size() && all[next].table == table; ++next) {
        if (broken_off && next == *broken_off) {
          return false;
        }
        const bool is_last = next + 1 == all.size() || all[next + 1].table != table;
        if (is_last) {  // Debezium holds it back, to mark it
          notify_scanned(table, rows[table].size(), "Initial Snapshot", "", "SUCCEEDED");
        }
        write("r", all[next], source_of(tables_[table], {.pos = pos}, flag_of(all, next)));
      }
      if (rows[table].empty()) {
        notify_scanned(table, rows[table].size(), "Initial Snapshot", "", "SUCCEEDED");
      }
    }
    notify("COMPLETED", "Initial Snapshot", "", "");
    next_ = log_length;
    return true;
  }
  // What the log has behind what was written last.
  void follow(std::size_t most) {
    for (; most > 0 && next_ < database_.log.size(); --most) {
      write(database_.log[next_++]);
    }
  }
  // An incremental snapshot of one table: of all its rows, if the signal is the guard's.
  void signal(std::size_t table, bool is_ours) {
    if (!incremental_) {
      incremental_ = {.table = table, .id = std::string(is_ours ? kOurSignal : "someone's")};
      const std::string list = "\"data_collections\":\"inventory." + tables_[table] + "\"";
      notify("STARTED", "Incremental Snapshot", incremental_->id, list);
    }
  }
  // Its next chunk: rows as they are now, but those that have changed since the window was opened;
  // what the log has of that time comes before.
  void read_chunk(int rows) {
    if (!incremental_) {
      return;
    }
    Incremental& now = *incremental_;
    std::set<int> changed;
    for (std::size_t i = next_; i < database_.log.size(); ++i) {
      const Logged& change = database_.log[i];
      if (change.table == now.table) {
        changed.insert(change.id);
      }
    }
    const auto& all = database_.rows[now.table];
    std::vector<Logged> chunk;
    auto row = all.lower_bound(now.from);
    for (; row != all.end() && rows > 0; ++row, --rows) {
      chunk.push_back({.table = now.table, .id = row->first, .after = row->second});
    }
    const int next = row == all.end() ? kNoMore : row->first;
    follow(database_.log.size());
    for (const Logged& each : chunk) {
      const bool is_wanted = now.id == kOurSignal || each.id % 2 == 0;
      if (is_wanted && !changed.contains(each.id)) {
        write(
            "r", each, source_of(tables_[now.table], {.pos = database_.pos() - 1}, "incremental"));
      }
    }
    now.from = next;
    if (next == kNoMore) {
      notify_scanned(now.table,
                     all.size(),
                     "Incremental Snapshot",
                     now.id,
                     all.empty() ? "EMPTY" : "SUCCEEDED");
      notify("COMPLETED", "Incremental Snapshot", now.id, "");
      incremental_.reset();
    }
  }
  bool is_done() const { return next_ == database_.log.size(); }
  // It starts again, from further back: offsets are stored now and then.
  void restart(std::size_t oldest) {
    const std::size_t back = random_.below(next_ - std::min(oldest, next_) + 1);
    next_ -= back;
    if (incremental_ && back > 0) {
      incremental_->from = std::min<int>(incremental_->from, static_cast<int>(random_.below(10)));
    }
  }
  std::size_t next() const { return next_; }

  // heartbeat.action.query has written a row of a table that nobody asks for.
  void heartbeat(std::int64_t committed_ms) {
    const Logged change{.committed_ms = committed_ms, .pos = database_.pos() - 1};
    add(channels.back(),
        R"({"id":1})",
        fmt::format(R"({{"before":null,"after":{{"id":1}},"source":{},"op":"u","ts_ms":{}}})",
                    source_of("heartbeat", change, "false"),
                    ++written_ms_));
  }

  // Messages of a key that has a later one go, up to somewhere.
  void compact() {
    for (MadeChannel& channel : channels) {
      const std::size_t until = random_.below(channel.entries.size() + 1);
      std::map<std::string, std::uint64_t> last;
      for (const Written& entry : channel.entries) {
        last[entry.key.value_or("")] = entry.offset;
      }
      std::deque<Written> left;
      for (std::size_t i = 0; i < channel.entries.size(); ++i) {
        Written& entry = channel.entries[i];
        if (i >= until || !entry.key || last[*entry.key] == entry.offset) {
          left.push_back(std::move(entry));
        }
      }
      channel.entries = std::move(left);
    }
  }
  // Redis comes back with an older file: the newest are gone, and Debezium goes on.
  void lose() {
    for (MadeChannel& channel : channels) {
      for (std::uint64_t i = random_.below(channel.entries.size() + 1); i > 0; --i) {
        channel.entries.pop_back();
        ++channel.lost;
      }
    }
  }
  // The oldest go.
  void trim() {
    for (MadeChannel& channel : channels) {
      for (std::uint64_t i = random_.below(channel.entries.size() + 1); i > 0; --i) {
        channel.trimmed = channel.entries.front().offset + 1;
        channel.entries.pop_front();
      }
    }
  }

 private:
  static constexpr int kNoMore = 1 << 20;
  struct Incremental {
    std::size_t table = 0;
    std::string id{};
    int from = 0;
  };

  void add_topic(std::string_view name, std::size_t partitions) {
    topics.emplace_back(name);
    numbers.emplace_back();
    for (std::size_t i = 0; i < partitions; ++i) {
      numbers.back().push_back(channels.size());
      channels.emplace_back();
    }
  }
  MadeChannel& channel_of(std::size_t table, int id) {
    const auto& all = numbers[topic_of(table)];
    return channels[all[static_cast<std::size_t>(id) % all.size()]];
  }
  static std::string_view flag_of(const std::vector<Logged>& all, std::size_t i) {
    const bool is_first = i == 0 || all[i - 1].table != all[i].table;
    const bool is_last = i + 1 == all.size() || all[i + 1].table != all[i].table;
    if (i + 1 == all.size()) {
      return "last";
    }
    if (i == 0) {
      return "first";
    }
    return is_last ? "last_in_data_collection" : is_first ? "first_in_data_collection" : "true";
  }
  std::string source_of(std::string_view table,
                        const Logged& change,
                        std::string_view snapshot) const {
    const std::string front = fmt::format(
        R"({{"version":"3.0.8.Final","connector":"{}","name":"shop","ts_ms":{},"snapshot":"{}",)"
        R"("db":"inventory","table":"{}",)",
        is_postgres ? "postgresql" : "mysql",
        change.committed_ms,
        snapshot,
        table);
    if (!is_postgres) {
      return front +
             fmt::format(R"("server_id":1,"file":"binlog.000001","pos":{},"row":0}})", change.pos);
    }
    const std::string commit =
        snapshot == "false" ? fmt::format(R"(\"{}\")", change.commit) : "null";
    return front + fmt::format(R"("schema":"public","sequence":"[{},\"{}\"]","lsn":{}}})",
                               commit,
                               change.pos,
                               change.pos);
  }
  static std::string row(int id, std::optional<int> code) {
    return code ? fmt::format(R"({{"id":{},"code":{},"name":"some name"}})", id, *code) : "null";
  }
  void write(const Logged& change) {
    const std::string place = source_of(tables_[change.table], change, "false");
    if (change.is_truncate) {
      add(channel_of(change.table, static_cast<int>(random_.below(10))),
          std::nullopt,
          fmt::format(R"({{"before":null,"after":null,"source":{},"op":"t","ts_ms":{}}})",
                      place,
                      ++written_ms_));
      return;
    }
    const std::string_view op = !change.before ? "c" : !change.after ? "d" : "u";
    write(op, change, place);
    if (op == "d") {
      add(channel_of(change.table, change.id), key_of(change.id), std::nullopt);
    }
  }
  static std::string key_of(int id) { return fmt::format(R"({{"id":{}}})", id); }
  void write(std::string_view op, const Logged& change, std::string_view place) {
    // PostgreSQL without REPLICA IDENTITY FULL tells of what was before at most the key.
    const std::string before = !is_postgres ? row(change.id, change.before)
                               : op == "d"
                                   ? fmt::format(R"({{"id":{},"code":0,"name":""}})", change.id)
                                   : "null";
    add(channel_of(change.table, change.id),
        key_of(change.id),
        fmt::format(R"({{"before":{},"after":{},"source":{},"op":"{}","ts_ms":{}}})",
                    before,
                    row(change.id, change.after),
                    place,
                    op,
                    ++written_ms_));
  }
  void notify_scanned(std::size_t table,
                      std::size_t rows,
                      std::string_view aggregate,
                      std::string_view id,
                      std::string_view status) {
    notify("TABLE_SCAN_COMPLETED",
           aggregate,
           id,
           fmt::format(R"("scanned_collection":"inventory.{}","total_rows_scanned":"{}",)"
                       R"("status":"{}")",
                       is_postgres ? "public." + tables_[table] : tables_[table],
                       rows,
                       status));
  }
  void notify(std::string_view type,
              std::string_view aggregate,
              std::string_view id,
              std::string_view more) {
    if (layout.has_notifications) {
      add(channels.front(),
          std::nullopt,
          fmt::format(R"({{"id":"{}","aggregate_type":"{}","type":"{}","additional_data":)"
                      R"({{"connector_name":"shop"{}{}}},"timestamp":{}}})",
                      id,
                      aggregate,
                      type,
                      more.empty() ? "" : ",",
                      more,
                      ++written_ms_));
    }
  }
  void add(MadeChannel& channel, std::optional<std::string> key, std::optional<std::string> value) {
    if (value && random_.one_in(garbled_one_in)) {
      value->resize(random_.below(value->size()));
    }
    channel.entries.push_back(
        {.offset = channel.added, .key = std::move(key), .value = std::move(value)});
    ++channel.added;
  }

  MadeDatabase& database_;
  std::vector<std::string> tables_;
  Random& random_;
  std::size_t next_ = 0;  // of the log
  std::int64_t written_ms_ = 0;
  std::optional<Incremental> incremental_;
};

class MadeReader final : public Reader {
 public:
  MadeReader(MadeDebezium& debezium, Random& random)
      : debezium_(debezium), random_(random), states_(debezium.channels.size()) {}

  std::expected<Batch, std::string> read(std::size_t number) override {
    if (is_down) {
      return std::unexpected("connection refused");
    }
    const MadeChannel& channel = debezium_.channels[number];
    State& state = states_[number];
    if (!state.before) {
      state.before = channel.trimmed;
      state.next = channel.trimmed;
    }
    Batch batch;
    batch.is_whole = *state.before == 0;
    batch.left = channel.entries.size();
    const bool has_lost = state.lost.value_or(channel.lost) != channel.lost;
    state.lost = channel.lost;
    if (state.next < channel.trimmed || state.next > channel.added || has_lost) {
      batch.has_gap = true;
      return batch;
    }
    std::uint64_t most = 1 + random_.below(40);
    for (const Written& entry : channel.entries) {
      if (entry.offset >= state.next && most > 0) {
        --most;
        state.next = entry.offset + 1;
        batch.entries.push_back({.message = {entry.key, entry.value}});
      }
    }
    const bool is_last = channel.entries.empty() || state.next > channel.entries.back().offset;
    state.next = is_last ? channel.added : state.next;
    batch.is_at_end = is_last;
    return batch;
  }
  void begin_anew(std::size_t channel) override { states_[channel] = {}; }
  // Else it does not notice what is lost.
  bool has_read_all() const {
    return std::ranges::all_of(states_, [](const State& state) { return state.lost.has_value(); });
  }
  std::expected<Channels, std::string> channels() override { return debezium_.numbers; }
  std::string place(std::size_t channel) const override {
    const State& state = states_[channel];
    return fmt::format("{} {} {}", state.next, state.before.value_or(0), state.lost.value_or(0));
  }
  bool go_on_at(std::size_t channel, std::string_view place) override {
    const auto next = text::number_of<std::uint64_t>(text::take_word(place));
    const auto before = text::number_of<std::uint64_t>(text::take_word(place));
    const auto lost = text::number_of<std::uint64_t>(place);
    if (!next || !before || !lost) {
      return false;
    }
    states_[channel] = {*next, *before, *lost};
    return true;
  }

  std::expected<void, std::string> signal(std::string_view key, std::string_view value) override {
    if (refuses_signals) {
      return std::unexpected("no such topic");
    }
    signals.push_back(fmt::format("{}={}", key, value));
    return {};
  }

  bool is_down = false;
  bool refuses_signals = false;
  std::vector<std::string> signals;

 private:
  struct State {
    std::uint64_t next = 0;
    std::optional<std::uint64_t> before{};
    std::optional<std::uint64_t> lost{};
  };

  MadeDebezium& debezium_;
  Random& random_;
  std::vector<State> states_;
};

}  // namespace cuckooguard::source::stream
