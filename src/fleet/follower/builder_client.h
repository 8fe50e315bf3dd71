// Asks builders by HTTP, at their admin servers (docs/http.md): whether the database has a row, and
// for pieces of snapshots that it keeps in files.
//
// Several are asked one after the other, first who has answered last; each has its part of the
// time. Nothing that they say of snapshots is believed: the manifest has the hashes.
//
// Threads:   any; calls wait, and end soon when `stop` is requested.
// Errors:    a sentence. Limits: kRowWithin, kPieceWithin; kAnswerBytesMax of an answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/config.h"
#include "fleet/layout.h"
#include "http/access.h"
#include "source/row_lookup.h"

namespace cuckooguard::fleet {

class BuilderClient {
 public:
  static constexpr std::chrono::seconds kRowWithin{2};
  static constexpr std::chrono::seconds kPieceWithin{10};
  static constexpr std::uint64_t kAnswerBytesMax = kPieceBytes;

  // At least one.
  BuilderClient(std::vector<config::Address> builders, const std::string& token_file)
      : builders_(std::move(builders)), token_(token_file), has_token_(!token_file.empty()) {}

  // `definition`: source::published_definition().
  source::RowAnswer look_up_row(std::string_view ns,
                                std::string_view definition,
                                std::string_view identity,
                                const std::stop_token& stop) const;

  struct NoPiece {
    std::string why;
    bool is_gone = false;  // no builder has it
  };
  std::expected<std::string, NoPiece> piece(std::string_view snapshot,
                                            std::uint64_t number,
                                            const std::stop_token& stop) const;

 private:
  struct Request {
    bool is_post = false;
    std::string target;
    std::string_view body{};
  };
  struct Answer {
    unsigned status = 0;
    std::string body;
  };
  using Answered = std::expected<Answer, std::string>;

  static std::string why_not(const Answered& answer);
  template <class Hear>
  void ask_each(const Request& request,
                std::chrono::milliseconds within,
                const std::stop_token& stop,
                const Hear& is_done) const;
  Answered ask(const config::Address& builder,
               const Request& request,
               std::chrono::milliseconds within,
               const std::stop_token& stop) const;

  std::vector<config::Address> builders_;
  http::BearerToken token_;
  bool has_token_;
  mutable std::atomic<std::size_t> first_{0};
};

// Some pieces of a snapshot in a row, fetched aside, until it ends.
//
// Threads: its own, and the one that has made it.
class PieceFetch {
 public:
  using Pieces = std::vector<std::string>;
  using Fetched = std::expected<Pieces, BuilderClient::NoPiece>;

  PieceFetch(std::shared_ptr<const BuilderClient> builder,
             std::string snapshot,
             std::uint64_t first,
             std::uint64_t count);

  // Once; nothing: they have yet to come.
  std::optional<Fetched> take();

 private:
  std::future<Fetched> fetched_;
  std::jthread thread_;
};

// Of a follower's namespaces.
class BuilderRows final : public source::RowLookup {
 public:
  BuilderRows(std::shared_ptr<const BuilderClient> builder, std::vector<source::Target> targets)
      : RowLookup(std::move(targets)), builder_(std::move(builder)) {}

 private:
  Has look(const source::Target& target,
           std::string_view identity,
           const std::stop_token& stop) override;

  std::shared_ptr<const BuilderClient> builder_;
};

}  // namespace cuckooguard::fleet
