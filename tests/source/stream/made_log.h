// A database's log, and a Debezium that writes it into channels: at least once, with snapshots, and
// with everything that restarts do to it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "simulation/random.h"
#include "stream/reader.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::source::stream {

using simulation::Random;

// Rows are ids. Each change is at a place of its own.
struct Logged {
  std::size_t table = 0;
  std::optional<int> before{};
  std::optional<int> after{};
  std::int64_t committed_ms = 0;
  std::uint64_t pos = 0;
  bool is_truncate = false;
};

class MadeDatabase {
 public:
  explicit MadeDatabase(std::vector<std::string> tables)
      : tables(std::move(tables)), rows(this->tables.size()), since_(this->tables.size()) {}

  void insert(std::size_t table, int id, std::int64_t now_ms) {
    if (rows[table].insert(id).second) {
      append({.table = table, .after = id}, now_ms);
    }
  }
  void update(std::size_t table, int id, std::int64_t now_ms) {
    if (rows[table].contains(id)) {
      append({.table = table, .before = id, .after = id}, now_ms);
    }
  }
  void remove(std::size_t table, int id, std::int64_t now_ms) {
    if (rows[table].erase(id) > 0) {
      append({.table = table, .before = id}, now_ms);
    }
  }
  void truncate(std::size_t table, std::int64_t now_ms) {
    rows[table].clear();
    append({.table = table, .is_truncate = true}, now_ms);
  }
  // RESET MASTER: positions begin again.
  void reset_log() { next_pos_ = 4; }
  std::uint64_t pos() const { return next_pos_; }

  std::vector<std::string> tables;
  std::vector<std::set<int>> rows;
  std::vector<Logged> log;

 private:
  void append(Logged change, std::int64_t now_ms) {
    change.committed_ms = now_ms;
    change.pos = next_pos_;
    next_pos_ += 100;
    log.push_back(change);
  }

  std::uint64_t next_pos_ = 4;
  std::vector<std::int64_t> since_;
};

struct Written {
  std::optional<std::string> key;
  std::optional<std::string> value;
};

// A channel as a Reader's: with what was taken out in front.
struct MadeChannel {
  std::deque<Written> entries;
  std::uint64_t trimmed = 0;
  std::uint64_t added() const { return trimmed + entries.size(); }
};

class MadeDebezium {
 public:
  MadeDebezium(MadeDatabase& database, Random& random, std::size_t channels)
      : channels(channels), database_(database), random_(random) {}

  std::vector<MadeChannel> channels;
  std::uint64_t garbled_one_in = ~std::uint64_t{0};  // of the messages

  std::size_t channel_of(std::size_t table) const { return channels.size() == 1 ? 0 : table; }

  // All rows as they are now. `broken_off`: so many of them, and then it stops: false.
  bool snapshot(std::optional<std::size_t> broken_off = {}) {
    Rows all;
    for (std::size_t table = 0; table < database_.tables.size(); ++table) {
      for (const int id : database_.rows[table]) {
        all.emplace_back(table, id);
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (broken_off && i == *broken_off) {
        return false;
      }
      const auto [table, id] = all[i];
      const std::string place = source(table, database_.pos() - 1, flag_of(all, i), 0);
      write(table, "r", {std::nullopt, id}, place);
    }
    next_ = database_.log.size();
    return true;
  }
  // What the log has behind what was written last.
  void follow(std::size_t most) {
    for (; most > 0 && next_ < database_.log.size(); --most) {
      write(database_.log[next_++]);
    }
  }
  bool is_done() const { return next_ == database_.log.size(); }
  // It starts again, from further back: offsets are stored now and then.
  void restart(std::size_t oldest) { next_ -= random_.below(next_ - std::min(oldest, next_) + 1); }
  std::size_t next() const { return next_; }

  // heartbeat.action.query has written a row of a table that nobody asks for.
  void heartbeat(std::int64_t committed_ms) {
    for (MadeChannel& channel : channels) {
      add(channel,
          R"({"id":1})",
          fmt::format(R"({{"before":null,"after":{{"id":1}},"source":{},"op":"u","ts_ms":1}})",
                      source_of("heartbeat", database_.pos() - 1, "false", committed_ms)));
    }
  }

 private:
  using Rows = std::vector<std::pair<std::size_t, int>>;  // table and id
  using Images = std::pair<std::optional<int>, std::optional<int>>;

  static std::string_view flag_of(const Rows& all, std::size_t i) {
    const bool is_first = i == 0 || all[i - 1].first != all[i].first;
    const bool is_last = i + 1 == all.size() || all[i + 1].first != all[i].first;
    if (i + 1 == all.size()) {
      return "last";
    }
    if (i == 0) {
      return "first";
    }
    return is_last ? "last_in_data_collection" : is_first ? "first_in_data_collection" : "true";
  }
  std::string source_of(std::string_view table,
                        std::uint64_t pos,
                        std::string_view snapshot,
                        std::int64_t ms) const {
    return fmt::format(
        R"({{"version":"3.0.8.Final","connector":"mysql","name":"shop","ts_ms":{},"snapshot":"{}",)"
        R"("db":"inventory","table":"{}","server_id":1,"gtid":null,"file":"binlog.000001",)"
        R"("pos":{},"row":0}})",
        ms,
        snapshot,
        table,
        pos);
  }
  std::string source(std::size_t table,
                     std::uint64_t pos,
                     std::string_view snapshot,
                     std::int64_t ms) const {
    return source_of(database_.tables[table], pos, snapshot, ms);
  }
  static std::string row(std::optional<int> id) {
    return id ? fmt::format(R"({{"id":{},"name":"some name"}})", *id) : "null";
  }
  void write(const Logged& change) {
    const std::string place = source(change.table, change.pos, "false", change.committed_ms);
    if (change.is_truncate) {
      add(channels[channel_of(change.table)],
          std::nullopt,
          fmt::format(R"({{"before":null,"after":null,"source":{},"op":"t","ts_ms":1}})", place));
      return;
    }
    const std::string_view op = !change.before ? "c" : !change.after ? "d" : "u";
    write(change.table, op, {change.before, change.after}, place);
    if (op == "d") {
      add(channels[channel_of(change.table)], key_of({change.before, {}}), std::nullopt);
    }
  }
  static std::string key_of(const Images& images) {
    return fmt::format(R"({{"id":{}}})", images.second.value_or(images.first.value_or(0)));
  }
  void write(std::size_t table, std::string_view op, const Images& images, std::string_view place) {
    add(channels[channel_of(table)],
        key_of(images),
        fmt::format(R"({{"before":{},"after":{},"source":{},"op":"{}","ts_ms":1}})",
                    row(images.first),
                    row(images.second),
                    place,
                    op));
  }
  void add(MadeChannel& channel, std::optional<std::string> key, std::optional<std::string> value) {
    if (value && random_.one_in(garbled_one_in)) {
      value->resize(random_.below(value->size()));
    }
    channel.entries.push_back({.key = std::move(key), .value = std::move(value)});
  }

  MadeDatabase& database_;
  Random& random_;
  std::size_t next_ = 0;  // of the log
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
    if (state.next < channel.trimmed || state.next > channel.added()) {
      batch.has_gap = true;
      return batch;
    }
    for (std::uint64_t most = 1 + random_.below(40); most > 0 && state.next < channel.added();
         --most) {
      const Written& entry = channel.entries[state.next - channel.trimmed];
      ++state.next;
      batch.entries.push_back({.message = {entry.key, entry.value}});
    }
    batch.is_at_end = state.next == channel.added();
    return batch;
  }
  void begin_anew(std::size_t channel) override { states_[channel] = {}; }
  std::expected<Channels, std::string> channels() override {
    Channels all(states_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = {i};
    }
    return all;
  }
  std::string place(std::size_t channel) const override {
    const State& state = states_[channel];
    return fmt::format("{} {}", state.next, state.before.value_or(0));
  }
  bool go_on_at(std::size_t channel, std::string_view place) override {
    const auto next = text::number_of<std::uint64_t>(text::take_word(place));
    const auto before = text::number_of<std::uint64_t>(place);
    if (!next || !before) {
      return false;
    }
    states_[channel] = {*next, *before};
    return true;
  }

  bool is_down = false;

 private:
  struct State {
    std::uint64_t next = 0;
    std::optional<std::uint64_t> before{};
  };

  MadeDebezium& debezium_;
  Random& random_;
  std::vector<State> states_;
};

}  // namespace cuckooguard::source::stream
