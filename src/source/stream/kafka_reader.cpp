#include "stream/kafka_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "config/password_file.h"
#include "filter/key_hash.h"
#include "text/number.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::stream {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Setting = std::pair<const char*, std::string>;

constexpr std::size_t kErrorBytes = 512;
constexpr std::size_t kKilobyte = 1024;
constexpr std::size_t kMessageOverhead = 256;  // librdkafka's own
constexpr rd_kafka_resp_err_t kNoError = RD_KAFKA_RESP_ERR_NO_ERROR;

template <class T, auto kDestroy>
struct Destroy {
  void operator()(T* thing) const { kDestroy(thing); }
};
template <class T, auto kDestroy>
using Handle = std::unique_ptr<T, Destroy<T, kDestroy>>;
using Configuration = Handle<rd_kafka_conf_t, rd_kafka_conf_destroy>;

int left_until(Steady::time_point deadline) {
  const auto left = std::chrono::ceil<Milliseconds>(deadline - Steady::now());
  return static_cast<int>(std::max(left, Milliseconds(0)).count());
}

std::optional<std::string_view> bytes_of(const void* bytes, std::size_t size) {
  return bytes == nullptr ? std::nullopt
                          : std::optional(std::string_view(static_cast<const char*>(bytes), size));
}

// The same in each process.
std::uint64_t digest_of(const rd_kafka_message_t& message) {
  static const filter::KeyHash kHash([] {
    filter::HashSecret secret;
    for (std::size_t i = 0; i < secret.bytes.size(); ++i) {
      secret.bytes[i] = static_cast<std::byte>(i * i + i);
    }
    return secret;
  }());
  const auto digest = [](const void* bytes, std::size_t size) {
    const auto text = bytes_of(bytes, size);
    return text ? kHash(*text) : 0;
  };
  rd_kafka_timestamp_type_t type{};
  return kHash(fmt::format("{} {} {}",
                           digest(message.key, message.key_len),
                           digest(message.payload, message.len),
                           rd_kafka_message_timestamp(&message, &type)));
}

void add_security(const config::DebeziumSource& settings, std::vector<Setting>& all) {
  static constexpr std::array kMechanisms{"", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"};
  const bool is_encrypted = settings.tls != config::Tls::off;
  const bool logs_in = settings.sasl != config::Sasl::off;
  all.emplace_back("security.protocol",
                   logs_in        ? is_encrypted ? "sasl_ssl" : "sasl_plaintext"
                   : is_encrypted ? "ssl"
                                  : "plaintext");
  if (settings.tls == config::Tls::required) {
    all.emplace_back("enable.ssl.certificate.verification", "false");
    all.emplace_back("ssl.endpoint.identification.algorithm", "none");
  }
  if (!settings.ca_file.empty()) {
    all.emplace_back("ssl.ca.location", settings.ca_file);
  }
  if (logs_in) {
    all.emplace_back("sasl.mechanism", kMechanisms.at(static_cast<std::size_t>(settings.sasl)));
    all.emplace_back("sasl.username", settings.user);
    all.emplace_back("sasl.password",
                     config::password_of(settings.password_file, settings.password));
  }
}

// That every client has, and these.
std::expected<Configuration, std::string> configured(const config::DebeziumSource& settings,
                                                     std::vector<Setting> all) {
  all.emplace_back("bootstrap.servers",
                   text::joined(settings.brokers, ",", &config::Address::text));
  all.emplace_back("client.id", "cuckooguard");
  all.emplace_back("socket.keepalive.enable", "true");
  all.emplace_back("reconnect.backoff.max.ms", "1000");
  add_security(settings, all);
  Configuration conf(rd_kafka_conf_new());
  std::array<char, kErrorBytes> why{};
  for (const auto& [name, value] : all) {
    if (rd_kafka_conf_set(conf.get(), name, value.c_str(), why.data(), why.size()) !=
        RD_KAFKA_CONF_OK) {
      return std::unexpected(fmt::format("Kafka: {}", why.data()));
    }
  }
  rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
  return conf;
}

std::expected<rd_kafka_t*, std::string> client_of(rd_kafka_type_t type, Configuration conf) {
  std::array<char, kErrorBytes> why{};
  rd_kafka_t* const client = rd_kafka_new(type, conf.get(), why.data(), why.size());
  if (client == nullptr) {
    return std::unexpected(fmt::format("Kafka: {}", why.data()));
  }
  std::ignore = conf.release();  // the client's
  return client;
}

}  // namespace

void KafkaReader::Close::operator()(rd_kafka_t* client) const {
  rd_kafka_destroy(client);
}

KafkaReader::KafkaReader(config::DebeziumSource settings,
                         std::vector<std::string> topics,
                         AskPolicy ask_policy)
    : settings_(std::move(settings)),
      topics_(std::move(topics)),
      ask_policy_(std::move(ask_policy)),
      partitions_(topics_.size()),
      numbers_(topics_.size()) {
  if (!ask_policy_) {
    ask_policy_ = [this](const std::string& topic) { return ask_broker_policy(topic); };
  }
}

std::expected<KafkaReader::Client, std::string> KafkaReader::connect(bool fetches) {
  const std::size_t ahead = kBytesAhead / std::max<std::size_t>(channels_.size(), 1);
  Configuration conf = TRY(
      configured(settings_,
                 {{"auto.offset.reset", "error"},
                  {"isolation.level", "read_uncommitted"},
                  {"enable.partition.eof", "true"},
                  {"enable.auto.commit", "false"},
                  {"auto.commit.enable", "false"},
                  {"allow.auto.create.topics", "false"},
                  {"check.crcs", "true"},
                  {"socket.timeout.ms", fetches ? "10000" : std::to_string(kAnswerWithin.count())},
                  {"fetch.wait.max.ms", "100"},
                  {"fetch.error.backoff.ms", "100"},
                  {"fetch.message.max.bytes", std::to_string(kFetchBytes)},
                  {"fetch.max.bytes", std::to_string(kBytesAhead / 4)},
                  {"receive.message.max.bytes", std::to_string(kAnswerBytesMax)},
                  {"queued.max.messages.kbytes",
                   std::to_string(std::max(ahead, kBytesAheadLeast) / kKilobyte)}}));
  rd_kafka_conf_set_opaque(conf.get(), this);
  // Called by rd_kafka_poll(), in serve_events().
  rd_kafka_conf_set_error_cb(conf.get(), [](rd_kafka_t*, int err, const char* what, void* self) {
    KafkaReader& reader = *static_cast<KafkaReader*>(self);
    reader.is_disturbed_ = true;
    if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || reader.event_.empty()) {
      reader.event_ = what;
    }
  });
  Client client;
  client.handle.reset(TRY(client_of(RD_KAFKA_CONSUMER, std::move(conf))));
  for (const std::string& topic : topics_) {
    client.topics.emplace_back(rd_kafka_topic_new(client.handle.get(), topic.c_str(), nullptr));
  }
  return client;
}

std::expected<Reader::Channels, std::string> KafkaReader::channels() {
  if (!asking_.handle) {
    asking_ = TRY(connect(false));
  }
  const auto now = Steady::now();
  if (asked_ != Steady::time_point() && now - asked_ < kTopicsEvery) {
    return numbers_;
  }
  Partitions found = TRY(count_partitions());
  if (found != partitions_) {
    if (settings_.whole_topics) {
      TRY(check_policies(found));
    }
    held_.clear();
    fetching_.topics.clear();
    fetching_.handle.reset();
    channels_.clear();
    for (std::size_t topic = 0; topic < found.size(); ++topic) {
      numbers_[topic].clear();
      for (std::size_t i = 0; i < found[topic]; ++i) {
        numbers_[topic].push_back(channels_.size());
        channels_.push_back({.topic = topic, .partition = static_cast<std::int32_t>(i)});
      }
    }
    partitions_ = std::move(found);
  }
  asked_ = now;
  return numbers_;
}

std::expected<KafkaReader::Partitions, std::string> KafkaReader::count_partitions() {
  const auto deadline = Steady::now() + kAnswerWithin;
  Partitions found;
  for (std::size_t i = 0; i < topics_.size(); ++i) {
    const rd_kafka_metadata_t* reply = nullptr;
    auto error = rd_kafka_metadata(
        asking_.handle.get(), 0, asking_.topics[i].get(), &reply, left_until(deadline));
    const Handle<const rd_kafka_metadata_t, rd_kafka_metadata_destroy> metadata(reply);
    if (error == kNoError && metadata->topic_cnt != 1) {
      error = RD_KAFKA_RESP_ERR__BAD_MSG;
    }
    if (error == kNoError) {
      error = metadata->topics[0].err;
    }
    const bool is_unknown = error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (error != kNoError && (!is_unknown || partitions_[i] > 0)) {
      return std::unexpected(failed(topics_[i], rd_kafka_err2str(error)));
    }
    found.push_back(is_unknown ? 0 : static_cast<std::size_t>(metadata->topics[0].partition_cnt));
  }
  return found;
}

std::expected<void, std::string> KafkaReader::check_policies(const Partitions& found) {
  for (std::size_t i = 0; i < topics_.size(); ++i) {
    if (found[i] == 0) {
      continue;
    }
    const std::string policy = TRY(ask_policy_(topics_[i]));
    if (policy != "compact") {
      return std::unexpected(
          fmt::format("whole_topics: Kafka's topic {} has cleanup.policy={}, by which rows are "
                      "taken out of it: set compact",
                      topics_[i],
                      policy));
    }
  }
  return {};
}

std::expected<std::string, std::string> KafkaReader::ask_broker_policy(const std::string& topic) {
  rd_kafka_t* const client = asking_.handle.get();
  const Handle<rd_kafka_queue_t, rd_kafka_queue_destroy> queue(rd_kafka_queue_new(client));
  const Handle<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  const Handle<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy> wanted(
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const int within = static_cast<int>(kAnswerWithin.count());
  rd_kafka_AdminOptions_set_request_timeout(options.get(), within, nullptr, 0);
  rd_kafka_ConfigResource_t* one = wanted.get();
  rd_kafka_DescribeConfigs(client, &one, 1, options.get(), queue.get());
  const Handle<rd_kafka_event_t, rd_kafka_event_destroy> event(
      rd_kafka_queue_poll(queue.get(), within));
  std::string_view why = "no answer";
  if (event && rd_kafka_event_error(event.get()) != kNoError) {
    why = rd_kafka_event_error_string(event.get());
  } else if (const auto* const result = rd_kafka_event_DescribeConfigs_result(event.get())) {
    std::size_t count = 0;
    const auto* const resources = rd_kafka_DescribeConfigs_result_resources(result, &count);
    for (const rd_kafka_ConfigResource_t* const each : std::span(resources, count)) {
      if (const char* const error = rd_kafka_ConfigResource_error_string(each)) {
        why = error;
      }
      const auto* const entries = rd_kafka_ConfigResource_configs(each, &count);
      for (const rd_kafka_ConfigEntry_t* const entry : std::span(entries, count)) {
        const char* const value = rd_kafka_ConfigEntry_value(entry);
        if (std::string_view("cleanup.policy") == rd_kafka_ConfigEntry_name(entry) &&
            value != nullptr) {
          return value;
        }
      }
    }
  }
  return std::unexpected(failed("cleanup.policy of the topic " + topic, why));
}

std::expected<Batch, std::string> KafkaReader::read(std::size_t number) {
  held_.clear();
  Channel& channel = channels_[number];
  const Position before = channel.at;
  Batch batch;
  serve_events();
  auto read = look(channel);
  if (read && !channel.has_gap) {
    read = take(channel, batch);
  }
  if (serve_events() || !read) {  // the log may be another one by now
    channel.at = before;
    batch.entries.clear();
  }
  if (!read) {
    return std::unexpected(std::move(read.error()));
  }
  batch.has_gap = channel.has_gap;
  if (batch.has_gap) {
    batch.entries.clear();
    return batch;
  }
  batch.left = static_cast<std::uint64_t>(channel.high - channel.low);
  batch.is_whole = channel.at.is_whole;
  batch.is_at_end = channel.is_settled && channel.is_last_found && channel.at.next >= channel.high;
  if (batch.is_at_end) {
    event_.clear();
  }
  return batch;
}

// Where the log ends; and before it is read, where it begins.
std::expected<void, std::string> KafkaReader::look(Channel& channel) {
  const Position before = channel.at;
  if (!channel.is_settled) {
    channel.low = TRY(ask_offset(channel, RD_KAFKA_OFFSET_BEGINNING));
  }
  channel.high = TRY(ask_offset(channel, RD_KAFKA_OFFSET_END));
  const bool was_cut = !channel.is_settled && before.next && *before.next < channel.low;
  channel.has_gap = channel.has_gap || was_cut || before.next > channel.high;
  if (!channel.is_settled && !channel.has_gap) {
    TRY(settle(channel));
  }
  return {};
}

// Not by rd_kafka_query_watermark_offsets(), which waits for brokers that are down without an end.
std::expected<KafkaReader::Offset, std::string> KafkaReader::ask_offset(const Channel& channel,
                                                                        Offset which) {
  const Handle<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy> list(
      rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_t* const one = rd_kafka_topic_partition_list_add(
      list.get(), topics_[channel.topic].c_str(), channel.partition);
  one->offset = which;
  auto error = rd_kafka_offsets_for_times(
      asking_.handle.get(), list.get(), static_cast<int>(kAnswerWithin.count()));
  if (error == kNoError) {
    error = one->err;
  }
  if (error == kNoError && one->offset < 0) {
    error = RD_KAFKA_RESP_ERR__BAD_MSG;
  }
  if (error != kNoError) {
    return std::unexpected(failed(name_of(channel), rd_kafka_err2str(error)));
  }
  return one->offset;
}

// Has librdkafka fetch from the last message on.
std::expected<void, std::string> KafkaReader::settle(Channel& channel) {
  if (!fetching_.handle) {
    fetching_ = TRY(connect(true));
  }
  rd_kafka_topic_t* const topic = fetching_.topics[channel.topic].get();
  if (channel.is_started) {
    rd_kafka_consume_stop(topic, channel.partition);
    channel.is_started = false;
  }
  Position& at = channel.at;
  if (!at.next) {
    at = {.next = channel.low, .is_whole = channel.low == 0};
  }
  // If it has been taken out since, as all in front of what comes next, there is nothing else that
  // another log could have.
  channel.is_last_found = !at.last || at.last->offset < channel.low;
  const Offset from = channel.is_last_found ? channel.low : at.last->offset;
  if (rd_kafka_consume_start(topic, channel.partition, from) != 0) {
    return std::unexpected(failed(name_of(channel), rd_kafka_err2str(rd_kafka_last_error())));
  }
  channel.is_started = true;
  channel.is_settled = true;
  return {};
}

std::expected<void, std::string> KafkaReader::take(Channel& channel, Batch& batch) {
  rd_kafka_topic_t* const topic = fetching_.topics[channel.topic].get();
  const auto deadline = Steady::now() + kMessagesWithin;
  std::size_t bytes = 0;
  while (!channel.has_gap && bytes < kBytesWanted) {
    const bool waits =
        batch.entries.empty() && (!channel.is_last_found || channel.at.next < channel.high);
    Owned<rd_kafka_message_t> message(
        rd_kafka_consume(topic, channel.partition, waits ? left_until(deadline) : 0));
    if (!message) {
      if (waits && !event_.empty()) {
        return std::unexpected(failed(name_of(channel), "no messages come"));
      }
      break;
    }
    bytes += message->len + message->key_len + kMessageOverhead;
    TRY(take(channel, std::move(message), batch));
  }
  if (!batch.entries.empty()) {
    channel.at.last = {.offset = held_.back()->offset, .digest = digest_of(*held_.back())};
  }
  return {};
}

std::expected<void, std::string> KafkaReader::take(Channel& channel,
                                                   Owned<rd_kafka_message_t> message,
                                                   Batch& batch) {
  Position& at = channel.at;
  if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {  // behind control records, too
    at.next = std::max(at.next.value_or(0), message->offset);
    channel.has_gap = !channel.is_last_found;
    return {};
  }
  if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
    channel.has_gap = true;
    return {};
  }
  if (message->err != kNoError) {
    return std::unexpected(failed(name_of(channel), rd_kafka_message_errstr(message.get())));
  }
  if (!channel.is_last_found) {
    channel.is_last_found =
        message->offset == at.last->offset && digest_of(*message) == at.last->digest;
    channel.has_gap = !channel.is_last_found;
    return {};
  }
  if (message->offset < *at.next) {  // where nothing was
    channel.has_gap = true;
    return {};
  }
  at.next = message->offset + 1;
  Entry& entry =
      batch.entries.emplace_back(Entry{.message = {}, .id = std::to_string(message->offset)});
  if (message->len + message->key_len > debezium::kMessageBytesMax) {
    entry.trouble = "a message is larger than 16 MiB";
  } else {
    entry.message = {.key = bytes_of(message->key, message->key_len),
                     .value = bytes_of(message->payload, message->len)};
  }
  held_.push_back(std::move(message));
  return {};
}

void KafkaReader::begin_anew(std::size_t channel) {
  channels_[channel].at = {};
  channels_[channel].is_settled = false;
  channels_[channel].has_gap = false;
}

// Topic and partition, what comes next, the message in front of it, and whether it is whole.
std::string KafkaReader::place(std::size_t number) const {
  const Channel& channel = channels_[number];
  const Last last = channel.at.last.value_or(Last{.offset = -1});
  return fmt::format("{} {} {} {} {} {}",
                     topics_[channel.topic],
                     channel.partition,
                     channel.at.next.value_or(-1),
                     last.offset,
                     last.digest,
                     channel.at.is_whole ? 1 : 0);
}

bool KafkaReader::go_on_at(std::size_t number, std::string_view place) {
  Channel& channel = channels_[number];
  const bool is_its = text::take_word(place) == topics_[channel.topic] &&
                      text::take_word(place) == std::to_string(channel.partition);
  const auto next = text::number_of<Offset>(text::take_word(place));
  const auto last = text::number_of<Offset>(text::take_word(place));
  const auto digest = text::number_of<std::uint64_t>(text::take_word(place));
  const auto is_whole = text::number_of<int>(place);
  if (!is_its || !next || !last || !digest || !is_whole) {
    return false;
  }
  begin_anew(number);
  if (*next >= 0) {
    channel.at = {.next = next, .is_whole = *is_whole == 1};
  }
  if (*last >= 0) {
    channel.at.last = {.offset = *last, .digest = *digest};
  }
  return true;
}

std::expected<void, std::string> KafkaReader::signal(std::string_view key, std::string_view value) {
  const auto deadline = Steady::now() + kAnswerWithin;
  struct Sent {
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    std::string event{};
  } sent;  // outlives the client
  Configuration conf = TRY(configured(settings_, {{"acks", "all"}}));
  rd_kafka_conf_set_opaque(conf.get(), &sent);
  // Both called by rd_kafka_flush().
  rd_kafka_conf_set_error_cb(conf.get(), [](rd_kafka_t*, int, const char* what, void* to) {
    static_cast<Sent*>(to)->event = what;
  });
  rd_kafka_conf_set_dr_msg_cb(conf.get(),
                              [](rd_kafka_t*, const rd_kafka_message_t* message, void* to) {
                                static_cast<Sent*>(to)->error = message->err;
                              });
  const Owned<rd_kafka_t> client(TRY(client_of(RD_KAFKA_PRODUCER, std::move(conf))));
  const Owned<rd_kafka_topic_t> topic(
      rd_kafka_topic_new(client.get(), settings_.signals.c_str(), nullptr));
  // Else a producer that has no connection yet looks for the topic's leader a second later.
  const rd_kafka_metadata_t* reply = nullptr;
  const auto asked = rd_kafka_metadata(client.get(), 0, topic.get(), &reply, left_until(deadline));
  const Handle<const rd_kafka_metadata_t, rd_kafka_metadata_destroy> metadata(reply);
  std::string bytes(value);
  if (asked != kNoError) {
    sent.error = asked;
  } else if (rd_kafka_produce(topic.get(),
                              0,
                              RD_KAFKA_MSG_F_COPY,
                              bytes.data(),
                              bytes.size(),
                              key.data(),
                              key.size(),
                              nullptr) != 0) {
    sent.error = rd_kafka_last_error();
  }
  rd_kafka_flush(client.get(), left_until(deadline));
  if (sent.error != kNoError) {
    return std::unexpected(fmt::format("Kafka: {}: {}{}{}",
                                       settings_.signals,
                                       rd_kafka_err2str(sent.error),
                                       sent.event.empty() ? "" : ": ",
                                       sent.event));
  }
  return {};
}

// True: something may have happened to what brokers have.
bool KafkaReader::serve_events() {
  for (const Client* const client : {&asking_, &fetching_}) {
    if (client->handle) {
      rd_kafka_poll(client->handle.get(), 0);
    }
  }
  if (is_disturbed_) {
    for (Channel& channel : channels_) {
      channel.is_settled = false;
    }
  }
  return std::exchange(is_disturbed_, false);
}

std::string KafkaReader::failed(std::string_view what, std::string_view why) {
  is_disturbed_ = true;
  serve_events();
  if (!settings_.password_file.empty()) {
    const std::string password = config::password_of(settings_.password_file, "");
    for (const Client* const client : {&asking_, &fetching_}) {
      if (client->handle) {
        const Handle<rd_kafka_error_t, rd_kafka_error_destroy> ignored(
            rd_kafka_sasl_set_credentials(
                client->handle.get(), settings_.user.c_str(), password.c_str()));
      }
    }
  }
  return fmt::format("Kafka: {}: {}{}{}", what, why, event_.empty() ? "" : ": ", event_);
}

std::string KafkaReader::name_of(const Channel& channel) const {
  return fmt::format("{} [{}]", topics_[channel.topic], channel.partition);
}

}  // namespace cuckooguard::source::stream
