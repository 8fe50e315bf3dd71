#include "stream/stream_follower.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/number.h"

namespace cuckooguard::source::stream {
namespace {

using debezium::Op;
using debezium::Snapshot;
using filter::State;

debezium::Wanted wanted_by(const std::vector<TablePlan>& plans) {
  debezium::Wanted wanted;
  for (const TablePlan& plan : plans) {
    wanted.tables.push_back(plan.wanted);
  }
  return wanted;
}

}  // namespace

StreamFollower::StreamFollower(std::unique_ptr<Reader> reader,
                               FollowerSettings settings,
                               Feeds feeds,
                               Clock clock,
                               Asking asking)
    : LookingFollower(
          std::move(feeds), std::move(clock), asking, Backoff(kBackoffMin, kBackoffMax)),
      reader_(std::move(reader)),
      settings_(std::move(settings)),
      decoder_(wanted_by(settings_.tables)) {
  const std::size_t channels = reader_->channels().value_or(Reader::Channels()).size();
  channels_.reserve(channels);
  for (std::size_t i = 0; i < channels; ++i) {
    channels_.push_back({.seen = SeenChanges(kSeenMax / channels)});
  }
  tables_.reserve(settings_.tables.size());
  for (Feed& feed : feeds_) {
    const std::size_t number = tables_.size();
    tables_.emplace_back(feed, settings_.tables[number]);
    channels_[settings_.channels[number]].tables.push_back(&tables_.back());
    feed.report(State::loading, "waiting for a snapshot in the stream");
  }
  asking_.refuses_strict(true);
}

StreamFollower::Duration StreamFollower::next(const std::stop_token& stop) {
  asking_.begin();
  const TimePoint began = clock_();
  const bool is_asked = is_rebuild_asked();
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (is_asked || std::ranges::any_of(channels_[i].tables, &StreamedTable::wants_rows_again)) {
      begin_anew(i, "reading the stream again from its beginning");
    }
  }
  const auto told_before = committed_;
  bool is_all_read = true;
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    if (stop.stop_requested()) {
      return Duration::zero();
    }
    if (!read(i)) {
      return lose(trouble_);
    }
    is_all_read = is_all_read && channels_[i].is_at_end;
  }
  backoff_.succeeded();
  status_.following();
  if (!is_all_read) {
    return Duration::zero();
  }
  covered_ = told_before;
  prove(began);
  return settings_.poll_every;
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
  channel.is_whole = batch->is_whole;
  channel.left = batch->left;
  if (batch->has_gap) {
    begin_anew(number,
               "messages are missing in the stream: it was trimmed before they were read, "
               "or lost");
    return true;
  }
  for (const Entry& entry : batch->entries) {
    take(channel, entry);
  }
  return true;
}

void StreamFollower::take(Channel& channel, const Entry& entry) {
  if (!entry.trouble.empty()) {
    doubt(channel, entry.trouble);
    return;
  }
  const auto change = decoder_.decode(entry.message);
  if (!change) {
    const auto& refusal = change.error();
    if (refusal.table) {
      tables_[*refusal.table].doubt(refusal.what);
    } else {
      doubt(channel, refusal.what);
    }
    return;
  }
  take(channel, *change);
}

void StreamFollower::take(Channel& channel, const Change& change) {
  const bool is_row = change.table && change.op != Op::tombstone;
  if (!is_row && change.op != Op::other_table) {
    return;
  }
  if (change.snapshot == Snapshot::no) {
    note_commit(change);
    for (StreamedTable* const table : channel.tables) {
      table->log_goes_on();
    }
  }
  if (!is_row) {
    return;
  }
  if (change.origin->connector != settings_.connector) {
    doubt(channel,
          fmt::format("the messages are of the connector {}, not {}",
                      name_of(change.origin->connector),
                      name_of(settings_.connector)));
    return;
  }
  StreamedTable& table = tables_[*change.table];
  if (change.snapshot != Snapshot::no) {
    if (change.snapshot != Snapshot::incremental) {
      channel.seen.snapshot_at(change);
    }
    table.snapshot_row(change, channel.is_whole, channel.left);
    return;
  }
  switch (channel.seen.add(change)) {
    case SeenChanges::Kind::again:
      return;
    case SeenChanges::Kind::fresh:
      table.apply(change);
      return;
    case SeenChanges::Kind::unknown:
      break;
  }
  channel.seen.forget();
  doubt(channel,
        "the stream went back to a change that the guard has not seen, as of another server: let "
        "Debezium take another snapshot");
}

void StreamFollower::doubt(const Channel& channel, std::string_view why) {
  for (StreamedTable* const table : channel.tables) {
    table->doubt(why);
  }
}

void StreamFollower::note_commit(const Change& change) {
  if (const auto since_1970 = text::number_of<std::int64_t>(change.source_ms)) {
    const std::chrono::milliseconds at(*since_1970);
    committed_ = std::max(committed_.value_or(at), at);
  }
}

// Behind what was told of a round ago all channels have been read since.
void StreamFollower::prove(TimePoint began) {
  const TimePoint now = clock_();
  if (covered_) {
    const auto ago = settings_.wall_clock().time_since_epoch() - *covered_;
    const TimePoint at =
        std::min(now - std::chrono::duration_cast<std::chrono::nanoseconds>(ago), began);
    status_.proven(at);
    for (StreamedTable& table : tables_) {
      table.prove(at);
    }
    asking_.proven();
  }
  for (Feed& feed : feeds_) {
    feed.report_if_stale(now);
  }
}

void StreamFollower::begin_anew(std::size_t number, std::string_view why) {
  Channel& channel = channels_[number];
  reader_->begin_anew(number);
  channel.seen.forget();
  channel.is_at_end = false;
  for (StreamedTable* const table : channel.tables) {
    table->begin_anew(why);
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

}  // namespace cuckooguard::source::stream
