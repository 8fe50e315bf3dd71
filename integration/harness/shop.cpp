#include "harness/shop.h"

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "harness/certificates.h"
#include "harness/ports.h"
#include "harness/redis_command.h"

namespace cuckooguard::harness {

Shop::Shop(ShopSettings settings)
    : settings_(std::move(settings)),
      redis_tls_port_(settings_.over_tls ? free_port() : std::uint16_t{0}),
      redis_(redis_arguments(), settings_.password) {
  open_database();
  database_->insert_users(1, kUsers);
  database_->insert_tag("red");
  guard_.emplace(start_guard());
}

std::vector<std::string> Shop::redis_arguments() const {
  std::vector<std::string> arguments = settings_.redis_arguments;
  if (settings_.over_tls) {
    write_certificates(directory_.path());
    const auto tls = redis_tls_arguments(directory_.path(), redis_tls_port_, "optional");
    arguments.insert(arguments.begin(), tls.begin(), tls.end());
  }
  return arguments;
}

GuardProcess Shop::start_guard() const {
  if (settings_.on_unix_socket) {
    return GuardProcess::on_unix_socket(yaml());
  }
  if (!settings_.over_tls) {
    return GuardProcess::on_port(yaml());
  }
  const std::string more = settings_.more_listen_tls;
  return GuardProcess::on_tls_port(
      yaml(),
      {.settings = "{ cert: \"" + certificate_file("server.crt") + "\", key: \"" +
                   certificate_file("server.key") + "\"" + (more.empty() ? "" : ", ") + more + " }",
       .authority = certificate_file("ca.crt")});
}

bool is_over_tls() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  return std::getenv("CUCKOOGUARD_TLS") != nullptr;
}

std::string upstream_mode() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it
  const char* const mode = std::getenv("CUCKOOGUARD_UPSTREAM_MODE");
  return mode != nullptr ? mode : "pinned";
}

std::string Shop::yaml() const {
  std::string address = settings_.upstream.empty() ? redis_.address() : settings_.upstream;
  std::string tls;
  if (settings_.over_tls && settings_.upstream.empty()) {
    const std::string more = settings_.more_upstream_tls;
    address = "127.0.0.1:" + std::to_string(redis_tls_port_);
    tls = ", tls: { ca: \"" + certificate_file("ca.crt") + "\"" + (more.empty() ? "" : ", ") +
          more + " }";
  }
  Guarded users{.mode = settings_.guarding,
                .fresh_ids = "",
                .overlay = settings_.overlay,
                .absent_reply = settings_.absent_reply,
                .more = ", verify_sample: " + settings_.verify_sample};
  Guarded tags = users;
  users.more += settings_.more_namespace;
  tags.name = "tags";
  tags.keys = "tag:{name}";
  tags.table = "tag";
  tags.filter = "";
  return Configuration{
      .upstream = "{ address: \"" + address + "\", mode: " + settings_.mode + tls +
                  ", acl: " + settings_.acl + ", control: { " + settings_.control + " }" +
                  (settings_.upstream_settings.empty() ? "" : ", " + settings_.upstream_settings) +
                  " }",
      .source = sqlite_source(database_path(),
                              ", max_lag: " + settings_.max_lag +
                                  (settings_.source.empty() ? "" : ", " + settings_.source)),
      .namespaces = users.yaml() + tags.yaml(),
      .more = settings_.more}
      .yaml();
}

bool Shop::answers_absent(RawClient& client) const {
  const std::uint64_t before = redis_.calls("get");
  client.call({"GET", absent_user()});
  return redis_.calls("get") == before;
}

bool Shop::answers_absent() const {
  RawClient client = this->client();
  return answers_absent(client);
}

std::vector<std::string> Shop::find_absent_users(std::size_t count) const {
  RawClient client = this->client();
  std::vector<std::string> keys;
  for (std::uint64_t n = 0; keys.size() < count; ++n) {
    if (client.call({"GET", absent_user(n)}) == absent_reply()) {
      keys.push_back(absent_user(n));
    }
  }
  return keys;
}

void Shop::wait_until_it_answers() const {
  if (!eventually([this] { return answers_absent(); })) {
    throw std::runtime_error("the guard answers nothing: " + guard_->log());
  }
}

std::string user(std::uint64_t id) {
  return "user:" + std::to_string(id);
}

std::string absent_user(std::uint64_t n) {
  return user(kAbsent + n);
}

std::string get_absent() {
  return command({"GET", absent_user()});
}

std::string absent_reply() {
  return bulk(kAbsentText);
}

}  // namespace cuckooguard::harness
