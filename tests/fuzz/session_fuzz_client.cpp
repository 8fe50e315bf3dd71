#include "session_fuzz_client.h"

#include <algorithm>
#include <utility>

#include "simulation/command_kinds.h"
#include "simulation/redis_requests.h"
#include "simulation/resp_text.h"

namespace cuckooguard::proxy {

using simulation::Parsed;
using simulation::RedisEnd;
using simulation::Request;
using simulation::SentCommand;

namespace {

// Below what the proxy streams: of a streamed command the ledger would have to know the beginning.
constexpr std::size_t kUnfinishedMax = 60'000;

// Redis refuses as soon as it has read the byte that is wrong; what stands behind it is nobody's.
std::size_t refused_prefix(std::string_view bytes) {
  std::size_t least = 1;
  std::size_t most = bytes.size();
  while (least < most) {
    const std::size_t middle = least + (most - least) / 2;
    if (simulation::next_request(bytes.substr(0, middle)).parsed == Parsed::malformed) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

// What Redis is sent of a GET is all of it; of MGET and EXISTS a part, but always the name as it
// was spelled.
std::string mark_of(const SentCommand& command) {
  return simulation::lower(command.words[0]) == "get" ? command.raw : command.words[0];
}

std::vector<FuzzedClient::Piece> pieces_of(std::string_view stream, std::size_t& taken) {
  std::vector<FuzzedClient::Piece> pieces;
  for (taken = 0; taken < stream.size();) {
    const std::string_view rest = stream.substr(taken);
    Request request = simulation::next_request(rest);
    if (request.parsed == Parsed::incomplete) {
      break;
    }
    if (request.parsed == Parsed::malformed) {
      request = {.parsed = Parsed::malformed, .consumed = refused_prefix(rest)};
    }
    pieces.push_back({{std::string(rest.substr(0, request.consumed)), std::move(request.words)},
                      request.parsed == Parsed::nothing});
    taken += request.consumed;
    if (request.parsed == Parsed::malformed) {
      break;
    }
  }
  return pieces;
}

}  // namespace

FuzzedClient::FuzzedClient(const simulation::Ledger::World& world)
    : world_(world), peer_(world.loop), ledger_(world, simulation::Standing{}) {}

void FuzzedClient::start(bool is_refused) {
  is_started_ = true;
  is_refused_ = is_refused;
  refusal_ = is_refused ? "-ERR max number of clients reached\r\n" : "";
}

void FuzzedClient::send(std::string_view bytes) {
  if (!is_talking() ||
      (!unfinished_.empty() && unfinished_.size() + bytes.size() > kUnfinishedMax)) {
    return;
  }
  loses_last_words_ = loses_last_words_ || makes_redis_close_;
  if (is_refused_ || is_malformed_) {
    ledger_.on_sent_nothing(bytes.size());
    peer_.send(bytes);
    return;
  }
  const std::string stream = unfinished_ + std::string(bytes);
  std::size_t taken = 0;
  const std::vector<Piece> pieces = pieces_of(stream, taken);
  if (!can_be_told_apart(pieces)) {
    return;
  }
  for (const Piece& piece : pieces) {
    enter(piece);
  }
  unfinished_ = stream.substr(taken);
  loses_last_words_ = loses_last_words_ || (makes_redis_close_ && !unfinished_.empty());
  if (is_malformed_) {
    ledger_.on_sent_nothing(unfinished_.size());
    unfinished_.clear();
  }
  peer_.send(bytes);
}

// And if so, the reads among them are in flight.
bool FuzzedClient::can_be_told_apart(const std::vector<Piece>& pieces) {
  const std::uint64_t settled = commands_ - ledger_.unanswered();
  std::erase_if(reads_in_flight_, [settled](const Read& read) { return read.number < settled; });
  std::vector<Read> reads = reads_in_flight_;
  std::uint64_t number = commands_;
  for (const Piece& piece : pieces) {
    if (simulation::is_answerable_read(piece.command.words)) {
      std::string mark = mark_of(piece.command);
      if (std::ranges::find(reads, mark, &Read::mark) != reads.end()) {
        return false;
      }
      reads.push_back({number, std::move(mark)});
    }
    number += piece.is_nothing ? 0 : 1;
  }
  reads_in_flight_ = std::move(reads);
  commands_ = number;
  return true;
}

void FuzzedClient::enter(const Piece& piece) {
  if (piece.is_nothing) {
    ledger_.on_sent_nothing(piece.command.raw.size());
    return;
  }
  const auto& words = piece.command.words;
  loses_last_words_ = loses_last_words_ || makes_redis_close_;
  is_malformed_ = words.empty();
  makes_redis_close_ = makes_redis_close_ || is_malformed_ || simulation::lower(words[0]) == "quit";
  ledger_.on_sent(piece.command);
}

void FuzzedClient::send(std::vector<std::string> words, bool is_inline) {
  std::uint64_t pattern = commands_;
  for (char& byte : words[0]) {
    if ((pattern & 1U) != 0) {
      byte = static_cast<char>(byte - 'A' + 'a');
    }
    pattern >>= 1U;
  }
  std::string line;
  for (const std::string& word : words) {
    line += word + " ";
  }
  // Redis takes a longer one or refuses it, as the network cuts it.
  send(is_inline && line.size() < kUnfinishedMax ? line + "\r\n" : simulation::command(words));
}

std::size_t FuzzedClient::read(std::size_t max) {
  if (!is_started_ || has_left_) {
    return 0;
  }
  const std::string bytes = peer_.read(max);
  if (is_refused_) {
    if (!refusal_.starts_with(bytes)) {
      world_.loop.fail("a client too many received something else than its refusal");
    }
    refusal_.erase(0, bytes.size());
  } else {
    ledger_.on_received(bytes);
  }
  if (peer_.unread() == 0 && (peer_.at_end() || peer_.is_reset())) {
    on_end();
  }
  return bytes.size();
}

void FuzzedClient::on_end() {
  has_left_ = true;
  const bool is_clean = peer_.at_end() && !peer_.is_reset() && !is_faulty_;
  peer_.close();
  if (is_refused_) {
    return;
  }
  if (!redis_ended_) {
    world_.loop.fail("the proxy closed a client for no reason; next: " + ledger_.describe_next());
  } else if (is_clean && !loses_last_words_ && !ledger_.has_all_of_redis()) {
    world_.loop.fail("the proxy kept back what Redis had said before it closed, of " +
                     ledger_.describe_next());
  }
}

void FuzzedClient::finish() {
  if (is_talking()) {
    has_finished_ = true;
    peer_.finish();
  }
}

void FuzzedClient::leave() {
  if (is_started_ && !has_left_) {
    has_left_ = true;
    peer_.close();
  }
}

void FuzzedClient::reset() {
  if (is_started_ && !has_left_) {
    has_left_ = true;
    peer_.reset();
  }
}

void FuzzedClient::on_redis_end(RedisEnd how) {
  redis_ended_ = true;
  ledger_.on_redis_end();
  redis_was_up_ = how != RedisEnd::unreachable;
  is_faulty_ = is_faulty_ || how != RedisEnd::orderly;
}

void FuzzedClient::check_at_rest() {
  if (!is_started_ || has_left_ || is_refused_) {
    return;
  }
  if (!ledger_.is_complete()) {
    world_.loop.fail("a client waits for a reply that does not come: " + ledger_.describe_next());
  } else if (redis_ended_ && redis_was_up_) {
    world_.loop.fail("a client's connection outlives Redis's");
  } else if (has_finished_) {
    world_.loop.fail("a client that has said all is not let go");
  }
}

}  // namespace cuckooguard::proxy
