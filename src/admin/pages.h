// The pages of the admin server: a request in, a response out; no sockets.
//
//   GET  /                              the page for people (views/page/page.html), which requests
//   the next two
//   GET  /status                        everything known, as JSON (views/status.h);
//                                       ?events_after=NUMBER: newer ones only
//   GET  /history                       the last minutes of its totals (views/totals.h)
//   GET  /livez, GET /healthz           200 while every event loop turns, else 503
//   GET  /readyz                        200 while clients are accepted, else 503. Not about
//                                       databases: while one lags everything passes, and taking the
//                                       pod out of service would help nobody
//   GET  /v1/check/NAMESPACE/VALUE      404 no row has this identity, 200 it may exist
//                                       (views/check.h): {"may_exist": ..., "verdict": ...,
//                                       "reason": ...}; several values: a segment each, in the
//                                       order of the first template's placeholders, each
//                                       percent-encoded ('/' is %2F)
//   POST /v1/check/NAMESPACE            a list of identities (views/check.h) -> a list of
//                                       booleans: may it exist?
//   POST /v1/fleet/row/NAMESPACE/DEFINITION
//                                       of a guard that follows this one: whether the database has
//                                       the row whose identity is the body (app/row_desk.h):
//                                       {"row": "present"}, "absent", or "unknown" and "why"
//   GET  /v1/fleet/piece/SNAPSHOT/NUMBER
//                                       for the same: 1 MiB of a filter's file at most (fleet/)
//   POST /-/reload                      reads the configuration file again: 200 and, a line each,
//                                       what needs a restart; 422 and what is wrong: all is as
//                                       before (guard/process.h). As text, when it has ended
//   GET  /metrics                       numbers for Prometheus (views/metrics.h)
//
// 404 has one meaning only, because gateways look at nothing but the status: no row has this
// identity. An unknown page or namespace, or an unreadable identity, is 400. Other errors: 401 no
// or a wrong token, 403 a foreign Host or Origin (http/access.h), 405 with Allow, 503 unreadable
// token file; of the connection (http/server.h): 408, 413, 431, 503. Bodies are JSON: {"error":
// "unknown_namespace",
// "message": "..."}. HEAD is GET without a body.
//
// /livez, /healthz and /readyz need no token and accept any Host; `?verbose` adds details. / needs
// no token either: it contains nothing of this process, and asks people for theirs.
//
// Threads: the admin thread's. Lifetimes: its parts outlive it. Errors: responses.
// Limits: as http::Limits and views/check.h say.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "filter/epochs.h"
#include "guard/guard.h"
#include "http/access.h"
#include "http/message.h"
#include "views/check.h"
#include "views/filter_probe.h"
#include "views/model.h"
#include "views/process_state.h"
#include "views/totals.h"

namespace cuckooguard::admin {

class Pages {
 public:
  struct Parts {
    guard::Guard& guard;  // of this thread alone
    filter::Epochs::Reader& reader;
    views::ProcessState& process_state;
    http::BearerToken token;
    http::AllowedHosts hosts{};
    std::function<guard::TimePoint()> now;
  };

  explicit Pages(Parts parts) : parts_(std::move(parts)), check_(parts_.guard) {}

  http::Response answer(const http::Request& request);
  // Adds this moment to /history. Once a second.
  void remember();
  // Drops what is kept by namespace numbers, which are about to change.
  void forget();
  // From now on.
  void set_access(http::BearerToken token, http::AllowedHosts hosts) {
    parts_.token = std::move(token);
    parts_.hosts = std::move(hosts);
  }

 private:
  struct ParsedRequest {  // a request, taken apart
    std::string_view method;
    std::string_view path;                  // behind the page's own
    std::optional<std::string_view> query;  // without '?'
    std::string_view body;
    std::string_view if_none_match;
    io::TimePoint since;
  };
  static constexpr std::string_view kReads = "GET, HEAD";
  struct Page {
    std::string_view path;  // ends in '/': all below it, but of "/"
    http::Response (Pages::*answer)(const ParsedRequest&);
    std::string_view methods = kReads;  // as Allow has them; empty: `answer` looks at them
    bool needs_token = true;
    bool is_for_all = false;  // any Host and Origin: probes
  };

  static const Page* find(std::string_view path);

  http::Response page(const ParsedRequest& request);
  http::Response livez(const ParsedRequest& request);
  http::Response readyz(const ParsedRequest& request);
  http::Response check(const ParsedRequest& request);
  http::Response status(const ParsedRequest& request);
  http::Response history(const ParsedRequest& request);
  http::Response metrics(const ParsedRequest& request);
  http::Response reload(const ParsedRequest& request);
  http::Response row(const ParsedRequest& request);
  http::Response piece(const ParsedRequest& request);
  http::Response check_one(std::uint32_t ns, std::string_view path);
  http::Response check_list(std::uint32_t ns, std::string_view body);

  views::Model look();

  Parts parts_;
  views::Check check_;
  views::FilterProbe probe_;
  views::History history_;
};

}  // namespace cuckooguard::admin
