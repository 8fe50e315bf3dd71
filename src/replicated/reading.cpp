// What FilterLog reads: the snapshot, and the log behind it.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "replicated/filter_log.h"
#include "text/hex.h"
#include "text/number.h"

namespace cuckooguard::replicated {

using upstream::elements_of;
using upstream::error_of;
using upstream::is_error;
using upstream::text_of;
using upstream::value_of;

namespace {

constexpr std::string_view kEntriesMax =
    "128";  // of a read; each is 256 KiB at most, or one change
constexpr std::size_t kEntriesInFullRead = 128;
constexpr std::string_view kBlock = "300";  // milliseconds
constexpr std::chrono::milliseconds kReplyWait{2300};
constexpr std::chrono::seconds kLoadReplyWait{10};
constexpr std::string_view kBegin = "0-0";

std::uint64_t number_of(std::string_view text) {
  return text::take_number<std::uint64_t>(text).value_or(0);
}

std::string text_at(const redisReply& reply, std::size_t place) {
  const auto elements = elements_of(reply);
  return place < elements.size() ? std::string(text_of(*elements[place])) : std::string();
}

// Of other fields, it is one that nobody with the key has written.
filled::Entry entry_of(const redisReply& fields) {
  const auto text = [&](const char* name) {
    const redisReply* const value = value_of(fields, name);
    return value == nullptr ? std::string() : std::string(text_of(*value));
  };
  return {.seq = number_of(text("s")),
          .writer = text("w"),
          .counter = number_of(text("c")),
          .after = number_of(text("a")),
          .body = text("b"),
          .tag = text("t")};
}

// The entries of the one stream that was asked for.
std::span<redisReply* const> entries_of(const redisReply& streams) {
  const auto all = elements_of(streams);
  const auto stream = all.empty() ? all : elements_of(*all[0]);
  return stream.size() < 2 ? std::span<redisReply* const>{} : elements_of(*stream[1]);
}

// Of a command that only a master takes. NOREPLICAS: one that is cut off from its replicas
// (min-replicas-to-write), of which another one may be the master by now. What else it may not
// write for says nothing of that.
bool tells_no_master(const redisReply& reply) {
  const std::string_view error = error_of(reply);
  return error.starts_with("READONLY ") || error.starts_with("NOREPLICAS ");
}

}  // namespace

// A guard that is redirected looks again for the log; while its slot moves, until it has moved.
std::unexpected<FilterLog::Failure> FilterLog::refused(const redisReply& error) {
  constexpr std::array<std::string_view, 4> kSentAway{"MOVED ", "ASK ", "TRYAGAIN ", "READONLY "};
  std::string why(text_of(error));
  if (std::ranges::any_of(kSentAway, [&](auto word) { return why.starts_with(word); })) {
    following_->give_up(why);
  }
  return std::unexpected(Failure{.why = std::move(why)});
}

std::shared_ptr<Reply> FilterLog::request(std::span<const std::string_view> words) {
  auto place = std::make_shared<Reply>();
  following_->send(words, [place](Reply reply) { *place = std::move(reply); });
  return place;
}

std::expected<Reply, FilterLog::Failure> FilterLog::ask(
    std::initializer_list<std::string_view> words) {
  const auto place = request(words);
  if (!await(*place, kLoadReplyWait)) {
    return std::unexpected(Failure{.why = cut()});
  }
  if (is_error(**place)) {
    return refused(**place);
  }
  return std::move(*place);
}

// Of whoever has another key, or hashes with another secret, it is another one: he would take all
// entries for forged ones, or for other items.
std::string FilterLog::proof_of(std::string_view generation) const {
  filled::Mac mac = key_.begin("generation");
  mac.add_text(generation);
  mac.add_number(filters_.hash("cuckooguard"));
  return text::hex_of(mac.finish());
}

FilterLog::Done FilterLog::load() {
  const std::string mine = text::hex_of(random_name());
  const auto begun = ask({"EVAL",
                          begin_script(),
                          "4",
                          keys_.meta,
                          keys_.log,
                          keys_.lock,
                          keys_.pieces,
                          mine,
                          proof_of(mine)});
  if (!begun) {
    return std::unexpected(begun.error());
  }
  const std::string generation = text_at(**begun, 0);
  if (!filled::is_same_tag(text_at(**begun, 1), proof_of(generation))) {
    return std::unexpected(
        Failure{.why = "it was made with another key or secret than this guard has; DEL \"" +
                       keys_.meta + "\" begins anew, without what the filters had"});
  }
  become(State::loading, "it is being read");
  is_history_proven_ = true;  // what is here will be what this Redis has
  if (const std::string line = text_at(**begun, 2); !line.empty()) {
    return load_snapshot(generation, line, text_at(**begun, 3));
  }
  filters_.clear();
  reader_ = std::make_unique<filled::LogReader>(key_, generation);
  position_ = kBegin;
  applied_id_.clear();
  entries_ = bytes_ = undigested_ = 0;
  return {};
}

FilterLog::Done FilterLog::load_snapshot(const std::string& generation,
                                         std::string_view text,
                                         std::string_view set) {
  const auto again = [](const char* why) {
    return std::unexpected(Failure{.state = State::loading, .why = why});
  };
  const auto line = SnapshotLine::read(text);
  if (!line) {
    return again("what names its snapshot was not written by a guard");
  }
  filled::Mac mac = begin_snapshot_tag(key_, generation, *line);
  std::string content;
  for (std::uint64_t i = 0; i < line->pieces(); ++i) {
    const auto piece = ask({"GET", keys_.piece(set, i)});
    if (!piece) {
      return std::unexpected(piece.error());
    }
    const std::string_view bytes = text_of(**piece);
    if (bytes.empty()) {
      ask_for_snapshot();
      return again(
          "its snapshot is not whole: it has been replaced meanwhile, or Redis has lost it; a "
          "guard that has all of it is asked for another one");
    }
    mac.add(bytes);
    content.append(bytes);
  }
  filled::LogReader reader(key_, generation);
  filled::ByteReader bytes(content);
  if (!filled::is_same_tag(mac.finish(), line->tag) || !reader.restore(bytes)) {
    tell_trouble("the snapshot of the filters in Redis is not what a guard has written");
    return again("its snapshot is not what a guard has written, or has been replaced meanwhile");
  }
  filters_.clear();  // nobody believes them, and they take room
  if (const auto restored = filters_.restore(bytes.left()); !restored) {
    return std::unexpected(Failure{.why = "its snapshot: " + restored.error()});
  }
  reader_ = std::make_unique<filled::LogReader>(std::move(reader));
  position_ = applied_id_ = line->id;
  entries_ = bytes_ = undigested_ = 0;
  return {};
}

FilterLog::Done FilterLog::round() {
  const TimePoint asked_at = io::now_since_boot();
  // Changes nothing, but only a master takes it.
  const auto written = request({"HDEL", keys_.meta, "none"});
  const auto told =
      request({"HMGET", keys_.meta, "generation", "seq", "tag", "snapshot_seq", "set", "wanted"});
  const auto last = is_history_proven_ || applied_id_.empty()
                        ? nullptr
                        : request({"XRANGE", keys_.log, applied_id_, applied_id_});
  std::vector<std::string_view> read{"XREAD", "COUNT", kEntriesMax};
  if (state_ == State::ready) {  // else nobody waits until something happens
    read.insert(read.end(), {"BLOCK", kBlock});
  }
  read.insert(read.end(), {"STREAMS", keys_.log, position_});
  const auto streams = request(read);
  if (!await(*streams, kReplyWait)) {
    return std::unexpected(Failure{.why = cut()});
  }
  if (tells_no_master(**written)) {
    return refused(**written);
  }
  for (const auto& reply : {told, last, streams}) {
    if (reply && is_error(**reply)) {
      return refused(**reply);
    }
  }
  const Meta meta = meta_of(**told);
  if (meta.generation != reader_->generation()) {
    auto anew = reread("the log in Redis has begun anew", false);
    anew.error().has_begun_anew = true;
    return anew;
  }
  if (const Done done = prove_history(last.get(), meta); !done) {
    return done;
  }
  if (const Done done = take(**streams, meta); !done) {
    return done;
  }
  note(meta, asked_at);
  if (reader_->seq() >= meta.seq) {
    proven(asked_at);
  } else if (entries_of(**streams).size() < kEntriesInFullRead) {
    return reread("entries of the log are missing in Redis: it has " +
                  std::to_string(reader_->seq()) + " of " + std::to_string(meta.seq));
  }
  return {};
}

FilterLog::Meta FilterLog::meta_of(const redisReply& reply) {
  return {.generation = text_at(reply, 0),
          .seq = number_of(text_at(reply, 1)),
          .tag = text_at(reply, 2),
          .snapshot_seq = number_of(text_at(reply, 3)),
          .set = text_at(reply, 4),
          .wants_snapshot = !text_at(reply, 5).empty()};
}

// Numbers alone do not tell: others may have written entries in place of those that were lost, with
// ids before the one that was read last here if the clock of this Redis is behind.
FilterLog::Done FilterLog::prove_history(const Reply* last, const Meta& meta) {
  if (meta.seq < reader_->seq()) {
    return reread("Redis has lost the end of the log: it has " + std::to_string(meta.seq) +
                  " entries of " + std::to_string(reader_->seq()));
  }
  const auto entries = last == nullptr ? std::span<redisReply* const>() : elements_of(**last);
  const auto parts = entries.empty() ? entries : elements_of(*entries[0]);
  if (last != nullptr && (parts.size() < 2 || entry_of(*parts[1]).tag != reader_->last_tag())) {
    const bool may_be_trimmed = meta.snapshot_seq > reader_->seq();
    return reread("Redis has another history of the log than was here", !may_be_trimmed);
  }
  is_history_proven_ = true;
  return {};
}

FilterLog::Done FilterLog::take(const redisReply& streams, const Meta& meta) {
  using Verdict = filled::LogReader::Verdict;
  std::optional<bool> is_same;  // the entry that was Redis's last one is the one that is here
  const auto compare = [&] {
    if (reader_->seq() == meta.seq) {
      is_same = reader_->last_tag() == meta.tag;
    }
  };
  compare();
  for (const redisReply* const each : entries_of(streams)) {
    const auto parts = elements_of(*each);
    if (parts.size() < 2) {
      continue;
    }
    const filled::Entry entry = entry_of(*parts[1]);
    const Verdict verdict = reader_->judge(entry);
    if (verdict == Verdict::reread) {
      return reread("after entry " + std::to_string(reader_->seq()) + " of the log comes " +
                    std::to_string(entry.seq));
    }
    ++entries_;
    bytes_ += entry.body.size();
    if (verdict == Verdict::apply) {
      if (const Done done = apply(entry); !done) {
        return done;
      }
      applied_id_ = text_of(*parts[0]);
      compare();
    } else {
      ++skipped_;
      tell_trouble(verdict == Verdict::copied
                       ? "the log in Redis has a copy of an entry, which does not count"
                       : "the log in Redis has an entry that nobody with the guards' key has "
                         "written, which does not count");
    }
    position_ = text_of(*parts[0]);
  }
  return is_same == false ? Done(reread("Redis has another history of the log than was here"))
                          : Done();
}

FilterLog::Done FilterLog::apply(const filled::Entry& entry) {
  constexpr std::chrono::minutes kDifferedEvery{1};
  auto body = filled::read_body(entry.body);
  if (!body) {
    return std::unexpected(Failure{.why = "entry " + std::to_string(entry.seq) +
                                          " is of a newer version of the guard"});
  }
  const bool is_own = entry.writer == writer_;
  if (!is_own) {  // what changes nothing is for whoever asked
    std::erase_if(body->operations, std::mem_fn(&filled::Operation::is_question));
  }
  std::vector<filled::Outcome> outcomes = filters_.apply(body->operations);
  std::optional<std::string> trace("");
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (body->operations[i].is_question()) {
      continue;
    }
    if (outcomes[i].status == filled::Outcome::Status::unknown) {
      trace.reset();
      break;
    }
    filled::put_trace(*trace, outcomes[i]);
  }
  const bool is_digest = !body->digest.empty();
  const bool differs = is_digest && reader_->differs(entry, body->digest);
  reader_->applied(entry, trace);
  undigested_ = is_digest ? 0 : undigested_ + 1;
  if (is_digest) {
    digest_at_ = io::now_since_boot();
  }
  if (is_own) {
    std::ranges::move(queue_.came_back(entry.counter, outcomes), std::back_inserter(dumps_));
  }
  if (differs) {
    const std::string why =
        "another guard's filters, or its history of the log, are not those here";
    tell_trouble(why);
    if (state_ == State::ready && io::now_since_boot() - differed_at_ > kDifferedEvery) {
      differed_at_ = io::now_since_boot();
      is_digest_due_ = true;  // it may be the other one that is wrong
      return reread(why);
    }
  }
  return {};
}

// A guard that has what is missing is asked for a snapshot.
std::unexpected<FilterLog::Failure> FilterLog::reread(const std::string& why, bool is_trouble) {
  if (is_trouble) {
    tell_trouble(why);
  }
  if (is_trouble && state_ != State::ready) {
    ask_for_snapshot();
  }
  forget();
  ++rereads_;
  return std::unexpected(Failure{.state = State::loading, .why = why});
}

void FilterLog::ask_for_snapshot() {
  following_->send({"HSET", keys_.meta, "wanted", "1"}, [](const Reply&) {});
}

void FilterLog::forget() {
  current_until_.store(0, std::memory_order_release);  // before the filters change
  reader_.reset();
  if (snapshot_) {
    snapshot_->abandon();  // its lock goes by itself
    snapshot_.reset();
    is_snapshot_begun_ = false;
  }
}

void FilterLog::note(const Meta& meta, TimePoint asked_at) {
  if (meta.snapshot_seq != meta_.snapshot_seq) {
    entries_ = reader_->seq() - std::min(reader_->seq(), meta.snapshot_seq);
    bytes_ = 0;
    const bool was_there_before = meta_at_ == TimePoint{};
    snapshot_at_ =
        meta.snapshot_seq == 0 || was_there_before ? std::nullopt : std::optional(asked_at);
  }
  meta_ = meta;
  meta_at_ = asked_at;
}

void FilterLog::proven(TimePoint asked_at) {
  current_until_.store((asked_at + settings_.max_lag).time_since_epoch().count(),
                       std::memory_order_release);
  if (state_ != State::ready) {
    ready_since_ = digest_at_ = io::now_since_boot();
    become(State::ready, "");
  }
  if (generation_ != reader_->generation()) {
    generation_ = reader_->generation();
    if (calls_.on_new_generation) {
      calls_.on_new_generation();
    }
  }
}

}  // namespace cuckooguard::replicated
