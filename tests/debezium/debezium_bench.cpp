// How fast Debezium's messages are decoded, next to simdjson reading the same bytes.
//
//   build/release/tests/debezium/debezium_bench [MESSAGES]
//
// Messages of some 600 bytes without a schema, and of 3.4 KB with one, each an update of another
// row. Three ways, each with the copy into a padded buffer that simdjson wants: what simdjson alone
// needs to find the same members in the order in which they stand there, without a look at the
// others; every value of the message by simdjson; and the decoder, with a key template of one
// integer column. One thread, its CPU time; the best of several rounds, since the others were
// disturbed.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "debezium/decoder.h"
#include "text/number.h"

namespace {

namespace json = simdjson::ondemand;
using namespace cuckooguard;

constexpr int kRounds = 100;

// Of this thread: others may use the same core.
double seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

struct Pair {
  std::string key;
  std::string value;
};

std::string envelope(std::size_t id) {
  const std::string number = std::to_string(id);
  const auto row = [&number](std::string_view name) {
    return R"({"id":)" + number + R"(,"first_name":")" + std::string(name) +
           R"(","last_name":"Kretchmar","email":"annek@example.org"})";
  };
  return R"({"before":)" + row("Anne") + R"(,"after":)" + row("Anne Marie") +
         R"(,"source":{"version":"3.0.0.Final","connector":"mysql","name":"shop",)"
         R"("ts_ms":1465581029100,"snapshot":"false","db":"inventory","sequence":null,)"
         R"("ts_us":1465581029100000,"ts_ns":1465581029100000000,"table":"customers",)"
         R"("server_id":223344,"gtid":null,"file":"mysql-bin.000003","pos":)" +
         std::to_string(id * 100) +
         R"(,"row":0,"thread":7,"query":null},"transaction":null,"op":"u",)"
         R"("ts_ms":1465581029523,"ts_us":1465581029523758,"ts_ns":1465581029523758914})";
}

std::string schema() {
  const std::string row =
      R"({"type":"struct","fields":[{"type":"int32","optional":false,"field":"id"},)"
      R"({"type":"string","optional":false,"field":"first_name"},)"
      R"({"type":"string","optional":false,"field":"last_name"},)"
      R"({"type":"string","optional":false,"field":"email"}],"optional":true,)"
      R"("name":"shop.inventory.customers.Value","field":")";
  std::string all = R"({"type":"struct","fields":[)" + row + R"(before"},)" + row + R"(after"})";
  for (int i = 0; i < 40; ++i) {
    all += R"(,{"type":"int64","optional":true,"field":"member)" + std::to_string(i) + R"("})";
  }
  return all + R"(],"optional":false,"name":"shop.inventory.customers.Envelope","version":2})";
}

std::vector<Pair> messages(std::size_t count, bool with_schema) {
  std::vector<Pair> all;
  const std::string front = with_schema ? R"({"schema":)" + schema() + R"(,"payload":)" : "";
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(
        {R"({"id":)" + std::to_string(i) + "}", front + envelope(i) + (with_schema ? "}" : "")});
  }
  return all;
}

[[noreturn]] void stop(const std::string& why) {
  throw std::runtime_error("debezium_bench: " + why);
}

std::size_t walk(json::value value) {
  switch (value.type().value()) {
    case json::json_type::object: {
      std::size_t sum = 0;
      for (auto field : value.get_object()) {
        sum += field.unescaped_key().value().size() + walk(field.value());
      }
      return sum;
    }
    case json::json_type::array: {
      std::size_t sum = 0;
      for (auto element : value.get_array()) {
        sum += walk(element.value());
      }
      return sum;
    }
    case json::json_type::string:
      return value.get_string().value().size();
    default:
      return value.raw_json_token().size();
  }
}

template <class Read>
double measure(const char* name, const std::vector<Pair>& all, const Read& read) {
  std::size_t bytes = 0;
  for (const Pair& each : all) {
    bytes += each.key.size() + each.value.size();
  }
  double best = 0;
  std::size_t sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = seconds();
    for (const Pair& each : all) {
      sum += read(each);
    }
    best = std::max(best, static_cast<double>(bytes) / (seconds() - begin));
  }
  if (sum == 0) {
    stop("nothing was read");
  }
  const double per_message = static_cast<double>(bytes) / static_cast<double>(all.size());
  std::printf("  %-34s %7.0f MB/s  %6.0f ns/message\n", name, best / 1e6, per_message / best * 1e9);
  return best;
}

void compare(std::size_t count, bool with_schema) {
  const std::vector<Pair> all = messages(count, with_schema);
  std::printf("%zu bytes a message, %s schema\n",
              all.front().value.size(),
              with_schema ? "with its" : "without");
  json::parser parser;
  std::vector<char> buffer(all.back().value.size() + 64 + simdjson::SIMDJSON_PADDING);
  const auto iterate = [&parser, &buffer](const Pair& each) {
    std::memcpy(buffer.data(), each.value.data(), each.value.size());
    return parser.iterate(buffer.data(), each.value.size(), buffer.size());
  };
  const double same = measure("simdjson, the same members", all, [&](const Pair& each) {
    json::document document = iterate(each);
    json::object root = document.get_object();
    if (with_schema) {
      root = root["payload"].get_object();
    }
    std::size_t sum = root["after"]["id"].get_int64().value();
    json::object source = root["source"];
    for (const char* name : {"connector", "name", "snapshot", "db", "table", "file"}) {
      sum += source[name].get_string().value().size();
    }
    sum += source["pos"].get_uint64().value() + source["row"].get_uint64().value();
    return sum + root["op"].get_string().value().size() + root["ts_ms"].get_uint64().value();
  });
  measure("simdjson, all values", all, [&](const Pair& each) {
    json::document document = iterate(each);
    std::size_t sum = 0;
    for (auto field : document.get_object()) {
      sum += walk(field.value());
    }
    return sum;
  });
  debezium::Decoder decoder(
      {.tables = {{.name = "customers",
                   .columns = {{.name = "id", .placeholders = {keyspace::ValueType::uint64}}}}}});
  const double ours = measure("the decoder", all, [&](const Pair& each) {
    const auto change = decoder.decode({.key = each.key, .value = each.value});
    if (!change || change->after.empty()) {
      stop(change ? "a row is missing" : change.error().what);
    }
    return change->after[0].text.size() + change->key_json.size() + change->position->place[1];
  });
  std::printf("BENCH: debezium schema=%d ratio=%.2f\n", with_schema, ours / same);
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = argc > 1 ? text::number_of<std::size_t>(argv[1]) : 1'000;
  if (!count || *count == 0) {
    stop("[MESSAGES]");
  }
  compare(*count, false);
  compare(*count, true);
  return 0;
}
