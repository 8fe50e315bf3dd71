#include "upstream/connection.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "simulation/sim_loop.h"
#include "simulation/sim_transport.h"

namespace cuckooguard::upstream {
namespace {

using simulation::SimLoop;
using simulation::SimPeer;
using simulation::SimTransport;
using std::chrono::seconds;

class ConnectionTest : public ::testing::Test, public Connection::Owner {
 protected:
  ConnectionTest() {
    loop_.on_connect([this](SimTransport& transport) {
      transport_ = transport.weak_self();
      transport.observe(
          {.on_read = {}, .on_write = [this](std::string_view) { ++writes_; }, .on_close = {}});
    });
    settings_.connect_timeout = seconds(5);
    connection_ = std::make_unique<Connection>(loop_, settings_, *this);
  }
  void TearDown() override { EXPECT_EQ(loop_.failure(), ""); }

  void on_upstream_up() override { ++ups_; }
  void on_upstream_bytes(std::string_view bytes) override { got_ += bytes; }
  void on_upstream_progress() override { ++progress_; }
  void on_upstream_lost() override {
    EXPECT_FALSE(calling_);
    ++losses_;
  }

  void accept() {
    (*transport_.lock())->establish(redis_);
    loop_.run();
  }
  // As the owner calls: within a batch.
  template <typename Call>
  void in_batch(const Call& call) {
    loop_.as_batch([&] {
      calling_ = true;
      call();
      calling_ = false;
    });
    loop_.run();
  }
  void send(const std::string& bytes) {
    in_batch([&] { connection_->send(bytes); });
  }

  SimLoop loop_{1};
  config::Upstream settings_;
  SimPeer redis_{loop_};
  std::weak_ptr<SimTransport*> transport_;
  int ups_ = 0;
  int losses_ = 0;
  int progress_ = 0;
  int writes_ = 0;
  bool calling_ = false;
  std::string got_;
  std::unique_ptr<Connection> connection_;
};

TEST_F(ConnectionTest, says_once_that_it_is_up_and_hands_on_what_comes) {
  EXPECT_EQ(connection_->state(), Connection::State::connecting);
  accept();
  EXPECT_EQ(connection_->state(), Connection::State::up);
  EXPECT_EQ(ups_, 1);
  redis_.send("+PONG\r\n");
  loop_.run();
  EXPECT_EQ(got_, "+PONG\r\n");
  EXPECT_EQ(losses_, 0);
}

TEST_F(ConnectionTest, what_is_sent_in_one_batch_is_one_write_at_its_end) {
  accept();
  in_batch([this] {
    connection_->send("one ");
    connection_->send("two ");
    connection_->send("three");
    EXPECT_EQ(writes_, 0);
  });
  EXPECT_EQ(writes_, 1);
  EXPECT_EQ(redis_.read(), "one two three");
  EXPECT_EQ(connection_->unsent(), 0U);
}

TEST_F(ConnectionTest, what_is_sent_before_it_is_up_waits) {
  send("early");
  EXPECT_EQ(connection_->unsent(), 5U);
  accept();
  EXPECT_EQ(redis_.read(), "early");
}

TEST_F(ConnectionTest, a_refusal_is_a_loss_told_once) {
  (*transport_.lock())->refuse();
  loop_.run(seconds(20));
  EXPECT_EQ(losses_, 1);
  EXPECT_EQ(ups_, 0);
  EXPECT_EQ(connection_->state(), Connection::State::lost);
}

TEST_F(ConnectionTest, who_does_not_answer_within_the_timeout_is_lost_and_who_does_is_not) {
  loop_.run(seconds(4));
  EXPECT_EQ(losses_, 0);
  loop_.run(seconds(20));
  EXPECT_EQ(losses_, 1);

  connection_ = std::make_unique<Connection>(loop_, settings_, *this);
  accept();
  loop_.run(seconds(20));
  EXPECT_EQ(losses_, 1);
}

TEST_F(ConnectionTest, an_end_is_told_once_and_after_the_last_bytes) {
  accept();
  redis_.send("last words");
  redis_.close();
  loop_.run(seconds(20));
  EXPECT_EQ(got_, "last words");
  EXPECT_EQ(losses_, 1);
  EXPECT_EQ(connection_->state(), Connection::State::lost);
}

TEST_F(ConnectionTest, while_it_is_not_to_read_nothing_is_read_and_nothing_is_lost) {
  accept();
  connection_->set_reading(false);
  redis_.send("waiting");
  redis_.close();
  loop_.run();
  EXPECT_EQ(got_, "");
  EXPECT_EQ(losses_, 0);
  connection_->set_reading(true);
  loop_.run();
  EXPECT_EQ(got_, "waiting");
  EXPECT_EQ(losses_, 1);
}

TEST_F(ConnectionTest, a_reset_while_it_is_not_to_read_does_not_spin_and_is_told_later) {
  accept();
  connection_->set_reading(false);
  redis_.reset();
  loop_.run();
  EXPECT_EQ(losses_, 0);
  send("into the void");
  EXPECT_EQ(connection_->unsent(), 0U);  // what cannot be sent is not kept
  EXPECT_EQ(losses_, 0);
  connection_->set_reading(true);
  loop_.run();
  EXPECT_EQ(losses_, 1);
}

TEST_F(ConnectionTest, what_redis_said_before_it_closed_is_read_although_writing_fails) {
  accept();
  redis_.send("-ERR max number of clients reached\r\n");
  redis_.close();
  send("PING\r\n");
  EXPECT_EQ(got_, "-ERR max number of clients reached\r\n");
  EXPECT_EQ(losses_, 1);
}

TEST_F(ConnectionTest, a_slow_reader_gets_it_bit_by_bit_and_the_owner_hears_of_progress) {
  loop_.weather().capacity_min = loop_.weather().capacity_max = 1000;
  accept();
  const std::string bytes(10'000, 'x');
  send(bytes);
  EXPECT_EQ(connection_->unsent(), 9000U);
  const int before = progress_;
  std::string got;
  while (got.size() < bytes.size()) {
    got += redis_.read(100);
    loop_.run();
  }
  EXPECT_EQ(got, bytes);
  EXPECT_EQ(connection_->unsent(), 0U);
  EXPECT_GT(progress_, before);
}

TEST_F(ConnectionTest, the_end_of_sending_comes_behind_what_is_queued_and_reading_goes_on) {
  loop_.weather().capacity_min = loop_.weather().capacity_max = 1000;
  accept();
  send(std::string(3000, 'x'));
  in_batch([this] { connection_->finish_sending(); });
  EXPECT_EQ(redis_.read().size(), 1000U);
  EXPECT_FALSE(redis_.at_end());
  while (!redis_.at_end()) {
    loop_.run();
    ASSERT_GT(redis_.read().size(), 0U);
    loop_.run();
  }
  redis_.send("reply");
  loop_.run();
  EXPECT_EQ(got_, "reply");
}

TEST_F(ConnectionTest, the_end_of_sending_waits_for_the_connection) {
  send("all");
  in_batch([this] { connection_->finish_sending(); });
  accept();
  EXPECT_EQ(redis_.read(), "all");
  EXPECT_TRUE(redis_.at_end());
}

TEST_F(ConnectionTest, after_close_the_owner_hears_nothing_more) {
  accept();
  redis_.send("late");
  connection_->close();
  loop_.run(seconds(20));
  EXPECT_EQ(got_, "");
  EXPECT_EQ(losses_, 0);
  EXPECT_TRUE(redis_.at_end());
}

TEST_F(ConnectionTest, a_close_while_connecting_cancels_the_timeout) {
  connection_->close();
  loop_.run(seconds(20));
  EXPECT_EQ(losses_, 0);
}

}  // namespace
}  // namespace cuckooguard::upstream
