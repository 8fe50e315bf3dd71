// A guard's configuration, as tests, benchmarks and the demo have it; in YAML, of which whatever is
// `more` has the words.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "harness/deadline.h"
#include "harness/postgres_server.h"
#include "harness/sql_server.h"

namespace cuckooguard::harness {

inline constexpr milliseconds kMaxLag{500};  // of mysql_source and postgres_source
// What a guard says for a key that cannot exist: not what Redis would say, so that it tells who has
// answered.
inline constexpr std::string_view kAbsentText = "__ABSENT__";
inline constexpr std::string_view kAnswer = "$10\r\n__ABSENT__\r\n";

// A source, as the user that create_guard_user() makes.
std::string mysql_source(const std::string& addresses,
                         milliseconds max_lag = kMaxLag,
                         const std::string& more = "");
// As the role that create_guard_role() makes.
std::string postgres_source(const std::string& addresses,
                            milliseconds max_lag = kMaxLag,
                            const std::string& more = "");
std::string sqlite_source(const std::filesystem::path& path, const std::string& more = "");
// For `addresses`.
std::string unix_address(const SqlServer& server);
std::string unix_address(const PostgresServer& server);
std::string port_address(std::uint16_t port);  // of 127.0.0.1

// Of the environment (CUCKOOGUARD_CONSISTENCY), or "max_lag": what most tests look at is not when
// an absent verdict is given.
std::string consistency();
// Behind its commit: a source's max_lag, or not at all.
milliseconds hidden_at_most(milliseconds max_lag);

// A namespace that answers for absent keys, of a table of the source `shop`. What is empty is left
// out.
struct Guarded {
  std::string name = "users";
  std::string keys = "user:{id:uint64}";  // or several: [ "...", "..." ]
  std::string table = "user";             // and what else its source has: "user, where: ..."
  std::string mode = "enforce";
  std::string fresh_ids = "0";
  // Tests do not wait until what was written before the start is surely known.
  std::string overlay = "{ pass_at_start: false }";
  std::string absent_reply = "bytes:__ABSENT__";
  std::string filter = "{ false_positive_rate: 0.0001% }";
  std::string consistency = harness::consistency();
  std::string more{};  // ", order: redis-first"

  std::string yaml() const;  // a line
};

struct Configuration {
  std::string upstream = "127.0.0.1:1";              // where nobody listens
  std::string source = mysql_source("127.0.0.1:1");  // `shop`
  std::string namespaces = Guarded().yaml();         // lines
  std::string more{};                                // lines of the top level
  std::string workers = "2";

  std::string yaml() const;
};

// A line of the top level. Checkpoints are written as often as tests look for them.
std::string storage(const std::filesystem::path& directory,
                    const std::string& checkpoint_every = "1s");

}  // namespace cuckooguard::harness
