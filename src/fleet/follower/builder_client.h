// Asks builders by HTTP, at their admin servers (docs/http.md): whether the database has a row.
//
// Several are asked one after the other, first who has answered last; each has its part of the
// time.
//
// Threads:   any; calls wait, and end soon when `stop` is requested.
// Errors:    a sentence. Limits: kRowWithin; kAnswerBytesMax of an answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "fleet/layout.h"
#include "http/access.h"
#include "source/row_lookup.h"

namespace cuckooguard::fleet {

class BuilderClient {
 public:
  static constexpr std::chrono::seconds kRowWithin{2};
  static constexpr std::uint64_t kAnswerBytesMax = kPieceBytes;

  // At least one.
  BuilderClient(std::vector<config::Address> builders, const std::string& token_file)
      : builders_(std::move(builders)), token_(token_file), has_token_(!token_file.empty()) {}

  // `definition`: source::published_definition().
  source::RowAnswer look_up_row(std::string_view ns,
                                std::string_view definition,
                                std::string_view identity,
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
