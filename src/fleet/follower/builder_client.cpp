#include "follower/builder_client.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json.hpp>
#include <boost/url/encode.hpp>
#include <boost/url/rfc/unreserved_chars.hpp>

#include "io/asio_loop.h"
#include "source/publication.h"
#include "text/try.h"
#include "upstream/connection.h"

namespace cuckooguard::fleet {
namespace {

namespace beast = boost::beast;
namespace json = boost::json;

constexpr unsigned kOk = 200;
constexpr std::string_view kNoPiece = "no_piece";  // admin/pages.cpp

// One request, and the answer to it.
class Exchange final : upstream::Connection::Owner {
 public:
  Exchange(const config::Address& to, std::string request, std::chrono::milliseconds within)
      : request_(std::move(request)), until_(loop_.now() + within) {
    parser_.body_limit(BuilderClient::kAnswerBytesMax);
    parser_.eager(true);
    config::Upstream settings;
    settings.address = to;
    settings.connect_timeout = within;
    upstream::Connection::Owner& owner = *this;
    connection_ = std::make_unique<upstream::Connection>(loop_, settings, owner);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    connection_->close();
    loop_.dispose(std::move(connection_));
  }

  // Why there is no answer.
  std::expected<void, std::string> run(const std::stop_token& stop) {
    const std::stop_callback ends(stop, [this] { loop_.stop(); });
    connection_->send(request_);
    while (!parser_.is_done() && why_.empty() && !loop_.is_stopped() && loop_.now() < until_) {
      loop_.run_one(until_);
    }
    if (parser_.is_done()) {
      return {};
    }
    return std::unexpected(!why_.empty()        ? why_
                           : loop_.is_stopped() ? "the guard is shutting down"
                                                : "no response in time");
  }
  auto take() { return parser_.release(); }

 private:
  void on_upstream_up() override {}
  void on_upstream_progress() override {}
  void on_upstream_bytes(std::string_view bytes) override {
    unread_ += bytes;
    while (!unread_.empty() && !parser_.is_done() && why_.empty()) {
      boost::system::error_code error;
      const std::size_t taken = parser_.put(boost::asio::buffer(unread_), error);
      unread_.erase(0, taken);
      if (error == beast::http::error::need_more) {
        return;
      }
      if (error) {
        why_ = error.message();
      }
    }
  }
  void on_upstream_lost() override {
    boost::system::error_code error;
    if (parser_.got_some()) {  // a body may end with the connection; nothing at all is no answer
      parser_.put_eof(error);
    }
    if (!parser_.is_done() && why_.empty()) {
      why_ = connection_->why_lost();
    }
  }

  io::AsioLoop loop_{io::BatchHooks{}};
  std::string request_;
  io::TimePoint until_;
  beast::http::response_parser<beast::http::string_body> parser_;
  std::string unread_;
  std::string why_;
  std::unique_ptr<upstream::Connection> connection_;
};

// A text in a JSON object; empty: it is not there.
std::string text_in(std::string_view body, std::string_view name) {
  boost::system::error_code error;
  const json::value said = json::parse(body, error);
  const json::value* const found =
      !error && said.is_object() ? said.get_object().if_contains(name) : nullptr;
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::string encoded(std::string_view segment) {
  return boost::urls::encode(segment, boost::urls::unreserved_chars);
}

}  // namespace

BuilderClient::Answered BuilderClient::ask(const config::Address& builder,
                                           const Request& request,
                                           std::chrono::milliseconds within,
                                           const std::stop_token& stop) const {
  namespace http = beast::http;
  http::request<http::string_body> message(
      request.is_post ? http::verb::post : http::verb::get, request.target, 11);
  message.set(http::field::host, builder.is_unix() ? "localhost" : builder.text());
  message.set(http::field::connection, "close");
  if (has_token_) {
    const auto token = token_.read();
    if (!token) {
      return std::unexpected("builder_token_file: " + token.error());
    }
    message.set(http::field::authorization, "Bearer " + *token);
  }
  if (request.is_post) {
    message.body() = request.body;
    message.prepare_payload();
  }
  std::ostringstream bytes;
  bytes << message;
  Exchange exchange(builder, std::move(bytes).str(), within);
  TRY(exchange.run(stop));
  auto answer = exchange.take();
  return Answer{.status = answer.result_int(), .body = std::move(answer.body())};
}

std::string BuilderClient::why_not(const Answered& answer) {
  return answer ? "HTTP " + std::to_string(answer->status) + ": " + text_in(answer->body, "message")
                : answer.error();
}

// Until one has said what is wanted.
template <class Hear>
void BuilderClient::ask_each(const Request& request,
                             std::chrono::milliseconds within,
                             const std::stop_token& stop,
                             const Hear& is_done) const {
  const auto until = io::now_since_boot() + within;
  const std::size_t first = first_;
  for (std::size_t i = 0; i < builders_.size() && !stop.stop_requested(); ++i) {
    const std::size_t number = (first + i) % builders_.size();
    const config::Address& builder = builders_[number];
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - io::now_since_boot()) /
                      static_cast<int>(builders_.size() - i);
    if (is_done(builder.text() + ": ", ask(builder, request, left, stop))) {
      first_ = number;
      return;
    }
  }
}

source::RowAnswer BuilderClient::look_up_row(std::string_view ns,
                                             std::string_view definition,
                                             std::string_view identity,
                                             const std::stop_token& stop) const {
  source::RowAnswer row{.why = "no builder was asked"};
  const auto hear = [&row](const std::string& who, const Answered& answer) {
    if (!answer || answer->status != kOk) {
      row.why = who + why_not(answer);
      return false;
    }
    const auto name = std::ranges::find(filter::kRowPresenceNames, text_in(answer->body, "row"));
    if (name == filter::kRowPresenceNames.end()) {
      row.why = who + "its response cannot be parsed";
      return false;
    }
    row.presence = static_cast<source::RowPresence>(name - filter::kRowPresenceNames.begin());
    row.why = row.presence == source::RowPresence::unknown ? who + text_in(answer->body, "why")
                                                           : std::string();
    return row.presence != source::RowPresence::unknown;
  };
  ask_each({.is_post = true,
            .target = "/v1/fleet/row/" + encoded(ns) + "/" + encoded(definition),
            .body = identity},
           kRowWithin,
           stop,
           hear);
  return row;
}

std::expected<std::string, BuilderClient::NoPiece> BuilderClient::piece(
    std::string_view snapshot, std::uint64_t number, const std::stop_token& stop) const {
  std::expected<std::string, NoPiece> piece = std::unexpected(NoPiece{.is_gone = true});
  const auto hear = [&piece](const std::string& who, Answered answer) {
    if (answer && answer->status == kOk) {
      piece = std::move(answer->body);
      return true;
    }
    const bool is_gone = answer && text_in(answer->body, "error") == kNoPiece;
    if (!is_gone || piece.error().why.empty()) {
      piece.error().why = who + why_not(answer);
    }
    piece.error().is_gone = piece.error().is_gone && is_gone;
    return false;
  };
  ask_each({.target = "/v1/fleet/piece/" + encoded(snapshot) + "/" + std::to_string(number)},
           kPieceWithin,
           stop,
           hear);
  return piece;
}

PieceFetch::PieceFetch(std::shared_ptr<const BuilderClient> builder,
                       std::string snapshot,
                       std::uint64_t first,
                       std::uint64_t count) {
  std::packaged_task<Fetched(const std::stop_token&)> task(
      [builder = std::move(builder), snapshot = std::move(snapshot), first, count](
          const std::stop_token& stop) -> Fetched {
        Pieces pieces;
        for (std::uint64_t i = 0; i < count; ++i) {
          pieces.push_back(TRY(builder->piece(snapshot, first + i, stop)));
        }
        return pieces;
      });
  fetched_ = task.get_future();
  thread_ =
      std::jthread([run = std::move(task)](const std::stop_token& stop) mutable { run(stop); });
}

std::optional<PieceFetch::Fetched> PieceFetch::take() {
  if (fetched_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return std::nullopt;
  }
  return fetched_.get();
}

source::RowLookup::Has BuilderRows::look(const source::Target& target,
                                         std::string_view identity,
                                         const std::stop_token& stop) {
  const source::RowAnswer answer = builder_->look_up_row(
      target.settings.name, source::published_definition(target), identity, stop);
  if (answer.presence == source::RowPresence::unknown) {
    return std::unexpected(answer.why);
  }
  return answer.presence == source::RowPresence::present;
}

}  // namespace cuckooguard::fleet
