#include "admin/pages.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <boost/json.hpp>

#include "text/number.h"
#include "text/printable.h"
#include "text/utf8.h"
#include "views/metrics.h"
#include "views/page_text.h"
#include "views/status.h"

namespace cuckooguard::admin {
namespace {

namespace json = boost::json;
using http::refusal;
using http::Response;

constexpr std::string_view kPost = "POST";

Response of_json(unsigned status, const json::value& body) {
  return {.status = status, .body = json::serialize(body) + "\n"};
}

bool is_one_of(std::string_view method, std::string_view methods) {
  return methods == kPost ? method == kPost : method == "GET" || method == "HEAD";
}

Response not_allowed(std::string_view methods) {
  Response response = refusal(405, "method_not_allowed", "This page does not support this method.");
  response.allow = methods;
  return response;
}

std::optional<Response> refusal_of(http::BearerToken::Verdict verdict) {
  using Verdict = http::BearerToken::Verdict;
  switch (verdict) {
    case Verdict::allowed:
      return std::nullopt;
    case Verdict::unreadable:
      return refusal(503, "no_token", "The guard cannot read admin.token_file.");
    case Verdict::missing:
    case Verdict::wrong:
      break;
  }
  Response response = refusal(401,
                              "unauthorized",
                              verdict == Verdict::missing
                                  ? "This page requires the header 'Authorization: Bearer TOKEN'."
                                  : "This is not the token in admin.token_file.");
  response.challenge = "Bearer realm=\"cuckooguard\"";
  return response;
}

}  // namespace

const Pages::Page* Pages::find(std::string_view path) {
  static constexpr auto kPages = std::to_array<Page>(
      {{.path = "/", .answer = &Pages::page, .needs_token = false},
       {.path = "/livez", .answer = &Pages::livez, .needs_token = false, .is_for_all = true},
       {.path = "/healthz", .answer = &Pages::livez, .needs_token = false, .is_for_all = true},
       {.path = "/readyz", .answer = &Pages::readyz, .needs_token = false, .is_for_all = true},
       {.path = "/v1/check/", .answer = &Pages::check, .methods = {}},
       {.path = "/v1/fleet/row/", .answer = &Pages::row, .methods = kPost},
       {.path = "/v1/fleet/piece/", .answer = &Pages::piece},
       {.path = "/-/reload", .answer = &Pages::reload, .methods = kPost},
       {.path = "/status", .answer = &Pages::status},
       {.path = "/history", .answer = &Pages::history},
       {.path = "/metrics", .answer = &Pages::metrics}});
  const auto* const found = std::ranges::find_if(kPages, [&](const Page& page) {
    const bool has_below = page.path.size() > 1 && page.path.ends_with('/');
    return has_below ? path.starts_with(page.path) : path == page.path;
  });
  return found == kPages.end() ? nullptr : found;
}

// Without the token nobody learns which pages exist, and which methods they have.
Response Pages::answer(const http::Request& request) {
  const auto target = http::parse_target(request.target);
  if (!target) {
    return refusal(400, "bad_target", "The request's target is not a path.");
  }
  const Page* const page = find(target->path);
  if ((page == nullptr || !page->is_for_all) &&
      !parts_.hosts.may_ask(request.host, request.origin)) {
    return refusal(403,
                   "foreign_host",
                   "The request's host is not listed in admin.hosts, or the request comes from "
                   "another site's page.");
  }
  if (page == nullptr || page->needs_token) {
    if (auto refused = refusal_of(parts_.token.judge(request.authorization))) {
      return *std::move(refused);
    }
  }
  if (page == nullptr) {
    return refusal(
        400, "unknown_page", "This page does not exist (404 is reserved for /v1/check).");
  }
  if (!page->methods.empty() && !is_one_of(request.method, page->methods)) {
    return not_allowed(page->methods);
  }
  const filter::EpochScope reading(parts_.reader);
  return (this->*page->answer)({.method = request.method,
                                .path = target->path.substr(page->path.size()),
                                .query = target->query,
                                .body = request.body,
                                .if_none_match = request.if_none_match,
                                .since = request.since});
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): find() has pointers to members
Response Pages::page(const ParsedRequest& request) {
  const views::PageText& text = views::page_text();
  Response response{.content_type = "text/html; charset=utf-8",
                    .etag = text.etag,
                    .content_security_policy = text.content_security_policy};
  if (request.if_none_match == text.etag) {
    response.status = http::kNotModified;
  } else {
    response.body = text.html;
  }
  return response;
}

Response Pages::livez(const ParsedRequest& request) {
  json::array stalled;
  const guard::TimePoint now = parts_.now();
  for (views::Heartbeat& heartbeat : parts_.process_state.heartbeats) {
    if (!heartbeat.is_alive(now)) {
      stalled.emplace_back(heartbeat.name());
    }
  }
  const bool is_live = stalled.empty();
  json::object body{{"live", is_live}};
  if (!is_live || http::parameter(request.query, "verbose")) {
    body["stalled_loops"] = std::move(stalled);
  }
  return of_json(is_live ? 200 : 503, body);
}

// NOLINTNEXTLINE(readability-make-member-function-const): find() has pointers to members
Response Pages::readyz(const ParsedRequest& request) {
  const views::ProcessState& process_state = parts_.process_state;
  const bool is_listening = process_state.is_listening.load(std::memory_order_relaxed);
  const bool is_draining = process_state.is_draining.load(std::memory_order_relaxed);
  const bool is_ready = is_listening && !is_draining;
  json::object body{{"ready", is_ready}};
  if (!is_ready || http::parameter(request.query, "verbose")) {
    body["listening"] = is_listening;
    body["draining"] = is_draining;
    const guard::Guard::Parts& guarded = parts_.guard.parts();
    json::object states;
    for (std::uint32_t ns = 0; ns < guarded.namespaces.size(); ++ns) {
      states[guarded.keyspace.name(ns)] =
          filter::state_name(guarded.namespaces[ns].filter->state());
    }
    body["namespaces"] = std::move(states);
  }
  return of_json(is_ready ? 200 : 503, body);
}

views::Model Pages::look() {
  static const guard::Process kUnknown;
  const guard::Guard::Parts& guarded = parts_.guard.parts();
  const guard::TimePoint now = parts_.now();
  probe_.look(guarded.namespaces, now);
  return {.guarded = guarded,
          .process = guarded.process != nullptr ? *guarded.process : kUnknown,
          .redis = parts_.guard.facts(),
          .process_state = parts_.process_state,
          .now = now,
          .probe = &probe_};
}

void Pages::remember() {
  const filter::EpochScope reading(parts_.reader);
  history_.add(views::totals_of(look()));
}

void Pages::forget() {
  probe_ = views::FilterProbe();
  history_ = views::History();
}

Response Pages::status(const ParsedRequest& request) {
  const std::string number = http::parameter(request.query, "events_after").value_or("");
  std::uint64_t events_after = 0;
  std::from_chars(number.data(), number.data() + number.size(), events_after);
  return {.body = views::status_json(look(), events_after)};
}

// NOLINTNEXTLINE(readability-make-member-function-const): find() has pointers to members
Response Pages::history(const ParsedRequest& /*request*/) {
  return {.body = history_.json()};
}

Response Pages::metrics(const ParsedRequest& /*request*/) {
  return {.body = views::metrics_text(look()), .content_type = views::kMetricsType};
}

// NOLINTNEXTLINE(readability-make-member-function-const): find() has pointers to members
Response Pages::reload(const ParsedRequest& request) {
  const guard::Process* const process = parts_.guard.parts().process;
  if (process == nullptr || process->reloads == nullptr) {
    return refusal(503, "no_configuration", "This guard has no configuration file.");
  }
  const auto outcome = process->reloads->outcome(request.since, "http");
  if (!outcome) {
    return {.is_to_come = true};
  }
  const bool is_loaded = outcome->errors.empty();
  std::string body(is_loaded ? "The configuration was reloaded.\n"
                             : "Reload failed; the previous configuration stays active:\n");
  if (is_loaded && outcome->is_unchanged) {
    body += "no setting has changed\n";
  }
  for (const std::string& error : outcome->errors) {
    body += error + "\n";
  }
  for (const std::string& setting :
       is_loaded ? outcome->needs_restart : std::vector<std::string>()) {
    body += "needs a restart: " + setting + "\n";
  }
  return {
      .status = is_loaded ? 200U : 422U, .body = std::move(body), .content_type = http::kPlainText};
}

// NOLINTNEXTLINE(readability-make-member-function-const): find() has pointers to members
Response Pages::row(const ParsedRequest& request) {
  const auto segments = http::decoded_segments(request.path);
  if (!segments || segments->size() != 2) {
    return refusal(
        400, "bad_row", "Ask for a row by its namespace and the namespace's definition.");
  }
  const guard::Process* const process = parts_.guard.parts().process;
  if (process == nullptr || process->rows == nullptr) {
    return refusal(503, "no_source", "This guard has no source in which it could look up rows.");
  }
  const auto answer = process->rows->ask({.ns = segments->front(),
                                          .definition = segments->back(),
                                          .identity = std::string(request.body),
                                          .since = request.since});
  if (!answer) {
    return {.is_to_come = true};
  }
  json::object body{{"row", name_of(answer->presence)}};
  if (!answer->why.empty()) {
    body["why"] = text::is_utf8(answer->why) ? answer->why : text::printable(answer->why, 1000);
  }
  return of_json(200, body);
}

// NOLINTNEXTLINE(readability-make-member-function-const): find() has pointers to members
Response Pages::piece(const ParsedRequest& request) {
  const auto segments = http::decoded_segments(request.path);
  const auto number = segments && segments->size() == 2
                          ? text::number_of<std::uint32_t>(segments->back())
                          : std::nullopt;
  const guard::Process* const process = parts_.guard.parts().process;
  auto bytes = number && process != nullptr && process->sources != nullptr
                   ? process->sources->piece(segments->front(), *number)
                   : std::nullopt;
  return bytes ? Response{.body = *std::move(bytes), .content_type = "application/octet-stream"}
               : refusal(400, "no_piece", "This guard does not have this piece of a snapshot.");
}

// A '?' or '#' that was not encoded would cut the identity short, and another row's be judged.
Response Pages::check(const ParsedRequest& request) {
  if (request.query || request.path.find('#') != std::string_view::npos) {
    return refusal(400, "bad_identity", "In an identity write '?' as %3F and '#' as %23.");
  }
  const std::size_t slash = request.path.find('/');
  const auto name = http::decoded_segments(request.path.substr(0, slash));
  const auto ns = name ? parts_.guard.parts().keyspace.find(name->front()) : std::nullopt;
  if (!ns) {
    return refusal(400, "unknown_namespace", "The configuration has no namespace of this name.");
  }
  if (slash == std::string_view::npos) {
    return is_one_of(request.method, kPost) ? check_list(*ns, request.body) : not_allowed(kPost);
  }
  return is_one_of(request.method, kReads) ? check_one(*ns, request.path.substr(slash + 1))
                                           : not_allowed(kReads);
}

Response Pages::check_one(std::uint32_t ns, std::string_view path) {
  const auto values = http::decoded_segments(path);
  if (!values) {
    return refusal(
        400, "bad_identity", "A '%' in the identity is not followed by two hexadecimal digits.");
  }
  if (std::ranges::count(*values, "") > 0) {
    return refusal(400, "bad_identity", "A value of the identity is empty.");
  }
  const std::size_t wanted = check_.values_of(ns).size();
  if (values->size() != wanted) {
    return refusal(400,
                   "bad_identity",
                   "An identity of this namespace has " + std::to_string(wanted) +
                       " values: write each as a path segment, and '/' within a value as %2F.");
  }
  const views::Check::Answer found = check_.ask(ns, *values, parts_.now());
  return of_json(found.may_exist ? 200 : 404,
                 json::object{{"may_exist", found.may_exist},
                              {"verdict", name_of(found.verdict)},
                              {"reason", found.reason}});
}

Response Pages::check_list(std::uint32_t ns, std::string_view body) {
  const auto identities = views::parse_identities(body, check_.values_of(ns).size());
  if (!identities) {
    return refusal(400, "bad_list", identities.error());
  }
  json::array may_exist;
  for (const views::Identity& identity : *identities) {
    // The time anew for each: what has been proven may run out meanwhile.
    may_exist.emplace_back(check_.ask(ns, identity, parts_.now()).may_exist);
  }
  return of_json(200, std::move(may_exist));
}

}  // namespace cuckooguard::admin
