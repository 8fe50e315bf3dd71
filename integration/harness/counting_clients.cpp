#include "harness/counting_clients.h"

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>
#include <utility>

#include "harness/redis_command.h"
#include "resp/reply_framer.h"

namespace cuckooguard::harness {
namespace {

// A part of them with one command at a time, a part with long pipelines.
constexpr std::array<std::size_t, 4> kDepths{1, 4, 16, 100};

// Of whole replies at the front of `bytes`: the first one's length, or 0.
std::size_t first_reply(std::string_view bytes) {
  resp::ReplyFramer framer;
  std::size_t length = 0;
  while (length < bytes.size()) {
    const resp::ReplyFramer::Piece piece = framer.next(bytes.substr(length));
    length += piece.bytes;
    if (piece.ends) {
      return length;
    }
  }
  return 0;
}

}  // namespace

CountingClients::CountingClients(std::size_t count, World world) : world_(std::move(world)) {
  for (std::size_t i = 0; i < count; ++i) {
    clients_.push_back(std::make_unique<CountingClient>());
    clients_.back()->key = "counter:" + std::to_string(i);
  }
  for (std::size_t i = 0; i < count; ++i) {
    threads_.emplace_back(
        [this, i, depth = kDepths[i % kDepths.size()]] { run(*clients_[i], depth); });
  }
}

CountingClients::~CountingClients() {
  stop();
}

void CountingClients::stop() {
  is_over_ = true;
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

std::uint64_t CountingClients::replies() const {
  return std::accumulate(
      clients_.begin(),
      clients_.end(),
      std::uint64_t{0},
      [](std::uint64_t sum, const auto& client) { return sum + client->replies; });
}

void CountingClients::run(CountingClient& client, std::size_t depth) {
  try {
    do {
      talk(client, depth);
    } while (client.failure.empty() && world_.comes_again && !is_over_);
  } catch (const std::exception& failure) {
    client.failure = failure.what();
  }
}

// Until the connection is closed, or it is over.
void CountingClients::talk(CountingClient& client, std::size_t depth) {
  RawClient connection = world_.connect();
  ++client.connections;
  std::string pipeline;
  for (std::size_t i = 0; i < depth; ++i) {
    pipeline += command({"INCR", client.key});
  }
  pipeline += command({"GET", world_.existing_key}) + command({"GET", world_.absent_key});
  std::string unread;
  std::array<char, 4096> buffer{};
  while (!is_over_ || !world_.comes_again) {
    const std::uint64_t wanted = client.replies + depth;
    bool is_open = connection.try_send(pipeline);
    // What was said before it was closed is still to be read.
    for (bool is_done = false; !is_done;) {
      const std::size_t bytes = connection.read_some(buffer);
      unread.append(buffer.data(), bytes);
      is_open = is_open && bytes > 0;
      if (!judge(client, unread)) {
        return;
      }
      if (bytes == 0 && !unread.empty()) {
        client.failure = "a reply was cut: " + shown(unread);
      }
      is_done = bytes == 0 || (client.replies == wanted && unread.empty());
    }
    if (!is_open) {
      return;
    }
  }
}

// False: a reply that cannot be.
bool CountingClients::judge(CountingClient& client, std::string& unread) const {
  while (const std::size_t length = first_reply(unread)) {
    const std::string reply = unread.substr(0, length);
    unread.erase(0, length);
    if (reply == ":" + std::to_string(client.replies + 1) + "\r\n") {
      ++client.replies;
    } else if (reply != world_.existing_reply &&
               std::ranges::find(world_.absent_replies, reply) == world_.absent_replies.end()) {
      client.failure = "received " + shown(reply) + " behind " + std::to_string(client.replies);
      return false;
    }
  }
  return true;
}

}  // namespace cuckooguard::harness
