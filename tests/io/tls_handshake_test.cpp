// How TLS begins, and whom it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tls_peer.h"

namespace cuckooguard::io {
namespace {

using simulation::SimLoop;
using simulation::SimPeer;
using simulation::SimTransport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TlsHandshake : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(loop_.failure(), ""); }

  static const TlsFiles& files() {
    static const TlsFiles kFiles;
    return kFiles;
  }

  void accept(const config::ListenTls& settings, SimPeer& peer) {
    transport_ =
        TlsTransport::accepted(loop_, loop_.accept(peer), *TlsFiles::of(settings), on_failure_);
    owner_.own(*transport_);
    loop_.as_batch([this] {
      transport_->bind(owner_);
      owner_.set_reading(true);
    });
  }

  void connect(const TlsCredentials& credentials, SimPeer& peer, const std::string& name = {}) {
    loop_.on_connect([&peer](SimTransport& wire) { wire.establish(peer); });
    transport_ = std::make_unique<TlsTransport>(loop_, credentials, on_failure_, name);
    owner_.own(*transport_);
    loop_.as_batch([this] {
      transport_->bind(owner_);
      transport_->carry_by(loop_.connect({}, transport_->inner_watcher()));
      owner_.set_reading(true);
    });
  }

  // A server of ours, a client with these settings that may speak these versions.
  void meet(const config::ListenTls& server, const config::UpstreamTls& client, int newest = 0) {
    peer_ = std::make_unique<TlsPeer>(loop_, TlsFiles::of(client)->new_connection());
    if (newest != 0) {
      SSL_set_security_level(peer_->ssl(), 0);
      SSL_set_min_proto_version(peer_->ssl(), TLS1_VERSION);
      SSL_set_max_proto_version(peer_->ssl(), newest);
    }
    accept(server, peer_->wire());
    peer_->pump();
    loop_.run();
  }

  // A client of ours.
  void visit(const config::UpstreamTls& client,
             const config::ListenTls& server,
             const std::string& name = {}) {
    peer_ = std::make_unique<TlsPeer>(loop_, TlsFiles::of(server)->new_connection());
    connect(*TlsFiles::of(client), peer_->wire(), name);
    loop_.run();
  }

  config::ListenTls asking_for_certificates() const {
    config::ListenTls settings = files().listen();
    settings.client_ca = files() / "ca.crt";
    return settings;
  }
  config::UpstreamTls with_certificate() const {
    config::UpstreamTls settings = files().upstream();
    settings.cert = files() / "client.crt";
    settings.key = files() / "client.key";
    return settings;
  }

  SimLoop loop_{1};
  std::vector<std::string> failures_;
  TlsTransport::OnFailure on_failure_ = [this](const std::string& why) {
    failures_.push_back(why);
  };
  TlsOwner owner_;
  std::unique_ptr<TlsPeer> peer_;
  std::unique_ptr<TlsTransport> transport_;
};

TEST_F(TlsHandshake, a_connecting_transport_is_up_only_when_hands_are_shaken) {
  SimPeer silent(loop_);
  connect(*TlsFiles::of(files().upstream()), silent);
  loop_.run();
  EXPECT_GT(silent.unread(), 0U) << "it has begun";
  EXPECT_FALSE(owner_.is_up());
  std::string buffer(10, '\0');
  EXPECT_EQ(transport_->read(buffer).status, Status::would_block);
  EXPECT_EQ(transport_->write(std::array{std::string_view("x")}).status, Status::would_block);
}

TEST_F(TlsHandshake, a_connect_that_fails_hangs_up_and_is_no_failure_of_tls) {
  loop_.on_connect([](SimTransport& wire) { wire.refuse(); });
  const auto credentials = TlsFiles::of(files().upstream());
  transport_ = std::make_unique<TlsTransport>(loop_, *credentials, on_failure_);
  owner_.own(*transport_);
  loop_.as_batch([this] {
    transport_->bind(owner_);
    transport_->carry_by(loop_.connect({}, transport_->inner_watcher()));
  });
  loop_.run();
  EXPECT_EQ(owner_.hang_ups(), 1);
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(TlsHandshake, what_is_written_before_is_sent_behind_it) {
  peer_ = std::make_unique<TlsPeer>(loop_, TlsFiles::of(files().upstream())->new_connection());
  accept(files().listen(), peer_->wire());
  loop_.as_batch([this] { owner_.send("a server that speaks first"); });
  peer_->pump();
  loop_.run();
  EXPECT_EQ(peer_->received(), "a server that speaks first");
}

TEST_F(TlsHandshake, a_client_that_does_not_finish_it_is_hung_up_in_time) {
  SimPeer silent(loop_);
  accept(files().listen(), silent);
  silent.send("\x16\x03\x01");
  loop_.run(TlsTransport::kHandshakeMost - std::chrono::milliseconds(1));
  EXPECT_EQ(owner_.hang_ups(), 0);
  loop_.run(TlsTransport::kHandshakeMost);
  EXPECT_EQ(owner_.hang_ups(), 1);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("timed out")));
}

TEST_F(TlsHandshake, a_client_that_finishes_it_is_never_hung_up_for_that) {
  meet(files().listen(), files().upstream());
  loop_.run(std::chrono::hours(1));
  EXPECT_EQ(owner_.hang_ups(), 0);
}

TEST_F(TlsHandshake, a_client_without_tls_is_hung_up_and_named) {
  for (const std::string& words : {std::string("PING\r\n"),
                                   std::string("*1\r\n$4\r\nPING\r\n"),
                                   std::string("GET / HTTP/1.1\r\n\r\n")}) {
    SimPeer plain(loop_);
    accept(files().listen(), plain);
    plain.send(words);
    loop_.run();
    ASSERT_FALSE(failures_.empty()) << words;
    EXPECT_THAT(failures_.back(), HasSubstr("does not use TLS")) << words;
    transport_->close();
  }
  EXPECT_EQ(owner_.hang_ups(), 3);
  EXPECT_EQ(failures_.size(), 3U);
}

// Health checks that only connect.
TEST_F(TlsHandshake, a_client_that_comes_and_goes_is_not_worth_a_word) {
  SimPeer peer(loop_);
  accept(files().listen(), peer);
  peer.close();
  loop_.run();
  EXPECT_EQ(owner_.hang_ups(), 1);
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(TlsHandshake, a_server_without_tls_is_told_of) {
  SimPeer plain(loop_);
  connect(*TlsFiles::of(files().upstream()), plain);
  plain.send("-ERR unknown command\r\n");
  loop_.run();
  EXPECT_EQ(owner_.hang_ups(), 1);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("does not use TLS")));
}

TEST_F(TlsHandshake, a_server_that_closes_within_it_is_told_of) {
  SimPeer peer(loop_);
  connect(*TlsFiles::of(files().upstream()), peer);
  peer.finish();
  loop_.run();
  EXPECT_EQ(owner_.hang_ups(), 1);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("closed during the handshake")));
}

TEST_F(TlsHandshake, versions_before_1_2_are_refused) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION}) {
    meet(files().listen(), files().upstream(), version);
    ASSERT_FALSE(failures_.empty());
    EXPECT_EQ(failures_.back(), "unsupported protocol");
    EXPECT_TRUE(peer_->has_failed());
    transport_->close();
  }
  EXPECT_EQ(owner_.hang_ups(), 2);
}

TEST_F(TlsHandshake, both_newer_versions_are_spoken) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    meet(files().listen(), files().upstream(), version);
    EXPECT_TRUE(peer_->has_shaken_hands());
    EXPECT_EQ(SSL_version(peer_->ssl()), version);
    transport_->close();
  }
}

TEST_F(TlsHandshake, a_client_needs_a_certificate_where_one_is_asked_for) {
  meet(asking_for_certificates(), files().upstream());
  EXPECT_EQ(owner_.hang_ups(), 1);
  EXPECT_THAT(failures_, ElementsAre("peer did not return a certificate"));
  EXPECT_EQ(owner_.received(), "");
}

TEST_F(TlsHandshake, a_clients_certificate_must_be_of_the_authority) {
  const harness::Authority other("another authority");
  files().add("stranger", other.issue("stranger"));
  config::UpstreamTls stranger = with_certificate();
  stranger.cert = files() / "stranger.crt";
  stranger.key = files() / "stranger.key";
  meet(asking_for_certificates(), stranger);
  EXPECT_EQ(owner_.hang_ups(), 1);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("certificate verify failed: ")));
  transport_->close();
  meet(asking_for_certificates(), with_certificate());
  peer_->send("hello");
  loop_.run();
  EXPECT_EQ(owner_.received(), "hello");
}

// With TLS 1.3 the server's word comes behind the handshake.
TEST_F(TlsHandshake, a_server_that_wants_a_certificate_is_told_of) {
  visit(files().upstream(), asking_for_certificates());
  EXPECT_TRUE(owner_.has_failed());
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("certificate required")));
}

TEST_F(TlsHandshake, a_server_must_be_of_an_authority_that_is_trusted) {
  const harness::Authority other("another authority");
  files().add("impostor", other.issue("impostor"));
  const config::ListenTls impostor{.cert = files() / "impostor.crt",
                                   .key = files() / "impostor.key"};
  visit(files().upstream(), impostor);
  EXPECT_FALSE(owner_.is_up());
  EXPECT_EQ(owner_.hang_ups(), 1);
  EXPECT_THAT(failures_, ElementsAre(HasSubstr("unable to get local issuer certificate")));
  transport_->close();
  config::UpstreamTls careless = files().upstream();
  careless.verify = false;
  visit(careless, impostor);
  EXPECT_TRUE(owner_.is_up());
}

TEST_F(TlsHandshake, a_server_must_be_the_one_that_was_meant) {
  config::UpstreamTls settings = files().upstream();
  for (const std::string good : {"localhost", "127.0.0.1"}) {
    settings.server_name = good;
    visit(settings, files().listen());
    EXPECT_TRUE(peer_->has_shaken_hands()) << good;
    transport_->close();
  }
  for (const auto& [bad, why] : {std::pair{"redis.example", "hostname mismatch"},
                                 std::pair{"127.0.0.2", "IP address mismatch"},
                                 std::pair{"::1", "IP address mismatch"}}) {
    settings.server_name = bad;
    visit(settings, files().listen());
    EXPECT_FALSE(peer_->has_shaken_hands()) << bad;
    ASSERT_FALSE(failures_.empty()) << bad;
    EXPECT_THAT(failures_.back(), HasSubstr(why));
    transport_->close();
  }
}

TEST_F(TlsHandshake, without_a_server_name_each_connection_has_a_name_of_its_own) {
  config::UpstreamTls settings = files().upstream();
  settings.server_name = "";
  for (const std::string good : {"localhost", "127.0.0.1"}) {
    visit(settings, files().listen(), good);
    EXPECT_TRUE(peer_->has_shaken_hands()) << good;
    transport_->close();
  }
  for (const std::string bad : {"redis.example", "127.0.0.2", ""}) {
    visit(settings, files().listen(), bad);
    EXPECT_FALSE(peer_->has_shaken_hands()) << bad;
    transport_->close();
  }
  settings.server_name = "localhost";
  visit(settings, files().listen(), "redis.example");
  EXPECT_TRUE(peer_->has_shaken_hands()) << "what is configured holds for all";
}

TEST_F(TlsHandshake, a_name_is_sent_and_an_address_is_not) {
  config::UpstreamTls settings = files().upstream();
  visit(settings, files().listen());
  EXPECT_STREQ(SSL_get_servername(peer_->ssl(), TLSEXT_NAMETYPE_host_name), "localhost");
  transport_->close();
  settings.server_name = "127.0.0.1";
  visit(settings, files().listen());
  EXPECT_EQ(SSL_get_servername(peer_->ssl(), TLSEXT_NAMETYPE_host_name), nullptr);
}

TEST_F(TlsHandshake, a_client_may_take_up_its_session_by_a_ticket) {
  const auto server = TlsFiles::of(asking_for_certificates());
  const auto client = TlsFiles::of(with_certificate());
  SSL_SESSION* session = nullptr;
  for (const bool is_first : {true, false}) {
    peer_ = std::make_unique<TlsPeer>(loop_, client->new_connection());
    if (session != nullptr) {
      SSL_set_session(peer_->ssl(), session);
    }
    transport_ = TlsTransport::accepted(loop_, loop_.accept(peer_->wire()), *server, on_failure_);
    owner_.own(*transport_);
    loop_.as_batch([this] {
      transport_->bind(owner_);
      owner_.set_reading(true);
    });
    peer_->pump();
    loop_.run();
    EXPECT_EQ(SSL_session_reused(peer_->ssl()), is_first ? 0 : 1);
    SSL_SESSION_free(session);
    session = SSL_get1_session(peer_->ssl());
    peer_->say_farewell();  // without one OpenSSL does not take up a session
    transport_->close();
  }
  SSL_SESSION_free(session);
}

}  // namespace
}  // namespace cuckooguard::io
