// A KafkaReader with librdkafka's mock cluster. What that cannot do is not tested here: partitions
// that are added, topics that are deleted, compaction, control records, logins.
#include "stream/kafka_reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
// Needs the header of librdkafka that kafka_reader.h includes.
#include <librdkafka/rdkafka_mock.h>

#include "text/number.h"
#include "text/words.h"

namespace cuckooguard::source::stream {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int16_t kProduce = 0;
constexpr std::int16_t kFetch = 1;
constexpr std::int16_t kListOffsets = 2;
constexpr int kBrokers = 3;
constexpr std::size_t kKept = std::size_t{5} << 20;  // bytes of a partition, by the mock cluster

class Kafka {
 public:
  Kafka() {
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    std::array<char, 512> why{};
    for (const auto& [name, value] : std::to_array<std::pair<const char*, const char*>>(
             {{"test.mock.num.brokers", "3"},
              {"linger.ms", "10000"},  // what is flushed together is fetched together
              {"batch.num.messages", "100000"},
              {"batch.size", "100000000"},
              {"message.max.bytes", "100000000"},
              {"queue.buffering.max.kbytes", "200000"}})) {
      rd_kafka_conf_set(conf, name, value, why.data(), why.size());
    }
    rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
    client_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, why.data(), why.size()));
    if (!client_) {
      throw std::runtime_error(why.data());
    }
    cluster = rd_kafka_handle_mock_cluster(client_.get());
  }

  config::DebeziumSource settings() const {
    config::DebeziumSource all{.from = config::StreamPlace::kafka};
    std::string_view left = rd_kafka_mock_cluster_bootstraps(cluster);
    while (!left.empty()) {
      std::string_view broker = text::take_word(left, ',');
      const std::string_view host = text::take_word(broker, ':');
      all.brokers.push_back(
          {.host = std::string(host), .port = text::number_of<std::uint16_t>(broker).value()});
    }
    return all;
  }
  void create(const char* topic, int partitions) {
    ASSERT_EQ(rd_kafka_mock_topic_create(cluster, topic, partitions, kBrokers),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    // Else the producer looks for its leaders a second later.
    topics_.emplace_back(rd_kafka_topic_new(client_.get(), topic, nullptr));
    const rd_kafka_metadata_t* metadata = nullptr;
    ASSERT_EQ(rd_kafka_metadata(client_.get(), 0, topics_.back().get(), &metadata, 10'000),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_metadata_destroy(metadata);
  }
  using Bytes = std::optional<std::string_view>;
  void put(const std::string& topic, int partition, Bytes key, Bytes value) const {
    const auto to = std::ranges::find(
        topics_, topic, [](const auto& each) { return rd_kafka_topic_name(each.get()); });
    const auto data = [](Bytes bytes) { return bytes ? bytes->data() : nullptr; };
    ASSERT_EQ(rd_kafka_produce(to->get(),
                               partition,
                               RD_KAFKA_MSG_F_COPY,
                               const_cast<char*>(data(value)),  // NOLINT: it is copied
                               value.value_or("").size(),
                               data(key),
                               key.value_or("").size(),
                               nullptr),
              0);
  }
  void put_numbers(const char* topic, int partition, int begin, int end) const {
    for (int i = begin; i < end; ++i) {
      put(topic, partition, "k", std::to_string(i));
    }
    flush();
  }
  // More than is kept.
  void overflow(const char* topic, int partition) const {
    const std::string large(std::size_t{256} << 10, 'x');
    for (std::size_t bytes = 0; bytes < 2 * kKept; bytes += large.size()) {
      put(topic, partition, "k", large);
      flush();
    }
  }
  void flush() const {
    ASSERT_EQ(rd_kafka_flush(client_.get(), 10'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }

  rd_kafka_mock_cluster_t* cluster = nullptr;

 private:
  struct Close {
    void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
    void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  };
  std::unique_ptr<rd_kafka_t, Close> client_;
  std::vector<std::unique_ptr<rd_kafka_topic_t, Close>> topics_;
};

struct Seen {
  std::vector<std::string> values;
  std::vector<std::string> errors;
  bool has_gap = false;
  bool is_at_end = false;
  bool is_whole = false;
};

// To the end, or to a gap; over what fails until then, for a while.
Seen read_all(Reader& reader, std::size_t channel, std::chrono::seconds within = 10s) {
  Seen seen;
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!seen.has_gap && !seen.is_at_end && std::chrono::steady_clock::now() < deadline) {
    const auto batch = reader.read(channel);
    if (!batch) {
      seen.errors.push_back(batch.error());
      continue;
    }
    for (const Entry& entry : batch->entries) {
      seen.values.emplace_back(entry.trouble.empty() ? entry.message.value.value_or("null")
                                                     : entry.trouble);
    }
    seen.has_gap = batch->has_gap;
    seen.is_at_end = batch->is_at_end;
    seen.is_whole = batch->is_whole;
  }
  return seen;
}

std::vector<std::string> numbers(int begin, int end) {
  std::vector<std::string> all;
  for (int i = begin; i < end; ++i) {
    all.push_back(std::to_string(i));
  }
  return all;
}

TEST(KafkaReader, everything_comes_once_in_the_order_of_its_partition) {
  Kafka kafka;
  kafka.create("a", 2);
  kafka.create("b", 1);
  KafkaReader reader(kafka.settings(), {"a", "b"});
  EXPECT_THAT(reader.channels().value(), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  kafka.put_numbers("a", 0, 0, 30'000);  // more than a batch has
  kafka.put_numbers("a", 1, 7, 8);
  kafka.put_numbers("b", 0, 100, 200);
  const Seen first = read_all(reader, 0);
  EXPECT_EQ(first.values, numbers(0, 30'000));
  EXPECT_TRUE(first.is_whole);
  EXPECT_EQ(read_all(reader, 1).values, numbers(7, 8));
  EXPECT_EQ(read_all(reader, 2).values, numbers(100, 200));
  EXPECT_THAT(read_all(reader, 0).values, IsEmpty());
  reader.begin_anew(1);
  EXPECT_EQ(read_all(reader, 1).values, numbers(7, 8));
}

TEST(KafkaReader, a_batch_has_as_much_as_is_wanted_and_one_message) {
  Kafka kafka;
  kafka.create("a", 1);
  const std::string large(kKept / 16, 'x');
  for (int i = 0; i < 15; ++i) {
    kafka.put("a", 0, "k", large);
  }
  kafka.flush();
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  std::size_t messages = 0;
  for (bool is_at_end = false; !is_at_end;) {
    const auto batch = reader.read(0);
    ASSERT_TRUE(batch) << batch.error();
    std::size_t bytes = 0;
    for (const Entry& entry : batch->entries) {
      EXPECT_EQ(entry.message.value, large);
      bytes += large.size();
    }
    EXPECT_LE(bytes, Reader::kBytesWanted + large.size());
    EXPECT_EQ(batch->left, 15);
    messages += batch->entries.size();
    is_at_end = batch->is_at_end;
  }
  EXPECT_EQ(messages, 15);
}

TEST(KafkaReader, what_is_put_behind_the_end_is_not_at_it) {
  Kafka kafka;
  kafka.create("a", 1);
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  EXPECT_TRUE(read_all(reader, 0).is_at_end);
  for (int i = 0; i < 5; ++i) {
    kafka.put_numbers("a", 0, i, i + 1);
    EXPECT_EQ(read_all(reader, 0).values, numbers(i, i + 1));
  }
}

TEST(KafkaReader, null_is_not_empty) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.put("a", 0, "k", std::nullopt);
  kafka.put("a", 0, std::nullopt, "v");
  kafka.put("a", 0, "", "");
  kafka.flush();
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  std::vector<std::string> seen;
  for (bool is_at_end = false; !is_at_end;) {
    const auto batch = reader.read(0);
    ASSERT_TRUE(batch) << batch.error();
    for (const Entry& entry : batch->entries) {
      seen.push_back(fmt::format(
          "{}={}", entry.message.key.value_or("null"), entry.message.value.value_or("null")));
    }
    is_at_end = batch->is_at_end;
  }
  EXPECT_THAT(seen, ElementsAre("k=null", "null=v", "="));
}

TEST(KafkaReader, a_message_that_is_too_large_is_one_in_words) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.put("a", 0, "k", std::string(debezium::kMessageBytesMax, 'x'));
  kafka.flush();
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  EXPECT_THAT(read_all(reader, 0).values, ElementsAre("a message is larger than 16 MiB"));
}

TEST(KafkaReader, a_partition_goes_on_with_its_new_leader) {
  Kafka kafka;
  kafka.create("a", 1);
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  for (int i = 0; i < 4; ++i) {
    rd_kafka_mock_partition_set_leader(kafka.cluster, "a", 0, 1 + i % kBrokers);
    kafka.put_numbers("a", 0, 10 * i, 10 * i + 10);
    EXPECT_EQ(read_all(reader, 0).values, numbers(10 * i, 10 * i + 10));
  }
}

TEST(KafkaReader, brokers_that_are_down_are_told_of_and_come_back) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.put_numbers("a", 0, 0, 10);
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  EXPECT_EQ(read_all(reader, 0).values, numbers(0, 10));
  kafka.put_numbers("a", 0, 10, 20);
  rd_kafka_mock_broker_set_down(kafka.cluster, -1);
  const auto began = std::chrono::steady_clock::now();
  const auto batch = reader.read(0);
  ASSERT_FALSE(batch);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 3s);
  EXPECT_THAT(batch.error(), HasSubstr("Kafka: a [0]: "));
  EXPECT_THAT(reader.channels().error(), HasSubstr("127.0.0.1"));
  rd_kafka_mock_broker_set_up(kafka.cluster, -1);
  const Seen after = read_all(reader, 0);
  EXPECT_EQ(after.values, numbers(10, 20));
  EXPECT_FALSE(after.has_gap);
}

TEST(KafkaReader, errors_of_a_broker_lose_nothing) {
  Kafka kafka;
  kafka.create("a", 1);
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  int next = 0;
  for (const auto& [request, error] : std::to_array<std::pair<std::int16_t, rd_kafka_resp_err_t>>({
           {kFetch, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION},
           {kFetch, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART},
           {kFetch, RD_KAFKA_RESP_ERR_UNKNOWN},
           {kFetch, RD_KAFKA_RESP_ERR__TRANSPORT},
           {kListOffsets, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART},
           {kListOffsets, RD_KAFKA_RESP_ERR__TRANSPORT},
       })) {
    rd_kafka_mock_push_request_errors(kafka.cluster, request, 1, error);
    kafka.put_numbers("a", 0, next, next + 10);
    const Seen seen = read_all(reader, 0);
    EXPECT_EQ(seen.values, numbers(next, next + 10)) << request << ' ' << error;
    EXPECT_TRUE(seen.is_at_end);
    next += 10;
  }
}

TEST(KafkaReader, an_offset_that_a_broker_does_not_have_is_a_gap) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.put_numbers("a", 0, 0, 10);
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  rd_kafka_mock_push_request_errors(
      kafka.cluster, kFetch, 1, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE);
  EXPECT_TRUE(read_all(reader, 0).has_gap);
  EXPECT_TRUE(read_all(reader, 0).has_gap);
  reader.begin_anew(0);
  EXPECT_EQ(read_all(reader, 0).values, numbers(0, 10));
}

TEST(KafkaReader, a_front_that_was_cut_off_is_told_of) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.put_numbers("a", 0, 0, 10);
  KafkaReader early(kafka.settings(), {"a"});
  ASSERT_TRUE(early.channels());
  EXPECT_EQ(read_all(early, 0).values, numbers(0, 10));
  const std::string place = early.place(0);
  kafka.overflow("a", 0);
  KafkaReader late(kafka.settings(), {"a"});
  ASSERT_TRUE(late.channels());
  ASSERT_TRUE(late.go_on_at(0, place));
  const Seen seen = read_all(late, 0);
  EXPECT_TRUE(seen.has_gap);
  EXPECT_THAT(seen.values, IsEmpty());
  late.begin_anew(0);
  const Seen rest = read_all(late, 0);
  EXPECT_FALSE(rest.has_gap);
  EXPECT_FALSE(rest.is_whole);
  EXPECT_TRUE(rest.is_at_end);
}

TEST(KafkaReader, a_reader_goes_on_where_another_one_was) {
  Kafka kafka;
  kafka.create("a", 2);
  std::vector<std::string> places(2);
  for (int round = 0; round < 3; ++round) {
    KafkaReader reader(kafka.settings(), {"a"});
    ASSERT_TRUE(reader.channels());
    for (std::size_t channel = 0; round > 0 && channel < 2; ++channel) {
      ASSERT_TRUE(reader.go_on_at(channel, places[channel]));
      EXPECT_EQ(reader.place(channel), places[channel]);
    }
    kafka.put_numbers("a", 0, 10 * round, 10 * round + 10);
    for (std::size_t channel = 0; channel < 2; ++channel) {
      const Seen seen = read_all(reader, channel);
      EXPECT_TRUE(seen.is_at_end);
      EXPECT_TRUE(seen.is_whole);
      EXPECT_EQ(seen.values,
                channel == 0 ? numbers(10 * round, 10 * round + 10) : std::vector<std::string>());
      places[channel] = reader.place(channel);
    }
  }
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  EXPECT_FALSE(reader.go_on_at(0, places[1]));
  EXPECT_FALSE(reader.go_on_at(0, ""));
  EXPECT_FALSE(reader.go_on_at(0, "a 0 10 9 x 1"));
  EXPECT_EQ(read_all(reader, 0).values, numbers(0, 30));
}

TEST(KafkaReader, another_topic_of_the_same_name_is_not_gone_on_with) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.put_numbers("a", 0, 0, 10);
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  read_all(reader, 0);
  const std::string place = reader.place(0);
  for (const int messages : {0, 5, 9, 10, 20}) {
    Kafka other;
    other.create("a", 1);
    other.put_numbers("a", 0, 100, 100 + messages);
    KafkaReader after(other.settings(), {"a"});
    ASSERT_TRUE(after.channels());
    ASSERT_TRUE(after.go_on_at(0, place));
    EXPECT_TRUE(read_all(after, 0).has_gap) << messages;
    after.begin_anew(0);
    EXPECT_EQ(read_all(after, 0).values, numbers(100, 100 + messages));
  }
}

TEST(KafkaReader, a_topic_has_channels_once_it_exists_and_then_all_begin_anew) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.put_numbers("a", 0, 0, 10);
  kafka.create("b", 2);
  rd_kafka_mock_topic_set_error(kafka.cluster, "b", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  KafkaReader reader(kafka.settings(), {"b", "a"});
  EXPECT_THAT(reader.channels().value(), ElementsAre(IsEmpty(), ElementsAre(0)));
  EXPECT_EQ(read_all(reader, 0).values, numbers(0, 10));
  rd_kafka_mock_topic_set_error(kafka.cluster, "b", RD_KAFKA_RESP_ERR_NO_ERROR);
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (reader.channels().value()[0].empty() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_THAT(reader.channels().value(), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_EQ(read_all(reader, 2).values, numbers(0, 10));
}

TEST(KafkaReader, a_topic_that_is_gone_is_an_error) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.put_numbers("a", 0, 0, 10);
  KafkaReader reader(kafka.settings(), {"a"});
  ASSERT_TRUE(reader.channels());
  EXPECT_EQ(read_all(reader, 0).values, numbers(0, 10));
  rd_kafka_mock_topic_set_error(kafka.cluster, "a", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (reader.channels() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_THAT(reader.channels().error(), HasSubstr("Kafka: a: Broker: Unknown topic"));
  rd_kafka_mock_topic_set_error(kafka.cluster, "a", RD_KAFKA_RESP_ERR_NO_ERROR);
  kafka.put_numbers("a", 0, 10, 20);
  EXPECT_THAT(reader.channels().value(), ElementsAre(ElementsAre(0)));
  EXPECT_EQ(read_all(reader, 0).values, numbers(10, 20));
}

TEST(KafkaReader, whole_topics_are_compacted_and_nothing_else) {
  Kafka kafka;
  kafka.create("a", 1);
  config::DebeziumSource settings = kafka.settings();
  settings.whole_topics = true;
  for (const std::string policy : {"delete", "compact,delete", "compact"}) {
    KafkaReader reader(settings, {"a"}, [&](const std::string& topic) {
      EXPECT_EQ(topic, "a");
      return std::expected<std::string, std::string>(policy);
    });
    const auto channels = reader.channels();
    EXPECT_EQ(channels.has_value(), policy == "compact");
    if (!channels) {
      EXPECT_THAT(channels.error(), HasSubstr("topic a has cleanup.policy=" + policy));
    }
  }
  // The mock cluster does not know the request.
  EXPECT_THAT(KafkaReader(settings, {"a"}).channels().error(),
              HasSubstr("cleanup.policy of the topic a: "));
}

TEST(KafkaReader, a_signal_is_a_message_in_the_first_partition_of_its_topic) {
  Kafka kafka;
  kafka.create("a", 1);
  kafka.create("signals", 2);
  config::DebeziumSource settings = kafka.settings();
  settings.signals = "signals";
  KafkaReader reader(settings, {"a"});
  for (const std::string value : {"one", "two"}) {
    const auto sent = reader.signal("shop", value);
    ASSERT_TRUE(sent) << sent.error();
  }
  KafkaReader debezium(kafka.settings(), {"signals"});
  ASSERT_TRUE(debezium.channels());
  EXPECT_THAT(read_all(debezium, 1).values, IsEmpty());
  const auto batch = debezium.read(0);
  ASSERT_TRUE(batch) << batch.error();
  ASSERT_FALSE(batch->entries.empty());
  EXPECT_EQ(batch->entries[0].message.key, "shop");
  debezium.begin_anew(0);
  EXPECT_THAT(read_all(debezium, 0).values, ElementsAre("one", "two"));
}

TEST(KafkaReader, a_signal_that_cannot_be_sent_is_told_of_soon) {
  Kafka kafka;
  kafka.create("signals", 1);
  config::DebeziumSource settings = kafka.settings();
  settings.signals = "signals";
  KafkaReader reader(settings, {"a"});
  rd_kafka_mock_push_request_errors(
      kafka.cluster, kProduce, 1, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  EXPECT_THAT(reader.signal("shop", "one").error(),
              HasSubstr("Kafka: signals: Broker: Topic authorization failed"));
  rd_kafka_mock_broker_set_down(kafka.cluster, -1);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(reader.signal("shop", "two").error(), HasSubstr("127.0.0.1"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 3s);
  rd_kafka_mock_broker_set_up(kafka.cluster, -1);
  EXPECT_TRUE(reader.signal("shop", "three"));
}

TEST(KafkaReader, settings_that_cannot_be_are_told_of) {
  Kafka kafka;
  config::DebeziumSource settings = kafka.settings();
  settings.tls = config::Tls::verified;
  settings.ca_file = "/nonexistent/ca.pem";
  EXPECT_THAT(KafkaReader(settings, {"a"}).channels().error(), HasSubstr("ssl.ca.location"));
}

}  // namespace
}  // namespace cuckooguard::source::stream
