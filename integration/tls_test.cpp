// TLS on both sides: clients as users have them see what they see of a Redis with TLS, whoever
// should not be let in is not, and the log says why.

#include <csignal>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/certificates.h"
#include "harness/ports.h"
#include "harness/redis_command.h"
#include "harness/shop.h"

namespace cuckooguard::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kConfiguration = 78;

class OverTls : public testing::TestWithParam<std::string> {
 protected:
  static ShopSettings settings() { return {.mode = GetParam(), .over_tls = true}; }

  static std::vector<std::string> redis_cli(const Shop& shop, std::uint16_t port) {
    return {"redis-cli",
            "-p",
            std::to_string(port),
            "--tls",
            "--cacert",
            shop.certificate_file("ca.crt")};
  }
  static Ended run(std::vector<std::string> command, std::vector<std::string> more) {
    command.insert(command.end(), more.begin(), more.end());
    return run_program(std::move(command));
  }

  static void python(const Shop& shop, std::uint16_t port, const std::vector<std::string>& what) {
    const std::string folder =
        std::filesystem::path(shop.certificate_file("ca.crt")).parent_path().string();
    const Ended ended = run({"/usr/bin/python3",
                             std::string(CUCKOOGUARD_CLIENTS) + "/python_tls.py",
                             std::to_string(port),
                             folder},
                            what);
    EXPECT_EQ(ended.exit_code, 0) << ended.standard_error;
  }
};

INSTANTIATE_TEST_SUITE_P(Modes, OverTls, testing::Values("pinned", "shared"), [](const auto& made) {
  return made.param;
});

TEST_P(OverTls, redis_cli_sees_what_redis_says_and_absent_keys_cost_it_nothing) {
  Shop shop(settings());
  shop.wait_until_it_answers();
  shop.redis().call({"MSET", user(1), "one", user(2), "two"});
  shop.redis().call({"CONFIG", "RESETSTAT"});
  const std::string lines = shop.certificate_file("lines");
  write_whole_file(lines,
                   "GET user:1\nMGET user:1 user:2\nMULTI\nINCR counter\nEXEC\nNOSUCH\n"
                   "SELECT 1\nGET user:1\nSELECT 0\nCLIENT GETNAME\nHELLO 3\nGET user:2\nQUIT\n");
  const Ended straight = run_program(redis_cli(shop, shop.redis_tls_port()), lines);
  shop.redis().call({"DEL", "counter"});
  const Ended guarded = run_program(redis_cli(shop, shop.guard().tls_port()), lines);
  EXPECT_EQ(guarded.exit_code, 0) << guarded.standard_error;
  EXPECT_THAT(guarded.standard_output, HasSubstr("one"));
  EXPECT_EQ(straight.standard_error, guarded.standard_error);
  EXPECT_EQ(count_in(guarded.standard_output, "\n"), count_in(straight.standard_output, "\n"));
  shop.redis().call({"CONFIG", "RESETSTAT"});
  const Ended absent =
      run(redis_cli(shop, shop.guard().tls_port()), {"-r", "50", "GET", absent_user()});
  EXPECT_EQ(count_in(absent.standard_output, kAbsentText), 50U);
  EXPECT_EQ(shop.redis().calls("get"), 0U);
}

TEST_P(OverTls, python_with_large_values_pipelines_and_many_clients) {
  SKIP_IF_MISSING(missing_packages("python3-redis", {"/usr/bin/python3", "-c", "import redis"}));
  Shop shop(settings());
  shop.wait_until_it_answers();
  python(shop,
         shop.guard().tls_port(),
         {"versions", "pipelines", "large_values", "many_clients", "farewells"});
  EXPECT_EQ(shop.redis().call({"STRLEN", "large"}), ":104857600\r\n");
}

TEST_P(OverTls, clients_without_a_certificate_are_refused_where_one_is_asked_for) {
  ShopSettings wishes = settings();
  const TemporaryDirectory folder;
  write_certificates(folder.path());
  wishes.more_listen_tls = "client_ca: \"" + folder.path().string() + "/ca.crt\"";
  const Shop shop(wishes);
  GuardProcess& guard = const_cast<Shop&>(shop).guard();
  const Ended without = run(redis_cli(shop, guard.tls_port()), {"PING"});
  EXPECT_NE(without.exit_code, 0);
  EXPECT_EQ(without.standard_output, "");
  const Ended with = run(redis_cli(shop, guard.tls_port()),
                         {"--cert", folder / "client.crt", "--key", folder / "client.key", "PING"});
  EXPECT_EQ(with.standard_output, "PONG\n") << with.standard_error;
  // Of an authority that the guard does not know.
  const Ended stranger = run(redis_cli(shop, guard.tls_port()),
                             {"--cert",
                              shop.certificate_file("client.crt"),
                              "--key",
                              shop.certificate_file("client.key"),
                              "PING"});
  EXPECT_NE(stranger.exit_code, 0);
  EXPECT_TRUE(eventually([&] { return guard.log().contains("event=client_tls_failed"); }));
  EXPECT_THAT(guard.log(), HasSubstr("peer did not return a certificate"));
}

TEST_P(OverTls, clients_without_tls_are_closed_and_the_log_is_not_flooded) {
  Shop shop(settings());
  for (int i = 0; i < 100; ++i) {
    RawClient plain = RawClient::to_port(shop.guard().tls_port());
    plain.send("PING\r\n");
    // TLS's own alert, and the end.
    EXPECT_THAT(plain.read_until_closed(), Not(HasSubstr("PONG")));
  }
  EXPECT_THAT(shop.guard().log(), HasSubstr("does not use TLS"));
  EXPECT_LE(count_in(shop.guard().log(), "event=client_tls_failed"), 30U);
  EXPECT_EQ(shop.client().call({"PING"}), kPong);
}

TEST_P(OverTls, a_redis_that_is_not_the_one_meant_gets_no_word) {
  ShopSettings wishes = settings();
  wishes.more_upstream_tls = "server_name: redis.example";
  Shop shop(wishes);
  RawClient client = shop.client();
  client.send(command({"SET", "secret", "1"}));
  EXPECT_EQ(client.read_until_closed(), "");
  EXPECT_EQ(shop.redis().call({"EXISTS", "secret"}), ":0\r\n");
  const auto says = [&](std::string_view words) {
    return eventually([&] { return shop.guard().log().contains(words); });
  };
  EXPECT_TRUE(says("event=upstream_tls_failed why=\"certificate verify failed: hostname mismatch"))
      << shop.guard().log();
  EXPECT_TRUE(says("event=upstream_down why=\"TLS: certificate verify failed: hostname mismatch"))
      << shop.guard().log();
}

TEST_P(OverTls, a_redis_that_asks_for_certificates_gets_the_guards) {
  ShopSettings wishes = settings();
  wishes.redis_arguments = {"--tls-auth-clients", "yes"};
  const TemporaryDirectory folder;
  write_certificates(folder.path());
  wishes.redis_arguments.insert(wishes.redis_arguments.end(),
                                {"--tls-ca-cert-file", folder / "ca.crt"});
  const Shop without(wishes);
  RawClient refused = without.client();
  refused.send(command({"PING"}));
  EXPECT_EQ(refused.read_until_closed(), "");
  wishes.more_upstream_tls = "cert: \"" + (folder / "client.crt").string() + "\", key: \"" +
                             (folder / "client.key").string() + "\"";
  const Shop with(wishes);
  EXPECT_EQ(with.client().call({"PING"}), kPong);
  with.wait_until_it_answers();
}

TEST_P(OverTls, a_reload_takes_new_certificates_for_new_clients_and_refuses_bad_ones) {
  Shop shop(settings());
  RawClient before = shop.client();
  EXPECT_EQ(before.call({"PING"}), kPong);
  const std::string certificate = shop.certificate_file("server.crt");
  const auto reload = [&](std::string_view outcome) {
    const std::size_t times = count_in(shop.guard().log(), outcome);
    shop.guard().send_signal(SIGHUP);
    EXPECT_TRUE(eventually([&] { return count_in(shop.guard().log(), outcome) > times; }))
        << shop.guard().log();
  };
  write_whole_file(certificate, "no certificate");
  reload("event=reload_refused");
  EXPECT_EQ(shop.client().call({"PING"}), kPong);
  const Authority other("another authority");
  const Certificate made = other.issue("localhost");
  write_whole_file(certificate, made.certificate);
  write_whole_file(shop.certificate_file("server.key"), made.key);
  write_whole_file(shop.certificate_file("other.crt"), other.certificate());
  reload("event=reloaded");
  const std::string address = "localhost:" + std::to_string(shop.guard().tls_port());
  const auto ping = [&](const std::string& authority) {
    return run_guard({"ping", address, "--tls", "--cacert", shop.certificate_file(authority)});
  };
  EXPECT_EQ(ping("other.crt").standard_output, "PONG\n");
  EXPECT_EQ(ping("ca.crt").exit_code, 1);
  EXPECT_EQ(before.call({"PING"}), kPong) << "clients that were there stay";
}

TEST_P(OverTls, ping_goes_by_tls_too) {
  Shop shop(settings());
  const std::string address = "localhost:" + std::to_string(shop.guard().tls_port());
  const Ended ended =
      run_guard({"ping", address, "--tls", "--cacert", shop.certificate_file("ca.crt")});
  EXPECT_EQ(ended.standard_output, "PONG\n") << ended.standard_error;
  EXPECT_EQ(ended.exit_code, 0);
  const Ended distrusting = run_guard({"ping", address, "--tls"});
  EXPECT_EQ(distrusting.exit_code, 1);
  EXPECT_THAT(distrusting.standard_error, HasSubstr("certificate verify failed"));
  EXPECT_EQ(run_guard({"ping", address, "--tls", "--insecure"}).standard_output, "PONG\n");
}

TEST_P(OverTls, a_guard_says_that_it_lives_by_tls_too_while_redis_is_down) {
  Shop shop(settings());
  const std::string address = "localhost:" + std::to_string(shop.guard().tls_port());
  shop.redis().kill();
  const Ended alive =
      run_guard({"ping", "--alive", address, "--tls", "--cacert", shop.certificate_file("ca.crt")});
  EXPECT_EQ(alive.standard_output, "PONG\n") << alive.standard_error;
  EXPECT_EQ(run_guard({"ping", "--alive", address, "--timeout", "1s"}).exit_code, 1)
      << "it does not speak TLS";
}

TEST_P(OverTls, a_guard_is_asked_what_a_key_is_by_tls_too) {
  Shop shop(settings());
  shop.wait_until_it_answers();
  const std::string address = "localhost:" + std::to_string(shop.guard().tls_port());
  const Ended ended = run_guard({"explain",
                                 absent_user(),
                                 "--address",
                                 address,
                                 "--tls",
                                 "--cacert",
                                 shop.certificate_file("ca.crt")});
  EXPECT_THAT(ended.standard_output, HasSubstr("namespace: users\n")) << ended.standard_error;
}

TEST(Tls, files_that_are_no_good_are_named_before_anything_is_bound) {
  const TemporaryDirectory folder;
  write_certificates(folder.path());
  const std::filesystem::path config = folder / "guard.yaml";
  write_whole_file(config,
                   "listen: { address: \"127.0.0.1:1\", tls: { cert: \"" +
                       (folder / "server.crt").string() + "\", key: \"" +
                       (folder / "client.key").string() +
                       "\" } }\nupstream: { tls: { ca: /nowhere/ca.crt } }\n");
  for (const auto& how :
       std::vector<std::vector<std::string>>{{"--config"}, {"--check-config", "--config"}}) {
    std::vector<std::string> words = how;
    words.push_back(config.string());
    const Ended ended = run_guard(words);
    EXPECT_EQ(ended.exit_code, kConfiguration);
    EXPECT_THAT(ended.standard_error, HasSubstr("listen.tls: "));
    EXPECT_THAT(ended.standard_error, HasSubstr("does not belong to the certificate"));
    EXPECT_THAT(ended.standard_error,
                HasSubstr("upstream.tls: /nowhere/ca.crt: No such file or directory"));
  }
}

TEST(Listen, has_tls_where_it_is_asked_for_and_nowhere_else) {
  const Shop shop;
  const TemporaryDirectory folder;
  write_certificates(folder.path());
  const std::string files = folder.path().string();
  const std::string port = std::to_string(free_port());
  const GuardProcess guard =
      GuardProcess::on_port("listen:\n  - { address: '127.0.0.1:" + port + "', tls: { cert: '" +
                            files + "/server.crt', key: '" + files +
                            "/server.key' } }\n  - unix:" + files + "/guard.sock\n" + shop.yaml());
  EXPECT_EQ(RawClient::to_unix(files + "/guard.sock").call({"PING"}), kPong);
  EXPECT_NE(run_program({"redis-cli", "-p", port, "PING"}).standard_output, "PONG\n");
  const Ended encrypted =
      run_program({"redis-cli", "-p", port, "--tls", "--cacert", files + "/ca.crt", "PING"});
  EXPECT_EQ(encrypted.standard_output, "PONG\n") << encrypted.standard_error;
  EXPECT_THAT(guard.log(), HasSubstr("event=listening address=127.0.0.1:" + port));
  EXPECT_THAT(guard.log(), HasSubstr("event=listening address=unix:" + files + "/guard.sock"));
}

}  // namespace
}  // namespace cuckooguard::harness
