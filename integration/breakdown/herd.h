// A database that is slow, and the clients of applications that read it through a cache: it tells
// each client which row to look up, so that all begin at once, and counts the loads.
//
// The programs of this folder have one connection to it per client, and speak in lines:
//
//   client           herd
//   ready        ─▶
//                ◀─  read ID         or: end
//   load ID      ─▶                  its cache had nothing
//                ◀─  VALUE           after the load time; or: die, as herd.php and herd_hiredis can
//   took US VALUE ─▶                 the whole look-up, in microseconds; and it is ready again
//
// Threads: that of run() and of wait_for(), which do all the work. Errors: std::runtime_error, also
// when a deadline passes or a client leaves that was not to die.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/deadline.h"

namespace cuckooguard::harness {

class Herd {
 public:
  // The database serves so many loads at a time, and the others after them; 0: all at once.
  explicit Herd(milliseconds load_time, std::size_t at_a_time = 0);
  ~Herd();
  Herd(const Herd&) = delete;
  Herd& operator=(const Herd&) = delete;

  std::uint16_t port() const { return port_; }

  // Until so many clients are ready.
  void wait_for(std::size_t clients);

  struct Round {
    std::size_t loads = 0;
    std::size_t most_at_once = 0;
    std::size_t wrong = 0;          // values that are not those of the database now
    double total_ms = 0;            // until the last client was ready
    std::vector<double> took_ms{};  // each look-up, sorted
  };
  // Hands these ids out, to each client that is ready the next one; returns when all have been
  // looked up. Every row has a new value from now on.
  Round run(const std::vector<std::uint64_t>& ids);

  // The client that asks for the next load is told to die.
  void kill_next_loader() { kills_next_ = true; }
  // All clients are told to end.
  void end();

 private:
  struct Client {
    int socket = -1;
    std::string received{};
    std::string expects{};  // the value of the row that it looks up; empty: it does not
    bool dies = false;
  };
  using Clients = std::map<int, Client>;  // by socket

  void turn(const Deadline& deadline);
  void accept();
  void receive(Client& client);
  void take(Client& client, std::string_view line);
  void leave(Client& client);
  void begin_loads();
  void finish_loads();
  void hand_out();
  std::string value(std::string_view id) const;
  static void tell(const Client& client, const std::string& line);

  const milliseconds load_time_;
  const std::size_t at_a_time_;
  int listener_ = -1;
  int epoll_ = -1;
  std::uint16_t port_ = 0;
  Clients clients_;
  std::deque<int> ready_;

  struct Load {
    int socket = -1;
    SteadyClock::time_point done{};
    std::string id{};
  };
  std::deque<Load> loads_;   // begun, the first done first
  std::deque<Load> queued_;  // the database is busy with others
  bool kills_next_ = false;

  std::uint64_t version_ = 0;  // of all rows
  std::deque<std::uint64_t> ids_;
  std::size_t reading_ = 0;
  Round round_;
};

}  // namespace cuckooguard::harness
