#include "filled/log_reader.h"

#include <algorithm>
#include <vector>

namespace cuckooguard::filled {
namespace {

constexpr std::size_t kChainBytes = 16;

}  // namespace

LogReader::LogReader(const LogKey& key, std::string generation)
    : key_(&key), generation_(std::move(generation)), chains_{std::string(kChainBytes, '\0')} {}

LogReader::Verdict LogReader::judge(const Entry& entry) const {
  if (entry.writer.size() != kWriterBytes ||
      !is_same_tag(entry.tag, key_->tag_of(entry, generation_))) {
    return Verdict::foreign;
  }
  const std::uint64_t next = seq_ + 1;
  const auto writer = writers_.find(entry.writer);
  const bool was_there = writer != writers_.end() && entry.counter <= writer->second.counter;
  const bool may_be_forgotten = entry.after + kWindow < next;
  // Of a history that is lost.
  const bool is_from_nowhere = entry.seq == next && entry.after >= next;
  if (was_there || may_be_forgotten || is_from_nowhere) {
    return Verdict::copied;
  }
  return entry.seq == next ? Verdict::apply : Verdict::reread;
}

void LogReader::applied(const Entry& entry, std::optional<std::string_view> trace) {
  std::string chain;
  if (trace && !chains_.back().empty()) {
    Mac mac = key_->begin("chain");
    mac.add_text(chains_.back());
    mac.add_number(entry.seq);
    mac.add_text(entry.tag);
    mac.add_text(*trace);
    chain = mac.finish().substr(0, kChainBytes);
  }
  chains_.push_back(std::move(chain));
  if (chains_.size() > kChainsKept) {
    chains_.pop_front();
  }
  seq_ = entry.seq;
  tag_ = entry.tag;
  see(entry.writer, {.counter = entry.counter, .seq = seq_});
  forget_old();
}

void LogReader::begin_chain() {
  chains_ = {std::string(kChainBytes, '\0')};
}

bool LogReader::differs(const Entry& entry, std::string_view digest) const {
  const auto chain = chain_at(entry.after);
  return chain && *chain != digest;
}

std::optional<std::string_view> LogReader::chain_at(std::uint64_t seq) const {
  if (seq > seq_ || seq_ - seq >= chains_.size()) {
    return std::nullopt;
  }
  const std::string& chain = chains_[chains_.size() - 1 - (seq_ - seq)];
  return chain.empty() ? std::nullopt : std::optional<std::string_view>(chain);
}

void LogReader::see(const std::string& writer, Writer seen) {
  writers_[writer] = seen;
  seen_.emplace_back(seen.seq, writer);
}

void LogReader::forget_old() {
  while (!seen_.empty() && seen_.front().first + kWindow <= seq_) {
    const auto writer = writers_.find(seen_.front().second);
    if (writer != writers_.end() && writer->second.seq == seen_.front().first) {
      writers_.erase(writer);
    }
    seen_.pop_front();
  }
}

std::string LogReader::state() const {
  std::string out;
  put(out, seq_);
  text::put_text(out, tag_);
  text::put_text(out, chains_.back());
  put(out, static_cast<std::uint32_t>(writers_.size()));
  for (const auto& [name, writer] : writers_) {
    text::put_text(out, name);
    put(out, writer.counter);
    put(out, writer.seq);
  }
  return out;
}

bool LogReader::restore(text::LittleEndianCursor& from) {
  LogReader next(*key_, generation_);
  next.seq_ = from.take<std::uint64_t>();
  next.tag_ = from.take_text();
  next.chains_ = {std::string(from.take_text())};
  std::vector<std::pair<std::string, Writer>> writers;
  for (auto left = from.take<std::uint32_t>(); left > 0 && from.ok(); --left) {
    std::string name(from.take_text());
    Writer writer{.counter = from.take<std::uint64_t>()};
    writer.seq = from.take<std::uint64_t>();
    writers.emplace_back(std::move(name), writer);
  }
  if (!from.ok()) {
    return false;
  }
  std::ranges::sort(writers, {}, [](const auto& each) { return each.second.seq; });
  for (const auto& [name, writer] : writers) {
    next.see(name, writer);
  }
  *this = std::move(next);
  return true;
}

}  // namespace cuckooguard::filled
