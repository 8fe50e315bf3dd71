#include "filter_races/racing_clients.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "harness/deadline.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {
namespace {

using What = Request::What;
using Reply = Request::Reply;

// In every look: while a guard does not know what is there, it says that this is.
constexpr std::string_view kNobodys = "nobody's";

std::chrono::nanoseconds now() {
  return SteadyClock::now().time_since_epoch();
}

std::string item_text(std::uint32_t item) {
  return "item:" + std::to_string(item);
}

}  // namespace

std::optional<std::string> FilterClient::exchange(std::span<const std::string_view> words,
                                                  Request& request) {
  if (!connection_) {
    try {
      connection_.emplace(RawClient::to_port(port_));
    } catch (const std::runtime_error&) {  // nobody is there
      return std::nullopt;
    }
  }
  std::string reply;
  request.begin = now();
  try {
    connection_->send(command(words));
    reply = connection_->read_reply();
  } catch (const std::runtime_error&) {  // the guard has died
    connection_.reset();
  }
  request.end = now();
  return reply;
}

std::optional<Reply> FilterClient::change(What what, std::uint32_t item) {
  const RacedFilter& filter = kRacedFilters.at(filter_of(item));
  Request request{
      .what = what, .filter = filter_of(item), .item = item, .client = client_, .guard = guard_};
  const std::string text = item_text(item);
  const std::array words{
      what == What::add ? filter.add : filter.remove, filter.name, std::string_view(text)};
  const std::optional<std::string> reply = exchange(words, request);
  if (!reply) {
    return std::nullopt;
  }
  if (reply == ":1\r\n" || reply == ":0\r\n") {
    request.reply = reply == ":1\r\n" ? Reply::yes : Reply::no;
  } else {
    ++counts_
          .errors[reply->empty() ? "the connection was lost" : reply->substr(0, reply->size() - 2)];
    if (!reply->empty() && !reply->contains("may or may not have been applied")) {
      ++counts_.refused;
      return std::nullopt;
    }
    ++counts_.unknown;
  }
  history_.push_back(request);
  return request.reply;
}

bool FilterClient::look(std::span<const std::uint32_t> items) {
  const RacedFilter& filter = kRacedFilters.at(filter_of(items.front()));
  Request request{
      .what = What::look, .filter = filter_of(items.front()), .client = client_, .guard = guard_};
  std::vector<std::string> texts;
  std::ranges::transform(items, std::back_inserter(texts), item_text);
  std::vector<std::string_view> words{filter.look, filter.name, kNobodys};
  words.insert(words.end(), texts.begin(), texts.end());
  const std::string reply = exchange(words, request).value_or("");
  const std::string known = "*" + std::to_string(items.size() + 1) + "\r\n:0\r\n";
  if (!reply.starts_with(known)) {
    return false;
  }
  constexpr std::size_t kEach = 4;  // ":1\r\n"
  for (std::size_t i = 0; i < items.size(); ++i) {
    request.item = items[i];
    request.reply = reply.at(known.size() + i * kEach + 1) == '1' ? Reply::yes : Reply::no;
    history_.push_back(request);
  }
  return true;
}

RacingClients::RacingClients(std::span<const std::uint16_t> ports,
                             std::size_t each,
                             std::uint32_t first_item)
    : first_item_(first_item), failures_(ports.size() * each) {
  for (auto& last : last_added_) {
    last = kNone;
  }
  for (std::uint32_t i = 0; i < failures_.size(); ++i) {
    const auto guard = static_cast<std::uint32_t>(i % ports.size());
    clients_.push_back(std::make_unique<FilterClient>(i, guard, ports[guard]));
  }
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    threads_.emplace_back([this, i] {
      try {
        race(*clients_[i]);
      } catch (const std::exception& failure) {
        failures_[i] = failure.what();
      }
    });
  }
}

void RacingClients::stop() {
  is_over_ = true;
  for (std::thread& thread : std::exchange(threads_, {})) {
    thread.join();
  }
}

void RacingClients::race(FilterClient& client) {
  while (!is_over_) {
    const auto item = first_item_ + static_cast<std::uint32_t>(tickets_++ / kRacers);
    look_at_others(client, filter_of(item));
    change(client, What::add, item);
    last_added_.at(filter_of(item)) = item;
    client.look({{item}});
    if (!kRacedFilters.at(filter_of(item)).remove.empty()) {
      change(client, What::remove, item);
      client.look({{item}});
    }
  }
}

// Of a guard that comes back, that is what it must not have forgotten.
void RacingClients::look_at_others(FilterClient& client, std::uint32_t filter) {
  constexpr std::uint32_t kEach = kRacedFilters.size();
  if (const std::uint32_t last = last_added_.at(filter); last != kNone) {
    client.look({{last, last - (last - first_item_) / 2 / kEach * kEach}});
  }
}

void RacingClients::change(FilterClient& client, What what, std::uint32_t item) {
  const bool is_done = eventually([&] {
    ++asked_;
    const std::optional<Reply> reply = client.change(what, item);
    const bool is_acknowledged = reply && *reply != Reply::unknown;
    if (!is_acknowledged) {
      look_at_others(client, filter_of(item));
    }
    return is_acknowledged;
  });
  if (!is_done) {
    throw std::runtime_error("nobody adds or removes item " + std::to_string(item));
  }
}

}  // namespace cuckooguard::harness
