#include "io/tls_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tls_peer.h"

namespace cuckooguard::io {
namespace {

using simulation::SimLoop;
using simulation::SimTransport;

std::string random_text(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t state = 12345;
  for (char& byte : text) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24U);
  }
  return text;
}

struct Way {
  bool is_server = true;  // the transport under test; else the peer is
  int version = TLS1_3_VERSION;
};

std::string name_of(const ::testing::TestParamInfo<Way>& info) {
  return std::string(info.param.is_server ? "server" : "client") +
         (info.param.version == TLS1_3_VERSION ? "_1_3" : "_1_2");
}

// A TlsTransport and its owner at one end, OpenSSL at the other, the simulated network in between.
class World {
 public:
  explicit World(const Way& way, std::uint64_t seed = 1)
      : loop_(seed),
        is_server_(way.is_server),
        ours_(is_server_ ? TlsFiles::of(files().listen()) : TlsFiles::of(files().upstream())),
        peer_(loop_,
              (is_server_ ? TlsFiles::of(files().upstream()) : TlsFiles::of(files().listen()))
                  ->new_connection()) {
    SSL_set_max_proto_version(peer_.ssl(), way.version);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() { EXPECT_EQ(loop_.failure(), ""); }

  static const TlsFiles& files() {
    static const TlsFiles kFiles;
    return kFiles;
  }

  // The two are connected; nothing has been said yet.
  void connect() {
    loop_.as_batch([this] {
      if (is_server_) {
        transport_ = TlsTransport::accepted(loop_, loop_.accept(peer_.wire()), *ours_, on_failure_);
      } else {
        transport_ = std::make_unique<TlsTransport>(loop_, *ours_, on_failure_);
        loop_.on_connect([this](SimTransport& wire) { wire.establish(peer_.wire()); });
        transport_->bind(owner_);
        transport_->carry_by(loop_.connect({}, transport_->inner_watcher()));
      }
      owner_.own(*transport_);
      if (is_server_) {
        transport_->bind(owner_);
      }
      owner_.set_reading(true);
    });
    if (is_server_) {
      peer_.pump();
    }
    loop_.at({}, [] {});  // it looks at what is ready when something happens
  }
  void shake_hands() {
    connect();
    loop_.run();
    ASSERT_TRUE(peer_.has_shaken_hands()) << ::testing::PrintToString(failures_);
  }
  void in_batch(const std::function<void()>& work) {
    loop_.as_batch(work);
    loop_.run();
  }
  void close() {
    in_batch([this] { transport_->close(); });
  }

  SimLoop& loop() { return loop_; }
  TlsPeer& peer() { return peer_; }
  TlsOwner& owner() { return owner_; }
  TlsTransport& transport() { return *transport_; }
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  SimLoop loop_;
  bool is_server_;
  std::shared_ptr<const TlsCredentials> ours_;
  std::vector<std::string> failures_;
  TlsTransport::OnFailure on_failure_ = [this](const std::string& why) {
    failures_.push_back(why);
  };
  TlsPeer peer_;
  TlsOwner owner_;
  std::unique_ptr<TlsTransport> transport_;
};

class EachWay : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(TlsTransport,
                         EachWay,
                         ::testing::Values(Way{true, TLS1_3_VERSION},
                                           Way{true, TLS1_2_VERSION},
                                           Way{false, TLS1_3_VERSION},
                                           Way{false, TLS1_2_VERSION}),
                         name_of);

TEST_P(EachWay, bytes_go_both_ways_when_every_byte_arrives_by_itself) {
  World world(GetParam());
  world.peer().cut_everywhere();
  world.connect();
  world.owner().send("hello, peer");
  world.peer().send("hello, owner");
  world.loop().run();
  EXPECT_EQ(world.peer().received(), "hello, peer");
  EXPECT_EQ(world.owner().received(), "hello, owner");
}

TEST_P(EachWay, bytes_go_both_ways_in_rough_weather) {
  const std::string text = random_text(300'000);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    World world(GetParam(), seed);
    world.loop().weather() = {.rough = true,
                              .latency_max = std::chrono::microseconds(300),
                              .capacity_min = 500 * seed,
                              .capacity_max = 20'000 * seed};
    world.owner().write_pieces_of(seed % 2 == 0 ? 700 : 16'000);
    world.connect();
    for (std::size_t at = 0; at < text.size(); at += 30'000) {
      world.loop().at(std::chrono::milliseconds(at / 10'000), [&world, &text, at] {
        world.loop().as_batch([&] { world.owner().send(text.substr(at, 30'000)); });
        world.peer().send(text.substr(at, 30'000));
      });
    }
    world.loop().run(std::chrono::hours(1));
    ASSERT_EQ(world.peer().received() == text, true) << "seed " << seed;
    ASSERT_EQ(world.owner().received() == text, true) << "seed " << seed;
  }
}

TEST_P(EachWay, what_openssl_holds_already_is_told_of_without_the_socket) {
  World world(GetParam());
  world.owner().read_at_most(10);
  world.shake_hands();
  const std::string text = random_text(1000);
  world.peer().send(text);
  world.loop().run();
  EXPECT_EQ(world.owner().received(), text);
  EXPECT_LE(world.owner().reads(), 100U + 5) << "it is not told in vain";
}

TEST_P(EachWay, what_openssl_holds_is_told_of_when_an_owner_reads_again) {
  World world(GetParam());
  world.owner().read_at_most(10);
  world.shake_hands();
  world.in_batch([&] { world.owner().set_reading(false); });
  world.peer().send(random_text(1000));
  world.loop().run();
  EXPECT_EQ(world.owner().received(), "");
  world.in_batch([&] { world.owner().set_reading(true); });
  EXPECT_EQ(world.owner().received(), random_text(1000));
}

TEST_P(EachWay, an_owner_that_stops_in_the_middle_of_a_record_is_not_told_of_the_rest_until_then) {
  World world(GetParam());
  world.shake_hands();
  world.owner().read_at_most(100);
  world.peer().send(random_text(1000));
  ASSERT_TRUE(world.loop().step());
  while (world.owner().received().empty() && world.loop().step()) {
  }
  world.in_batch([&] { world.owner().set_reading(false); });
  const std::size_t received = world.owner().received().size();
  world.loop().run();
  EXPECT_EQ(world.owner().received().size(), received);
  EXPECT_LT(received, 1000U);
  world.in_batch([&] { world.owner().set_reading(true); });
  EXPECT_EQ(world.owner().received(), random_text(1000));
}

TEST_P(EachWay, many_small_pieces_are_one_record) {
  World world(GetParam());
  world.owner().write_pieces_of(10);
  world.shake_hands();
  world.in_batch([&] { world.owner().send(random_text(640)); });
  EXPECT_EQ(world.peer().received(), random_text(640));
  EXPECT_EQ(world.peer().records(), (std::vector<std::size_t>{640}));
}

TEST_P(EachWay, large_output_is_full_records) {
  World world(GetParam());
  world.owner().write_pieces_of(3000);
  world.shake_hands();
  world.in_batch([&] { world.owner().send(random_text(100'000)); });
  EXPECT_EQ(world.peer().received(), random_text(100'000));
  EXPECT_EQ(world.peer().records().size(), 100'000 / TlsTransport::kRecordBytes + 1);
}

TEST_P(EachWay, a_farewell_of_the_peer_is_the_end_and_what_it_asked_is_still_answered) {
  World world(GetParam());
  world.shake_hands();
  world.peer().send("the last words");
  world.peer().say_farewell();
  world.loop().run();
  EXPECT_EQ(world.owner().received(), "the last words");
  EXPECT_TRUE(world.owner().has_ended());
  world.in_batch([&] { world.owner().send("an answer"); });
  EXPECT_EQ(world.peer().received(), "an answer");
}

TEST_P(EachWay, an_end_without_a_farewell_is_an_end_too) {
  World world(GetParam());
  world.shake_hands();
  world.peer().send("the last words");
  world.peer().wire().finish();
  world.loop().run();
  EXPECT_EQ(world.owner().received(), "the last words");
  EXPECT_TRUE(world.owner().has_ended());
  EXPECT_FALSE(world.owner().has_failed());
  EXPECT_THAT(world.failures(), ::testing::IsEmpty());
}

TEST_P(EachWay, who_finishes_writing_says_farewell_and_reads_on) {
  World world(GetParam());
  world.shake_hands();
  world.in_batch([&] {
    world.owner().send("no more from here");
    world.transport().finish_writing();
  });
  EXPECT_EQ(world.peer().received(), "no more from here");
  EXPECT_TRUE(world.peer().has_heard_farewell());
  EXPECT_TRUE(world.peer().wire().at_end());
  world.peer().send("but from there");
  world.loop().run();
  EXPECT_EQ(world.owner().received(), "but from there");
}

TEST_P(EachWay, close_says_farewell) {
  World world(GetParam());
  world.shake_hands();
  world.close();
  EXPECT_TRUE(world.peer().has_heard_farewell());
  EXPECT_FALSE(world.transport().is_open());
}

TEST_P(EachWay, it_can_be_closed_at_any_moment) {
  constexpr int kStride = 23;  // bytes of the handshake
  bool was_up = false;
  for (int steps = 0; !was_up; steps += kStride) {
    World world(GetParam());
    world.peer().cut_everywhere();
    world.peer().send("hello");
    world.connect();
    for (int i = 0; i < steps && world.loop().step(); ++i) {
    }
    was_up = world.owner().received() == "hello";
    world.close();
    EXPECT_EQ(world.owner().hang_ups(), 0);
    std::string buffer(10, '\0');
    EXPECT_EQ(world.transport().read(buffer).bytes, 0U);
    EXPECT_EQ(world.transport().write(std::array{std::string_view("x")}).bytes, 0U);
    ASSERT_LT(steps, 20'000);
  }
}

TEST_P(EachWay, without_interest_the_end_of_both_directions_is_told_once) {
  World world(GetParam());
  world.shake_hands();
  world.in_batch([&] { world.owner().set_reading(false); });
  world.peer().wire().reset();
  world.loop().run();
  EXPECT_EQ(world.owner().hang_ups(), 1);
}

// Nothing of a record that was changed on its way is taken for what the peer has said.
TEST_P(EachWay, a_changed_byte_breaks_the_connection) {
  World world(GetParam());
  world.shake_hands();
  const std::size_t heard = world.owner().received().size();
  world.peer().wire().send(std::string("\x17\x03\x03\x00\x30", 5) + random_text(0x30));
  world.loop().run();
  EXPECT_TRUE(world.owner().has_failed());
  EXPECT_EQ(world.owner().received().size(), heard);
  EXPECT_EQ(world.transport().write(std::array{std::string_view("x")}).status, Status::failed);
  world.close();
}

class Tls13 : public EachWay {};
INSTANTIATE_TEST_SUITE_P(TlsTransport,
                         Tls13,
                         ::testing::Values(Way{true, TLS1_3_VERSION}, Way{false, TLS1_3_VERSION}),
                         name_of);

// The answer to it is a write that a read asks for; here it comes while the way out is full.
TEST_P(Tls13, keys_can_be_changed_in_the_middle_of_everything) {
  World world(GetParam());
  world.loop().weather() = {.rough = true,
                            .latency_max = std::chrono::microseconds(100),
                            .capacity_min = 500,
                            .capacity_max = 500};
  const std::string text = random_text(50'000);
  world.connect();
  world.owner().send(text);
  world.loop().run();
  for (int i = 0; i < 5; ++i) {
    SSL_key_update(world.peer().ssl(), SSL_KEY_UPDATE_REQUESTED);
    world.peer().send(text);
    world.loop().as_batch([&] { world.owner().send(text); });
  }
  world.loop().run();
  EXPECT_EQ(world.peer().received().size(), 6 * text.size());
  EXPECT_EQ(world.owner().received().size(), 5 * text.size());
  EXPECT_EQ(world.peer().received().substr(5 * text.size()) == text, true);
}

}  // namespace
}  // namespace cuckooguard::io
