// Topics of Kafka, as Kafka Connect fills them: each partition is a channel.
//
// That nothing is missing is shown by offsets: a broker refuses one that it does not have any more,
// or not yet (auto.offset.reset=error). And by the last message that was read: where reading goes
// on after a restart, and after each disturbance, it is looked for, and must be where it was. A
// topic may have been created anew, with other messages of the same offsets.
//
// The end is the high watermark that a broker gives out within this read(): on connections of its
// own, as nothing else is answered on one on which it waits for messages. All is read uncommitted:
// what a transaction that was aborted tells of has happened, too, and comes again.
//
// A topic that does not exist yet has no channels; that it is not there any more is an error.
//
// Not shown: messages that a broker has confirmed and lost before its replicas had them, with
// unclean.leader.election.enable or min.insync.replicas=1, if as many have come since.
//
// A signal is one message in the first partition of its topic, the only one that Debezium reads. It
// has a client of its own, which is gone afterwards.
//
// Threads: as in reader.h; librdkafka has two clients' of its own. Errors: as in reader.h. Nothing
// blocks for much longer than kAnswerWithin. Limits: ahead of read() kBytesAhead are fetched, of
// each partition at least kBytesAheadLeast, and kFetchBytes or one batch of the producer's, what is
// compressed counting as it is then; an answer has kAnswerBytesMax. For kBytesWanted a message has
// some hundred bytes more.
// Source: librdkafka 2.0 (its simple consumer, which needs no group); Kafka 0.11 and later.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <librdkafka/rdkafka.h>

#include "config/sources.h"
#include "debezium/decoder.h"
#include "stream/reader.h"

namespace cuckooguard::source::stream {

class KafkaReader final : public Reader {
 public:
  static constexpr std::size_t kBytesAhead = std::size_t{32} << 20;
  static constexpr std::size_t kBytesAheadLeast = std::size_t{256} << 10;
  static constexpr std::size_t kFetchBytes = std::size_t{512} << 10;
  static constexpr std::size_t kAnswerBytesMax = 4 * debezium::kMessageBytesMax;
  static constexpr std::chrono::milliseconds kAnswerWithin{1000};
  static constexpr std::chrono::milliseconds kMessagesWithin{500};
  static constexpr std::chrono::milliseconds kTopicsEvery{250};  // their partitions are asked for

  // A topic's cleanup.policy.
  using AskPolicy = std::function<std::expected<std::string, std::string>(const std::string&)>;

  // `ask_policy`: left out, a broker is asked.
  KafkaReader(config::DebeziumSource settings,
              std::vector<std::string> topics,
              AskPolicy ask_policy = {});

  // Each kTopicsEvery also asks for the topics' partitions. If there are others than before, all
  // channels begin anew.
  std::expected<Channels, std::string> channels() override;
  std::chrono::nanoseconds channels_age() const override {
    return std::chrono::steady_clock::now() - asked_;
  }
  std::expected<Batch, std::string> read(std::size_t channel) override;
  void begin_anew(std::size_t channel) override;
  std::string place(std::size_t channel) const override;
  bool go_on_at(std::size_t channel, std::string_view place) override;
  // Waits up to kAnswerWithin until all in-sync replicas have it.
  std::expected<void, std::string> signal(std::string_view key, std::string_view value) override;

 private:
  using Offset = std::int64_t;
  using Partitions = std::vector<std::size_t>;  // of each topic: how many

  struct Close {
    void operator()(rd_kafka_t* client) const;
    void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
    void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  };
  template <class T>
  using Owned = std::unique_ptr<T, Close>;
  struct Client {
    Owned<rd_kafka_t> handle;
    std::vector<Owned<rd_kafka_topic_t>> topics;
  };
  struct Last {
    Offset offset = 0;
    std::uint64_t digest = 0;
  };
  struct Position {
    std::optional<Offset> next{};  // nothing: it begins
    std::optional<Last> last{};    // message in front of it
    bool is_whole = false;
  };
  struct Channel {
    std::size_t topic = 0;
    std::int32_t partition = 0;
    Position at{};
    bool is_started = false;  // librdkafka fetches
    bool is_settled = false;  // from where it should
    bool is_last_found = false;
    bool has_gap = false;
    Offset low = 0;  // first and end, as brokers have said
    Offset high = 0;
  };

  std::expected<Client, std::string> connect(bool fetches);
  std::expected<Partitions, std::string> count_partitions();
  std::expected<std::string, std::string> ask_broker_policy(const std::string& topic);
  std::expected<void, std::string> check_policies(const Partitions& found);
  std::expected<void, std::string> look(Channel& channel);
  std::expected<Offset, std::string> ask_offset(const Channel& channel, Offset which);
  std::expected<void, std::string> settle(Channel& channel);
  std::expected<void, std::string> take(Channel& channel, Batch& batch);
  std::expected<void, std::string> take(Channel& channel,
                                        Owned<rd_kafka_message_t> message,
                                        Batch& batch);
  bool serve_events();
  std::string failed(std::string_view what, std::string_view why);
  std::string name_of(const Channel& channel) const;

  config::DebeziumSource settings_;
  std::vector<std::string> topics_;
  AskPolicy ask_policy_;
  Client asking_;
  Client fetching_;
  Partitions partitions_;
  std::chrono::steady_clock::time_point asked_{};  // for partitions
  std::vector<Channel> channels_;
  Channels numbers_;
  std::vector<Owned<rd_kafka_message_t>> held_;  // of the last read()
  std::string event_;                            // the last one of librdkafka's, in words
  bool is_disturbed_ = false;                    // by it
};

}  // namespace cuckooguard::source::stream
