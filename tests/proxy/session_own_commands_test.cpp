// A family of commands that nobody else knows: what it takes to be served by a session, and that
// the gate holds for it as for all others.
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "simulation/resp_text.h"

namespace cuckooguard::proxy {
namespace {

using guard::Call;
using guard::CommandRow;
using guard::Needs;
using guard::OwnDecision;
using simulation::command;

OwnDecision echo(const Call& call) {
  return call.simple(call.key());
}

OwnDecision reset(const Call& call) {
  return call.simple("OK");
}

constexpr auto kRows = std::to_array<CommandRow>({
    {"toy.echo", 2, 2, Needs::login, echo, "TOY.ECHO <key>\n    Return the <key>."},
    {"toy.reset", 1, 1, Needs::an_operator, reset},
    {"toy.fill", 2, 2, Needs::everything, reset},
});

// Those of keys that begin with `toy:`, and those without a key.
class ToyCommands final : public guard::CommandServer {
 public:
  explicit ToyCommands(guard::Guard& guard) : CommandServer(guard, kRows) {}
  bool takes(const CommandRow& /*row*/,
             guard::Arguments arguments,
             io::TimePoint /*now*/) override {
    return arguments.size() < 2 || arguments[1].starts_with("toy:");
  }
};

class SessionOwnCommands : public ProxiedClient {
 protected:
  SessionOwnCommands() { shop_.commands->add(std::make_unique<ToyCommands>(*shop_.guard)); }

  std::string reply(const std::string& bytes) {
    client_.send(bytes);
    pass(loop_, guard::kKnowPatience + std::chrono::milliseconds(100));
    return client_.read();
  }
};

const std::string kEcho = command({"TOY.Echo", "toy:1"});

TEST_F(SessionOwnCommands, of_a_new_family_are_served_in_their_place) {
  connect_both();
  client_sends(std::string(kExistingGet) + kEcho + std::string(kAbsentGet));
  EXPECT_EQ(redis_got(), kExistingGet);
  redis_sends("$1\r\nA\r\n");
  EXPECT_EQ(client_got(), "$1\r\nA\r\n+toy:1\r\n" + std::string(kNil));
}

TEST_F(SessionOwnCommands, of_other_keys_are_for_redis) {
  connect_both();
  client_sends(command({"TOY.ECHO", "other"}) + command({"TOY.WHAT", "toy:1"}));
  EXPECT_EQ(redis_got(), command({"TOY.ECHO", "other"}) + command({"TOY.WHAT", "toy:1"}));
}

TEST_F(SessionOwnCommands, have_as_many_arguments_as_their_row_says_and_its_help) {
  connect_both();
  EXPECT_EQ(reply(command({"TOY.ECHO", "toy:1", "2"})),
            "-ERR wrong number of arguments for 'toy.echo' command\r\n");
  EXPECT_TRUE(
      reply(command({"GUARD.HELP"})).ends_with("+TOY.ECHO <key>\r\n+    Return the <key>.\r\n"));
}

TEST_F(SessionOwnCommands, are_refused_to_those_without_their_rights) {
  connect_both();
  EXPECT_TRUE(reply(command({"TOY.RESET"})).starts_with("-NOPERM "));
  shop_.process.operators.users = {"default"};
  EXPECT_EQ(reply(command({"TOY.RESET"})), "+OK\r\n");
  EXPECT_EQ(reply(command({"TOY.FILL", "toy:1"})), "+OK\r\n");
  redis::Users users{.default_needs_no_password = true};
  users.restricted.emplace("default", redis::UserAccess{});
  shop_.facts.publish_users(shop_.facts.epoch(), std::move(users));
  EXPECT_TRUE(reply(command({"TOY.FILL", "toy:1"})).starts_with("-NOPERM "));
  shop_.facts.publish_users(shop_.facts.epoch(), {.unrestricted = {"default"}});
  EXPECT_EQ(reply(kEcho), "-NOAUTH Authentication required.\r\n");
  EXPECT_EQ(redis_got(), "");
}

TEST_F(SessionOwnCommands, that_cannot_be_answered_are_unknown_to_redis) {
  connect_both();
  client_sends(command({"MULTI"}));
  EXPECT_EQ(redis_got(), command({"MULTI"}));
  redis_sends("+OK\r\n");
  client_sends(kEcho);
  EXPECT_EQ(redis_got(), command({"GUARD.TOY.Echo", "toy:1"}));
}

}  // namespace
}  // namespace cuckooguard::proxy
