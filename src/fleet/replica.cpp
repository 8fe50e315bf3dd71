#include "fleet/replica.h"

#include <algorithm>

#include "text/little_endian.h"

namespace cuckooguard::fleet {

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

std::expected<void, Break> Replica::compare(std::uint64_t last_seq,
                                            std::string_view last_tag) const {
  if (last_seq > at().seq) {
    return {};
  }
  const auto past = std::ranges::find(past_, last_seq, &Past::seq);
  if (past == past_.end() || past->tag != last_tag) {
    return std::unexpected(Break{
        Break::Kind::fork, "entry " + std::to_string(last_seq) + " is another one than was here"});
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
