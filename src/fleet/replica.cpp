#include "fleet/replica.h"

#include <algorithm>
#include <limits>

#include "text/little_endian.h"

namespace cuckooguard::fleet {
namespace {

constexpr std::uint64_t kNoLag = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kLagMax = std::uint64_t{1} << 40U;  // ms

}  // namespace

std::string bytes_of(const Answer& answer) {
  std::string out;
  text::put(out, answer.seq);
  out += answer.nonce;
  out += answer.path;
  return out;
}

std::optional<Answer> read_answer(std::string_view bytes) {
  text::LittleEndianCursor cursor(bytes);
  Answer answer;
  answer.seq = cursor.take<std::uint64_t>();
  answer.nonce = cursor.bytes(kNonceBytes);
  if (!cursor.ok()) {
    return std::nullopt;
  }
  answer.path = cursor.rest();
  return answer;
}

std::string bytes_of(const Ask& ask) {
  std::string out = ask.nonce;
  text::put(out, ask.seq);
  text::put(out, ask.lacks);
  text::put(out, ask.lag ? static_cast<std::uint64_t>(ask.lag->count()) : kNoLag);
  text::put_text(out, std::string_view(ask.why).substr(0, Ask::kWhyMax));
  text::put(out, ask.compared);
  text::put(out, ask.hidden);
  text::put(out, static_cast<std::uint8_t>(ask.is_waiting));
  return out;
}

std::string words_of(const Ask& ask, std::uint64_t seq) {
  const std::uint64_t entries = seq - std::min(seq, ask.seq);
  const std::string lag =
      ask.lag ? "proven " + std::to_string(ask.lag->count()) + " ms ago" : "not proven yet";
  return std::to_string(entries) + " entries behind, " + lag + (ask.why.empty() ? "" : ", ") +
         ask.why;
}

std::optional<Ask> read_ask(std::string_view bytes) {
  text::LittleEndianCursor cursor(bytes);
  Ask ask;
  ask.nonce = cursor.bytes(kNonceBytes);
  ask.seq = cursor.take<std::uint64_t>();
  ask.lacks = cursor.take<TableId>();
  const auto lag = cursor.take<std::uint64_t>();
  if (lag != kNoLag) {
    ask.lag = std::chrono::milliseconds(std::min(lag, kLagMax));
  }
  ask.why = cursor.take_text();
  ask.compared = cursor.take<std::uint64_t>();
  ask.hidden = cursor.take<std::uint64_t>();
  const auto is_waiting = cursor.take<std::uint8_t>();
  ask.is_waiting = is_waiting == 1;
  return cursor.at_end() && ask.why.size() <= Ask::kWhyMax && is_waiting <= 1
             ? std::optional(std::move(ask))
             : std::nullopt;
}

void Replica::remember(std::string root) {
  if (past_.size() == kPastMax) {
    past_.pop_front();
  }
  past_.push_back({.seq = at().seq, .tag = at().tag, .root = std::move(root)});
}

std::expected<Entry, Break> Replica::take(std::string_view bytes) {
  auto entry = chain_.take(bytes);
  if (entry) {
    remember(entry->root);
  }
  return entry;
}

bool Replica::has(TableId table) const {
  const auto loaded = loaded_.find(table);
  const auto known = at().tables.find(table);
  return loaded != loaded_.end() && known != at().tables.end() && known->second.version != 0 &&
         known->second.version == loaded->second;
}

std::expected<void, Break> Replica::compare(std::uint64_t last_seq,
                                            std::string_view last_tag) const {
  if (last_seq > at().seq) {
    return {};
  }
  const auto past = std::ranges::find(past_, last_seq, &Past::seq);
  if (past == past_.end() || past->tag != last_tag) {
    return std::unexpected(
        Break{Break::Kind::fork,
              "entry " + std::to_string(last_seq) + " differs from the one applied here"});
  }
  return {};
}

std::optional<TimePoint> Replica::proven(const Answer& answer) {
  const auto past = std::ranges::find(past_, answer.seq, &Past::seq);
  return past == past_.end() || past->root.empty()
             ? std::nullopt
             : questions_.answered(answer.nonce, answer.path, past->root);
}

}  // namespace cuckooguard::fleet
