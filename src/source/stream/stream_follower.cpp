#include "stream/stream_follower.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "debezium/envelope.h"
#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::source::stream {
namespace {

using debezium::Notification;
using debezium::Op;
using debezium::Snapshot;
using filter::State;

constexpr const char* kPlaceUnreadable = ": cannot read where it was";

// `db.schema.table` or less of it.
bool is_named(const debezium::Table& table, std::string_view name) {
  const auto take_last = [&name] {
    const std::string_view last = name.substr(name.find_last_of('.') + 1);
    name.remove_suffix(std::min(name.size(), last.size() + 1));
    return last;
  };
  bool is_named = take_last() == table.name;
  for (const std::string* const part : {&table.schema, &table.database}) {
    if (!part->empty() && !name.empty()) {
      is_named = take_last() == *part && is_named;
    }
  }
  return is_named;
}

bool are_named(const debezium::Table& table, std::string_view names) {
  while (!names.empty()) {
    if (is_named(table, text::trimmed(text::take_word(names, ','), " "))) {
      return true;
    }
  }
  return false;
}

std::uint64_t random_number(std::uint64_t most) {
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>(0, most)(device);
}

StreamFollower::Duration up_to(StreamFollower::Duration most) {
  return StreamFollower::Duration(random_number(static_cast<std::uint64_t>(most.count())));
}

}  // namespace

StreamFollower::StreamFollower(std::unique_ptr<Reader> reader,
                               FollowerSettings settings,
                               Feeds feeds,
                               Clock clock,
                               Observer& observer)
    : LookingFollower(
          std::move(feeds), std::move(clock), settings.asking, Backoff(kBackoffMin, kBackoffMax)),
      reader_(std::move(reader)),
      settings_(std::move(settings)),
      decoder_(settings_.wanted),
      observer_(observer),
      digest_(feeds_.front().target().parts.secret()) {
  for (const TablePlan& plan : settings_.plans) {
    const auto feed = std::ranges::find_if(feeds_, [&plan](const Feed& each) {
      return each.target().ns == plan.ns && each.table() == plan.table;
    });
    if (feed != feeds_.end()) {  // else its namespace has too many, and passes
      tables_.emplace_back(*feed, plan, settings_.wanted.tables[plan.wanted], digest_);
      feed->report(State::loading, "waiting for the streams");
    }
  }
  waits_.resize(tables_.size());
  asking_.refuses_strict(true);
}

StreamFollower::Duration StreamFollower::next(const std::stop_token& stop) {
  if (is_within_step_) {  // without memory: what was read by then may be lost
    numbers_.clear();
    may_restore_ = false;
    feeds_.each(&Feed::expire);
  }
  is_within_step_ = true;
  const Duration pause = take_step(stop);
  is_within_step_ = false;
  return pause;
}

StreamFollower::Duration StreamFollower::take_step(const std::stop_token& stop) {
  asking_.begin();
  auto numbers = reader_->channels();
  if (!numbers) {
    return lose(numbers.error());
  }
  const TimePoint began = clock_() - reader_->channels_age();
  if (*numbers != numbers_) {
    arrange(*std::move(numbers));
  }
  if (is_rebuild_asked() || must_begin_anew_) {
    begin_anew("reading the streams again from their beginnings");
  }
  const auto told_before = committed_;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (stop.stop_requested()) {
      return Duration::zero();
    }
    if (!read(i)) {
      return lose(trouble_);
    }
  }
  backoff_.succeeded();
  status_.following();
  if (!std::ranges::all_of(channels_, &Channel::is_at_end)) {
    return Duration::zero();
  }
  for (Channel& channel : channels_) {
    channel.may_lack_messages = false;
  }
  for (StreamedTable& table : tables_) {
    table.caught_up(std::ranges::any_of(numbers_[table.plan().topic], [this](std::size_t number) {
      return channels_[number].seen.is_replaying();
    }));
  }
  ++rounds_;
  status_.at(last_ ? last_->text() : "");
  covered_ = counts_commits_ ? told_before : std::nullopt;
  counts_commits_ = true;
  prove(began);
  keep_if_due(clock_());
  if (!settings_.signal_key.empty()) {
    ask_for_snapshots(clock_());
  }
  return settings_.poll_every;
}

// The first time it goes on where the last run was.
void StreamFollower::arrange(Reader::Channels numbers) {
  const bool is_first = std::exchange(may_restore_, false);
  numbers_ = std::move(numbers);
  channels_.clear();
  std::size_t count = 0;
  for (const auto& channels : numbers_) {
    count += channels.size();
  }
  channels_.reserve(count);
  for (std::size_t topic = 0; topic < numbers_.size(); ++topic) {
    for (std::size_t i = 0; i < numbers_[topic].size(); ++i) {
      channels_.push_back(
          {.topic = topic, .number = i, .seen = SeenChanges(kSeenMax / count, digest_)});
    }
  }
  for (StreamedTable& table : tables_) {
    for (const std::size_t channel : numbers_[table.plan().topic]) {
      channels_[channel].tables.push_back(&table);
    }
  }
  begin_anew(is_first ? "reading the streams"
                      : "reading the topics again: there are more partitions, or others");
  if (is_first && !settings_.file.empty()) {
    restore();
  }
}

void StreamFollower::begin_anew(std::string_view why) {
  must_begin_anew_ = false;
  forget_commits();
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    reader_->begin_anew(i);
    channels_[i].seen.forget();
    channels_[i].is_at_end = false;
    channels_[i].skips_to_end = channels_[i].is_torn;
    channels_[i].may_lack_messages = has_whole_topics();
  }
  for (StreamedTable& table : tables_) {
    table.begin_anew(numbers_[table.plan().topic].size(), why);
  }
}

// False: it cannot be, just now.
bool StreamFollower::read(std::size_t number) {
  Channel& channel = channels_[number];
  auto batch = reader_->read(number);
  if (!batch) {
    trouble_ = std::move(batch.error());
    return false;
  }
  channel.is_at_end = batch->is_at_end && !batch->has_gap;
  if (batch->has_gap) {
    reader_->begin_anew(number);
    channel.is_torn = channel.skips_to_end = true;
    channel.seen.forget();
    doubt(channel,
          {"messages are missing in the stream: it was trimmed before they were read, or lost"});
    return true;
  }
  if (channel.skips_to_end) {  // what is missing may be behind any of it
    channel.skips_to_end = !batch->is_at_end;
    return true;
  }
  if (!batch->is_whole || channel.is_torn) {
    for (StreamedTable* const table : channel.tables) {
      table->lacks_beginning();
    }
  }
  has_changed_ = has_changed_ || !batch->entries.empty();
  for (const Entry& entry : batch->entries) {
    take(channel, entry);
  }
  return true;
}

void StreamFollower::take(Channel& channel, const Entry& entry) {
  // Of many messages the first is told.
  const auto in_words = [&](std::string_view what) {
    return std::ranges::all_of(channel.tables, &StreamedTable::is_in_doubt)
               ? std::string()
               : fmt::format("entry {} of {}: {} ({})",
                             entry.id,
                             settings_.topics[channel.topic],
                             what,
                             shape_of(entry.message));
  };
  if (!entry.trouble.empty()) {
    doubt(channel, {in_words(entry.trouble)});
  } else if (const auto change = decoder_.decode(entry.message); change) {
    take(channel, *change);
  } else {
    doubt(channel, {in_words(change.error().what), change.error().table});
  }
}

void StreamFollower::take(Channel& channel, const Change& change) {
  if (change.op == Op::notification) {
    take(change.notification);
    return;
  }
  const bool is_row = change.table && change.op != Op::tombstone;
  if (!is_row && change.op != Op::other_table) {
    return;
  }
  if (change.snapshot == Snapshot::no) {
    note_commit(change);
    note_place(change);
  }
  if (is_row && change.origin->connector == settings_.connector) {
    take_row(channel, change);
  } else if (is_row) {
    doubt(channel,
          {fmt::format("the messages are of the connector {}, not {}",
                       name_of(change.origin->connector),
                       name_of(settings_.connector))});
  }
}

void StreamFollower::note_place(const Change& change) {
  is_streaming_ = counts_commits_;
  database_ = change.name.database;
  if (change.position && change.origin != nullptr) {
    if (!last_ || last_->origin != *change.origin) {
      last_ = {.origin = *change.origin, .position = {}};
    }
    last_->position = *change.position;
  }
}

// Nothing: nobody knows; its tables are in doubt.
std::optional<bool> StreamFollower::is_again(Channel& channel, const Change& change) {
  if (change.snapshot == Snapshot::no) {
    const auto kind = channel.seen.add(change);
    if (kind == SeenChanges::Kind::unknown && !channel.may_lack_messages) {
      channel.seen.forget();
      must_begin_anew_ = has_whole_topics();
      doubt(channel,
            {"the stream went back to a change that the guard has not seen, as of another server"});
      return std::nullopt;
    }
    return kind == SeenChanges::Kind::again;
  }
  if (change.snapshot != Snapshot::incremental) {
    forget_commits();  // it may be of an earlier time
    if (!channel.seen.snapshot_at(change)) {
      must_begin_anew_ = has_whole_topics() && !channel.may_lack_messages;
      for (StreamedTable* const table : channel.tables) {
        table->go_back("a snapshot is of an earlier time than the changes before it");
      }
    }
  }
  return false;
}

void StreamFollower::take_row(Channel& channel, const Change& change) {
  const std::optional<bool> again = is_again(channel, change);
  if (!again) {
    return;
  }
  for (StreamedTable* const table : channel.tables) {
    if (table->plan().wanted == change.table && !(*again && table->is_following())) {
      if (const auto taken = table->take(change, channel.number); !taken) {
        doubt(channel, *table, taken.error());
      }
    }
  }
}

void StreamFollower::take(const Notification& notification) {
  using Type = Notification::Type;
  if (notification.is_incremental) {
    const bool has_ended =
        notification.type == Type::completed || notification.type == Type::aborted;
    snapshot_until_ = has_ended ? TimePoint() : clock_() + kAskEvery;
  }
  if (notification.is_incremental && !notification.id.starts_with(kSignalPrefix)) {
    return;  // perhaps of some rows only
  }
  const std::string_view id = notification.is_incremental ? notification.id : "";
  if (!notification.is_incremental) {
    forget_commits();  // it may be of an earlier time
  }
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    StreamedTable& table = tables_[i];
    if (notification.type == Type::started) {
      if ((!notification.is_incremental || are_named(table.wanted(), notification.collections)) &&
          table.snapshot_begins(id) && notification.is_incremental) {
        waits_[i].not_before = clock_() + kAskEvery + up_to(kAskWithin);
      }
    } else if (notification.type == Type::completed) {
      table.snapshot_ends(id, text::number_of<std::int64_t>(notification.ms).value_or(0));
    } else if (notification.type == Type::table_scan_completed &&
               is_named(table.wanted(), notification.collection) &&
               (notification.status == "SUCCEEDED" || notification.status == "EMPTY")) {
      table.scan_ends(id, notification.rows.value_or(1));
    }
  }
}

// Of all tables of the channel, or the one that it is about.
void StreamFollower::doubt(const Channel& channel, const debezium::Refusal& refusal) {
  for (StreamedTable* const table : channel.tables) {
    if (!refusal.table || table->plan().wanted == *refusal.table) {
      doubt(channel, *table, refusal.what);
    }
  }
  if (channel.tables.empty()) {  // of notifications, perhaps
    std::ranges::for_each(tables_, &StreamedTable::forget_scan);
  }
}

// What was seen of a table that has channels of its own must count again if the stream goes back:
// nothing is known of its rows.
void StreamFollower::doubt(const Channel& channel, StreamedTable& table, std::string_view why) {
  forget_commits();
  table.doubt(why);
  const auto& numbers = numbers_[channel.topic];
  if (numbers.size() > 1) {
    for (const std::size_t number : numbers) {
      channels_[number].seen.forget();
      for (StreamedTable* const other : channels_[number].tables) {
        other->go_back("another namespace's table of this topic is in doubt");
      }
    }
  }
}

void StreamFollower::note_commit(const Change& change) {
  if (!counts_commits_) {
    return;
  }
  const bool is_ours = change.origin != nullptr && change.origin->server == settings_.server &&
                       change.origin->connector == settings_.connector;
  // Each database of SQL Server's has a log of its own (kind.cpp).
  const bool is_of_this_log = settings_.connector != debezium::Connector::sqlserver ||
                              change.name.database == settings_.wanted.tables.front().database;
  const auto since_1970 = text::number_of<std::int64_t>(change.source_ms);
  const std::chrono::milliseconds told(since_1970.value_or(-1));
  if (!is_ours || !is_of_this_log || told < std::chrono::milliseconds::zero() ||
      (committed_ && told <= committed_->at)) {
    return;
  }
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      settings_.wall_clock().time_since_epoch());
  const auto at = std::min(told, now);
  if (!committed_ || committed_->at < at) {
    committed_ = {.at = at, .round = rounds_, .heard = clock_()};
  }
}

void StreamFollower::forget_commits() {
  committed_.reset();
  covered_.reset();
  counts_commits_ = false;
  is_streaming_ = false;
}

// All that may be asked for, once one of them is due.
std::vector<std::size_t> StreamFollower::tables_to_ask_for(TimePoint now) {
  std::vector<std::size_t> asking;
  bool is_due = false;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    Wait& wait = waits_[i];
    if (!tables_[i].needs_snapshot() || now < snapshot_until_) {
      wait.due.reset();
      continue;
    }
    if (!wait.due) {
      wait.due = now + kAskAfter + up_to(kAskWithin);
    }
    if (now >= wait.not_before) {
      is_due = is_due || now >= *wait.due;
      asking.push_back(i);
    }
  }
  return is_due && is_streaming_ ? asking : std::vector<std::size_t>();
}

void StreamFollower::ask_for_snapshots(TimePoint now) {
  const auto asking = tables_to_ask_for(now);
  if (asking.empty()) {
    return;
  }
  std::set<std::string> names;  // namespaces may share a table
  for (const std::size_t i : asking) {
    names.insert(collection_of(tables_[i].wanted()));
  }
  const auto sent =
      reader_->signal(settings_.signal_key,
                      fmt::format(R"({{"id":"{}-{:016x}","type":"execute-snapshot",)"
                                  R"("data":{{"data-collections":[{}],"type":"INCREMENTAL"}}}})",
                                  kSignalPrefix,
                                  random_number(~std::uint64_t{0}),
                                  text::joined(names, ",")));
  for (const std::size_t i : asking) {
    waits_[i].due.reset();
    waits_[i].not_before = sent ? now + kAskEvery + up_to(kAskWithin) : now;
  }
  is_streaming_ = !sent;
  if (!sent) {
    report_trouble(sent.error());
  }
}

// As Debezium calls it, in quotes. Topics of Oracle leave the database out.
std::string StreamFollower::collection_of(const debezium::Table& table) const {
  std::string name =
      settings_.connector == debezium::Connector::oracle ? database_ : table.database;
  for (const std::string& each : {table.schema, table.name}) {
    name.append(name.empty() || each.empty() ? "" : ".").append(each);
  }
  return '"' + name + '"';
}

// Behind what was told of a round ago all channels have been read since.
void StreamFollower::prove(TimePoint began) {
  const TimePoint now = clock_();
  if (covered_) {
    const auto ago = settings_.wall_clock().time_since_epoch() - covered_->at;
    const TimePoint at = std::min(
        {now - std::chrono::duration_cast<std::chrono::nanoseconds>(ago), began, covered_->heard});
    status_.proven(at);
    for (StreamedTable& table : tables_) {
      table.prove(at, *covered_);
    }
    asking_.proven();
  }
  for (Feed& feed : feeds_) {
    feed.report_if_stale(now);
  }
}

StreamFollower::Duration StreamFollower::lose(std::string_view why) {
  status_.lost(why);
  for (StreamedTable& table : tables_) {
    if (table.is_following()) {
      table.feed().report(State::down, why);
    }
  }
  return backoff_.next();
}

void StreamFollower::finish() {
  LookingFollower::finish();
  if (!is_within_step_) {
    try {
      keep();
    } catch (const std::exception& trouble) {
      report_trouble(trouble.what());
    }
  }
}

void StreamFollower::report_trouble(std::string_view what) {
  observer_.on_trouble(feeds_.front().target().settings.source.from, what);
}

void StreamFollower::keep_if_due(TimePoint now) {
  if (now - kept_at_ >= settings_.keep_every) {
    keep();
    kept_at_ = now;
  }
}

void StreamFollower::keep() {
  if (settings_.file.empty() || !has_changed_ ||
      std::ranges::none_of(tables_, &StreamedTable::is_following)) {
    return;
  }
  std::vector<KeptStreams::Channel> kept;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const Channel& channel = channels_[i];
    kept.push_back({.topic = settings_.topics[channel.topic],
                    .partition = channel.number,
                    .place = reader_->place(i)});
    channel.seen.put(kept.back().seen);
  }
  const auto done = keep_streams(settings_.file, digest_.secret().id(), kept, tables_);
  if (done) {
    has_changed_ = false;
  } else {
    report_trouble(done.error());
  }
}

void StreamFollower::restore() {
  auto kept = KeptStreams::read(settings_.file, digest_.secret().id());
  if (!kept) {
    report_trouble(kept.error());
    return;
  }
  std::optional<KeptStreams>& found = *kept;
  if (found && !go_on(*found)) {
    report_trouble(settings_.file + kPlaceUnreadable);
    begin_anew("reading the streams");
  }
}

// True: nothing was left out any more.
bool StreamFollower::leave_whole_tables(std::vector<const KeptStreams::Channel*>& channels,
                                        std::vector<KeptStreams::Table*>& tables) const {
  bool is_settled = true;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const auto& numbers = numbers_[tables_[i].plan().topic];
    const auto lacks = [&channels](std::size_t number) { return channels[number] == nullptr; };
    if (tables[i] != nullptr && std::ranges::none_of(numbers, lacks)) {
      continue;
    }
    is_settled = is_settled && tables[i] == nullptr && std::ranges::all_of(numbers, lacks);
    tables[i] = nullptr;
    for (const std::size_t number : numbers) {
      channels[number] = nullptr;
    }
  }
  return is_settled;
}

// Tables of which something else is kept, or not all channels, are read anew, and so are all that
// share a channel with one. False: it cannot be understood.
bool StreamFollower::go_on(KeptStreams& kept) {
  std::vector<const KeptStreams::Channel*> channels(channels_.size());
  for (const KeptStreams::Channel& each : kept.channels) {
    const auto topic = std::ranges::find(settings_.topics, each.topic) - settings_.topics.begin();
    if (static_cast<std::size_t>(topic) < numbers_.size() &&
        each.partition < numbers_[topic].size()) {
      channels[numbers_[topic][each.partition]] = &each;
    }
  }
  std::vector<KeptStreams::Table*> tables;
  for (const StreamedTable& table : tables_) {
    const auto found =
        std::ranges::find(kept.tables, table.plan().definition, &KeptStreams::Table::definition);
    tables.push_back(found == kept.tables.end() ? nullptr : &*found);
  }
  while (!leave_whole_tables(channels, tables)) {
  }
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (channels[i] == nullptr) {
      continue;
    }
    channels_[i].may_lack_messages = false;
    text::LittleEndianCursor seen(channels[i]->seen);
    if (!reader_->go_on_at(i, channels[i]->place) || !channels_[i].seen.take(seen)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (tables[i] != nullptr) {
      tables_[i].restore(numbers_[tables_[i].plan().topic].size(),
                         std::move(tables[i]->rows),
                         std::move(tables[i]->isolated),
                         tables[i]->torn_until);
    }
  }
  return true;
}

}  // namespace cuckooguard::source::stream
