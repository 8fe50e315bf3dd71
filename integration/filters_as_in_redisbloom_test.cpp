// Filters that applications fill, beside a table of what RedisBloom 2.8.7 replies
// (data/redisbloom_replies.json). It was recorded from the module, built from its tag and loaded
// into Redis 7.0.15, which ran the requests in this order.
//
// A row: what it is about, the request, the replies in RESP2 and in RESP3 ("": the same), and how
// they are compared, if not byte by byte:
//   free     the numbers behind these names may be others ("*": any): sizes in memory
//   match    "numbers": all numbers may be; "type": all but the first byte
//   op       "copy": not a request, but the filter of argv[1] dumped and loaded as that of argv[2]
// A key is what begins with "$".
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "harness/deadline.h"
#include "harness/guard_process.h"
#include "harness/raw_client.h"
#include "harness/redis_command.h"
#include "harness/redis_server.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {
namespace {

namespace json = boost::json;

json::array table() {
  std::ifstream file(CUCKOOGUARD_REPLIES);
  return json::parse(std::string{std::istreambuf_iterator<char>(file), {}}).as_array();
}

// The table's characters are bytes.
std::string bytes_of(const json::value& text) {
  std::string bytes;
  const std::string_view utf8 = text.as_string();
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    const bool is_pair = byte >= 0xC0;
    bytes += is_pair ? static_cast<char>((byte << 6U) | (utf8[i + 1] & 0x3F)) : utf8[i];
    i += is_pair ? 1 : 0;
  }
  return bytes;
}

// What may differ, blotted out.
std::string compared(std::string reply, const json::object& how) {
  static const std::regex kNumbers("[0-9]+(\\.[0-9]+)?");
  if (how.contains("match")) {
    return how.at("match") == "type" ? reply.substr(0, 1)
                                     : std::regex_replace(reply, kNumbers, "#");
  }
  if (how.contains("free")) {
    for (const json::value& name : how.at("free").as_array()) {
      const std::string before = name == "*" ? "[*]1" : "[+]" + bytes_of(name);
      reply = std::regex_replace(reply, std::regex("(" + before + "\r\n:)[0-9]+"), "$1#");
    }
  }
  return reply;
}

class FiltersAsInRedisBloom : public testing::TestWithParam<std::string_view> {
 protected:
  FiltersAsInRedisBloom() {
    std::ofstream(folder_.file("secret")) << "a secret of this test alone\n";
    guard_.emplace(GuardProcess::on_port("upstream: " + redis_.address() +
                                         "\nfilters:\n  allow_reserve: [ '{name:rest}' ]\n"
                                         "  durability: " +
                                         std::string(GetParam()) + "\n  secret_file: '" +
                                         folder_.file("secret") + "'\n"));
  }
  void SetUp() override {
    ASSERT_TRUE(eventually([&] { return guard_->call({"BF.EXISTS", "x", "never"}) == ":0\r\n"; }))
        << guard_->log();
  }

  // As the table's recorder writes down what became of it.
  static std::string copied(RawClient& client, const std::vector<std::string>& words) {
    std::string next = "0";
    std::vector<std::pair<std::string, std::string>> pieces;
    std::string last;
    for (;;) {
      last = client.call({words[0] + ".SCANDUMP", words[1], next});
      if (!last.starts_with("*2\r\n:")) {
        return last;
      }
      next = last.substr(5, last.find('\r', 5) - 5);
      if (next == "0") {
        break;
      }
      const std::size_t begin = last.find("\r\n", last.find('$')) + 2;
      pieces.emplace_back(next, last.substr(begin, last.size() - begin - 2));
    }
    for (const auto& [number, piece] : pieces) {
      const std::string loaded = client.call({words[0] + ".LOADCHUNK", words[2], number, piece});
      if (loaded != "+OK\r\n") {
        return loaded;
      }
    }
    return (pieces.size() > 1 ? "some chunks, " : "no chunks, ") + last;
  }

  void compare(RawClient& client, std::size_t field, const std::string& prefix) {
    for (const json::value& each : table()) {
      const json::array& row = each.as_array();
      const json::object how = row.size() > 4 ? row.at(4).as_object() : json::object();
      std::vector<std::string> words;
      for (const json::value& word : row.at(1).as_array()) {
        words.push_back(bytes_of(word));
        if (words.back().starts_with('$')) {
          words.back().replace(0, 1, prefix);
        }
      }
      const std::vector<std::string_view> views(words.begin(), words.end());
      std::string got =
          how.contains("op") ? copied(client, words) : client.exchange(command(views), 1);
      const bool is_same = row.at(field).as_string().empty();
      const std::string want = bytes_of(row.at(is_same ? 2 : field));
      EXPECT_EQ(compared(got, how), compared(want, how)) << json::serialize(row.at(1));
    }
  }

  TemporaryDirectory folder_;
  RedisServer redis_;
  std::optional<GuardProcess> guard_;
};

INSTANTIATE_TEST_SUITE_P(Kept,
                         FiltersAsInRedisBloom,
                         testing::Values("local", "redis"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(FiltersAsInRedisBloom, reply_its_bytes_in_resp2) {
  RawClient client = guard_->client();
  compare(client, 2, "two:");
}

TEST_P(FiltersAsInRedisBloom, reply_its_bytes_in_resp3) {
  RawClient client = guard_->client();
  ASSERT_TRUE(client.call({"HELLO", "3"}).starts_with("%"));
  compare(client, 3, "three:");
}

}  // namespace
}  // namespace cuckooguard::harness
