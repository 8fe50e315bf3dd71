#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/parse.h"
#include "config/read_config.h"

namespace cuckooguard::config {
namespace {

using testing::config_of;
using ::testing::ElementsAre;
using testing::errors_of;
using ::testing::HasSubstr;

TEST(ReadTls, without_a_word_of_it_there_is_none) {
  const Config config = config_of("listen: 127.0.0.1:1\nupstream: { address: redis:1 }\n");
  EXPECT_FALSE(config.listen.front().tls);
  EXPECT_FALSE(config.upstream.tls);
}

TEST(ReadTls, every_setting_of_listen_arrives) {
  const Config config = config_of(
      "listen: { address: '0.0.0.0:7', tls: { cert: c.pem, key: k.pem, client_ca: a.pem } }\n");
  EXPECT_EQ(config.listen.front().address.text(), "0.0.0.0:7");
  EXPECT_EQ(config.listen.front().tls, (ListenTls{"c.pem", "k.pem", "a.pem"}));
}

TEST(ReadTls, listen_keeps_its_address_if_only_tls_is_set) {
  const Config config = config_of("listen: { tls: { cert: c, key: k } }\n");
  EXPECT_EQ(config.listen.front().address, Listen{}.address);
  EXPECT_EQ(config.listen.front().tls, (ListenTls{"c", "k", ""}));
}

TEST(ReadTls, each_of_several_listeners_has_its_own) {
  const Config config = config_of(
      "listen:\n"
      "  - { address: '0.0.0.0:7', tls: { cert: c, key: k } }\n"
      "  - unix:/run/guard.sock\n");
  EXPECT_EQ(config.listen,
            (std::vector{Listen{{.host = "0.0.0.0", .port = 7}, ListenTls{"c", "k", ""}},
                         Listen{parse_address("unix:/run/guard.sock").value(), std::nullopt}}));
  EXPECT_THAT(errors_of("listen:\n  - { tls: true }\n  - { address: 'unix:/a', port: 7 }\n"),
              ElementsAre(HasSubstr("2:12: tls: accepting TLS requires a certificate"),
                          HasSubstr("3:27: unknown key port")));
}

TEST(ReadTls, a_server_needs_a_certificate_and_its_key) {
  EXPECT_THAT(errors_of("listen: { tls: { cert: c } }\n"),
              ElementsAre(HasSubstr("key is missing")));
  EXPECT_THAT(errors_of("listen: { tls: { key: k, cert: '' } }\n"),
              ElementsAre(HasSubstr("cert: \"\"")));
}

TEST(ReadTls, a_server_that_is_only_switched_on_is_told_what_it_needs) {
  EXPECT_THAT(errors_of("listen: { tls: true }\n"),
              ElementsAre(HasSubstr("accepting TLS requires a certificate")));
  EXPECT_FALSE(config_of("listen: { tls: false }\n").listen.front().tls);
}

TEST(ReadTls, every_setting_of_upstream_arrives) {
  const Config config = config_of(
      "upstream:\n"
      "  address: redis:1\n"
      "  tls: { ca: a, cert: c, key: k, server_name: redis.example, verify: false }\n");
  EXPECT_EQ(config.upstream.tls, (UpstreamTls{"a", "c", "k", "redis.example", false}));
}

TEST(ReadTls, upstream_has_a_short_form) {
  EXPECT_EQ(config_of("upstream: { tls: true }\n").upstream.tls, UpstreamTls{});
  EXPECT_EQ(config_of("upstream: { tls: false }\n").upstream.tls, std::nullopt);
  EXPECT_THAT(errors_of("upstream: { tls: maybe }\n"),
              ElementsAre(HasSubstr("must be true or false")));
}

TEST(ReadTls, a_certificate_without_its_key_is_reported) {
  EXPECT_THAT(errors_of("upstream: { tls: { cert: c } }\n"),
              ElementsAre("1:26: cert and key must be set together"));
  EXPECT_THAT(errors_of("upstream: { tls: { key: k } }\n"),
              ElementsAre("1:25: cert and key must be set together"));
}

TEST(ReadTls, a_unix_socket_needs_to_be_told_whose_certificate_is_good) {
  EXPECT_THAT(errors_of("upstream: { address: 'unix:/r.sock', tls: true }\n"),
              ElementsAre(HasSubstr("set server_name to the name in the certificate")));
  for (const char* const enough : {"server_name: redis.example", "verify: false"}) {
    const std::string text =
        std::string("upstream: { address: 'unix:/r.sock', tls: { ") + enough + " } }\n";
    EXPECT_TRUE(config_of(text).upstream.tls) << enough;
  }
}

}  // namespace
}  // namespace cuckooguard::config
