#include "postgres/session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <openssl/ssl.h>
#include <poll.h>

#include "config/password_file.h"
#include "postgres/server.h"
#include "text/ascii.h"

namespace cuckooguard::source::postgres {
namespace {

using Parameters = std::vector<std::pair<const char*, std::string>>;

constexpr std::string_view kSocketName = ".s.PGSQL.";
// So that a server soon lets go of a slot whose reader has been cut off; it hears of us each
// second.
constexpr const char* kSoonSilent = " -c wal_sender_timeout=30s";
constexpr const char* kNoFile = "/dev/null/none";
constexpr const char* kSystemAuthorities = "/etc/ssl/certs/ca-certificates.crt";

// libpq is told of a socket by its directory and the port in its name.
std::pair<std::string, std::string> host_and_port(const config::Address& address) {
  const std::uint16_t port = address.port == 0 ? config::kPostgresPort : address.port;
  if (!address.is_unix()) {
    return {address.host, std::to_string(port)};
  }
  const std::filesystem::path path = address.unix_path;
  const std::string name = path.filename();
  if (name.starts_with(kSocketName)) {
    return {path.parent_path(), name.substr(kSocketName.size())};
  }
  return {path, std::to_string(port)};
}

const char* mode_of(config::Tls tls) {
  switch (tls) {
    case config::Tls::off:
      return "disable";
    case config::Tls::required:
      return "require";
    case config::Tls::verified:
      return "verify-full";
  }
  std::unreachable();
}

Parameters parameters_of(const Login& login,
                         const config::Address& address,
                         Connection::Purpose purpose) {
  auto [host, port] = host_and_port(address);
  const bool verifies = login.tls == config::Tls::verified;
  const std::string authorities = login.ca_file.empty() ? kSystemAuthorities : login.ca_file;
  Parameters all{
      {"host", std::move(host)},
      {"port", std::move(port)},
      {"dbname", login.database},
      {"user", login.user},
      {"application_name", kApplicationName},
      {"client_encoding", "UTF8"},
      {"target_session_attrs", login.addresses.size() > 1 ? "primary" : "any"},
      {"connect_timeout", std::to_string(login.timeout.count())},
      {"options",
       std::string("-c statement_timeout=0") +
           (purpose == Connection::Purpose::replication ? kSoonSilent : "")},
      {"sslmode", mode_of(login.tls)},
      // With a file of authorities `require` would verify.
      {"sslrootcert", verifies ? authorities : kNoFile},
      {"ssl_min_protocol_version", "TLSv1.2"},
      {"sslcompression", "0"},
      {"sslsni", "1"},
      {"sslcert", kNoFile},
      {"sslkey", kNoFile},
      {"sslcrl", kNoFile},
      {"channel_binding", "prefer"},
      {"gssencmode", "disable"},
      {"gsslib", "gssapi"},
      {"krbsrvname", "postgres"},
      {"passfile", kNoFile},
  };
  if (std::string password = config::password_of(login.password_file, login.password);
      !password.empty()) {
    all.emplace_back("password", std::move(password));
  }
  if (purpose == Connection::Purpose::replication) {
    all.emplace_back("replication", "database");
  }
  return all;
}

// A variable of the environment that would change what we have left open.
std::optional<std::string> meddling_variable(const Parameters& ours) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> defaults(PQconndefaults(),
                                                                              &PQconninfoFree);
  for (const PQconninfoOption* option = defaults.get();
       option != nullptr && option->keyword != nullptr;
       ++option) {
    const bool is_meddled_with =
        option->envvar != nullptr && option->val != nullptr &&
        (option->compiled == nullptr || std::strcmp(option->val, option->compiled) != 0);
    const bool is_ours = std::ranges::any_of(
        ours, [&](const auto& each) { return std::strcmp(each.first, option->keyword) == 0; });
    if (is_meddled_with && !is_ours) {
      return option->envvar;
    }
  }
  return std::nullopt;
}

bool is_state(std::string_view text) {
  return text.size() == 5 && std::ranges::all_of(text, [](char byte) {
           return text::is_digit(byte) || text::is_upper(byte);
         });
}

std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char byte : text) {
    const bool is_space = byte == ' ' || byte == '\n' || byte == '\t';
    if (!is_space) {
      line += byte;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (line.ends_with(' ')) {
    line.pop_back();
  }
  return line;
}

void ignore_notice(void* /*unused*/, const PGresult* /*notice*/) {}

Expected<Session> begin_at(const Parameters& parameters, Deadline deadline) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name);
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  Session session(PQconnectStartParams(names.data(), values.data(), 0));
  if (session == nullptr) {
    throw std::bad_alloc();
  }
  PQsetNoticeReceiver(session.get(), ignore_notice, nullptr);
  PQsetErrorVerbosity(session.get(), PQERRORS_VERBOSE);  // else without SQLSTATE
  PostgresPollingStatusType next = PGRES_POLLING_WRITING;
  if (PQstatus(session.get()) == CONNECTION_BAD) {
    next = PGRES_POLLING_FAILED;
  }
  while (next == PGRES_POLLING_READING || next == PGRES_POLLING_WRITING) {
    if (!wait_for(session.get(), next == PGRES_POLLING_WRITING, deadline)) {
      return std::unexpected(
          Error{.state = {}, .what = "no response in time", .is_connection_gone = true});
    }
    next = PQconnectPoll(session.get());
  }
  if (next == PGRES_POLLING_FAILED) {
    return std::unexpected(told_by_libpq(session.get()));
  }
  return session;
}

}  // namespace

void CloseSession::operator()(pg_conn* connection) const {
  PQfinish(connection);
}

// set_config() of those that this release has. Behind the login, since a startup packet's settings
// come before those of the environment (PGTZ, PGDATESTYLE).
const char* const kSessionSettings =
    "SELECT pg_catalog.set_config(s.name, v.value, false) FROM (VALUES"
    // An error instead of fewer rows.
    " ('row_security', 'off'),"
    // One text for one value, in a COPY and in the log. A database of SQL_ASCII has bytes, of which
    // nobody knows what they are, and gives them to its applications as they are.
    " ('client_encoding', CASE WHEN pg_catalog.current_setting('server_encoding')"
    " OPERATOR(pg_catalog.=) 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END), ('DateStyle', 'ISO, "
    "MDY'), ('IntervalStyle', 'postgres'),"
    " ('TimeZone', 'UTC'), ('bytea_output', 'hex'), ('extra_float_digits', '1'),"
    // What we write means what it says.
    " ('search_path', ''), ('standard_conforming_strings', 'on'), ('quote_all_identifiers', 'off'),"
    " ('transform_null_equals', 'off'), ('xmloption', 'content'),"
    // How long we may think, or wait; what waits for the server ends with Login::timeout.
    " ('statement_timeout', '0'), ('lock_timeout', '0'), ('transaction_timeout', '0'),"
    " ('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0'),"
    " ('jit', 'off')"
    ") AS v (name, value) JOIN pg_catalog.pg_settings AS s"
    " ON pg_catalog.lower(s.name) OPERATOR(pg_catalog.=) pg_catalog.lower(v.name)";

Expected<Session> begin_session(const Login& login, Connection::Purpose purpose) {
  Error all{.state = {}, .what = {}, .is_connection_gone = true};
  const Deadline deadline = std::chrono::steady_clock::now() + login.timeout;
  auto left = static_cast<int>(login.addresses.size());
  for (const config::Address& address : login.addresses) {
    const Parameters parameters = parameters_of(login, address, purpose);
    if (const auto variable = meddling_variable(parameters)) {
      return refused(
          "the environment sets " + *variable +
          ", which would make libpq deviate from the configuration: start the guard without it");
    }
    const Deadline now = std::chrono::steady_clock::now();
    auto session = begin_at(parameters, now + (deadline - now) / left--);
    if (session) {
      return session;
    }
    Error& one = session.error();
    all.what += (all.what.empty() ? "" : "; ") + address.text() + ": " + one.what;
    if (all.state.empty() || one.is_refusal()) {
      all.state = one.state;
    }
  }
  if (const std::string why = config::why_no_password(login.password_file);
      !why.empty() && all.what.contains("password")) {
    all.what += ": " + why;
  }
  all.is_connection_gone = !all.is_refusal();
  return std::unexpected(std::move(all));
}

bool wait_for(const pg_conn* connection, bool writes, Deadline deadline, int other) {
  // What TLS has decrypted beyond what libpq had room for, no socket tells of.
  auto* const tls = static_cast<SSL*>(PQsslStruct(const_cast<pg_conn*>(connection), "OpenSSL"));
  if (!writes && tls != nullptr && SSL_pending(tls) > 0) {
    return true;
  }
  std::array<pollfd, 2> waiting{
      pollfd{.fd = PQsocket(connection),
             .events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN),
             .revents = 0},
      pollfd{.fd = other, .events = POLLIN, .revents = 0}};
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    constexpr std::chrono::milliseconds kAtOnce{std::chrono::hours(1)};
    const auto patience = std::clamp(left, std::chrono::milliseconds(0), kAtOnce);
    const int ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(patience.count()));
    if (ready > 0 || (ready < 0 && errno != EINTR)) {
      return true;
    }
    if (ready == 0 && left <= kAtOnce) {
      return false;
    }
  }
}

// libpq has no SQLSTATE of a login: with PQERRORS_VERBOSE it is in the words,
// `FATAL:  28P01: password authentication failed for user "x"`, a line LOCATION behind them.
Error told_by_libpq(const pg_conn* connection) {
  constexpr std::string_view kFailed = " failed: ";
  constexpr std::string_view kSeverity = ":  ";
  Error error{.state = {},
              .what = PQerrorMessage(connection),
              .is_connection_gone = PQstatus(connection) == CONNECTION_BAD};
  std::string_view words = error.what;
  words = words.substr(0, words.find("\nLOCATION:"));
  if (const std::size_t at = words.find(kFailed);
      words.starts_with("connection to server") && at != std::string_view::npos) {
    words.remove_prefix(at + kFailed.size());
  }
  if (const std::size_t at = words.find(kSeverity); at != std::string_view::npos) {
    const std::string_view state = words.substr(at + kSeverity.size(), 5);
    if (is_state(state)) {
      error.state = state;
      words.remove_prefix(std::min(words.size(), at + kSeverity.size() + state.size() + 2));
    }
  }
  error.what = in_one_line(words);
  return error;
}

}  // namespace cuckooguard::source::postgres
