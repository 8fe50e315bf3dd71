// RedisBloom's commands of a namespace's filter: what of them a Redis may never get as it is, since
// one that knows them would say that nothing exists.
#include <string>

#include <gtest/gtest.h>

#include "proxied_client.h"
#include "simulation/resp_text.h"

namespace cuckooguard::proxy {
namespace {

using simulation::command;
using std::chrono::milliseconds;

class SessionFilterCommands : public ProxiedClient {
 protected:
  SessionFilterCommands() { name_filter("users"); }

  void name_filter(const std::string& key) {
    shop_.spaces[guard::GuardedShop::kUsers].filter_key = key;
    shop_.guard->adopt(shop_.guard->parts());
  }
  // What is held is asked again meanwhile.
  void client_says(std::string_view bytes) {
    client_.send(bytes);
    pass(loop_, milliseconds(5));
  }
};

const std::string kExists = command({"BF.EXISTS", "users", "7"});
const std::string kUnknown = command({"GUARD.BF.EXISTS", "users", "7"});

TEST_F(SessionFilterCommands, are_answered_in_their_place) {
  connect_both();
  client_sends(std::string(kExistingGet) + command({"BF.MEXISTS", "users", "7", "999"}));
  EXPECT_EQ(redis_got(), kExistingGet);
  redis_sends("$1\r\nA\r\n");
  EXPECT_EQ(client_got(), "$1\r\nA\r\n*2\r\n:1\r\n:0\r\n");
}

TEST_F(SessionFilterCommands, of_a_client_that_does_not_read_are_unknown_to_redis) {
  loop_.weather().capacity_min = loop_.weather().capacity_max = 20'000;
  settings_.limits.client_output_soft = 10'000;
  connect_both();
  client_says(kExistingGet);
  redis_.send("$60000\r\n" + std::string(60'000, 'x') + "\r\n");
  pass(loop_, milliseconds(5));
  (void)redis_.read();
  client_says(kExists);
  EXPECT_EQ(redis_.read(), kUnknown);
}

// Above 64 KiB, also if there is no more than its name yet.
TEST_F(SessionFilterCommands, that_are_large_are_unknown_to_redis) {
  for (const std::size_t items : {10'917UL, 20'000UL}) {
    std::string large = "*" + std::to_string(items + 2) + "\r\n$10\r\nBF.MEXISTS\r\n";
    std::string renamed = "*" + std::to_string(items + 2) + "\r\n$16\r\nGUARD.BF.MEXISTS\r\n";
    std::string rest = "$5\r\nusers\r\n";
    for (std::size_t i = 0; i < items; ++i) {
      rest += "$1\r\n7\r\n";
    }
    connect_both();
    client_sends(large + rest);
    EXPECT_TRUE(redis_got_all() == renamed + rest) << items;
    client_.reset();
    loop_.run();
    (void)redis_.read();
  }
}

TEST_F(SessionFilterCommands, that_wait_when_a_reload_ends_them_go_on_as_any_command) {
  connect_both();
  client_says(command({"SELECT", "0"}) + kExists);
  EXPECT_EQ(redis_.read(), command({"SELECT", "0"}));
  name_filter("");
  redis_.send("+OK\r\n");
  pass(loop_, milliseconds(5));
  EXPECT_EQ(redis_.read(), kExists);
  redis_.send("-ERR unknown command\r\n");
  client_says(kExistingGet);
  client_.finish();
  pass(loop_, milliseconds(5));
  EXPECT_EQ(redis_.read(), kExistingGet);
  EXPECT_TRUE(redis_.at_end()) << "nothing is held: the end is passed on";
}

}  // namespace
}  // namespace cuckooguard::proxy
