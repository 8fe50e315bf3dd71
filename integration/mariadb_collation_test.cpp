// What {name|ci} relies on: by which letters a collation of a real MariaDB finds other texts equal.

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "fixtures/skip.h"
#include "harness/mariadb_server.h"
#include "mysql/column.h"

namespace cuckooguard::harness {
namespace {

// Every collation of texts that may be keys, those of MariaDB 10.10 and later by the name that goes
// with utf8mb4.
constexpr const char* kCollations =
    "SELECT full_collation_name, character_set_name FROM "
    "information_schema.collation_character_set_applicability WHERE character_set_name IN "
    "('utf8mb4', 'utf8mb3', 'ascii')";

// Of a table `one` of all printable characters and all pairs of them with `a`: those which the
// collation takes for another although they differ in more than case and blanks at the end.
std::string taken_for_another(SqlSession& session,
                              const std::string& collation,
                              const std::string& charset) {
  const std::string text = "CONVERT(%.c USING " + charset + ") COLLATE " + collation;
  const auto of = [&text](const std::string& table) {
    std::string own = text;
    own.replace(own.find('%'), 1, table);
    return own;
  };
  return session.value(
      "SELECT GROUP_CONCAT(x.c, ' = ', y.c SEPARATOR '; ') FROM one x, one y WHERE x.c < y.c AND " +
      of("x") + " = " + of("y") +
      " AND LOWER(RTRIM(x.c)) COLLATE ascii_bin <> LOWER(RTRIM(y.c)) COLLATE ascii_bin");
}

TEST(MariaDbCollation, takes_no_letter_for_another_unless_it_is_refused) {
  SKIP_IF_MISSING(MariaDbServer::missing());
  const MariaDbServer server;
  SqlSession session = server.session();
  session.run("CREATE TABLE one (c VARCHAR(2) CHARACTER SET ascii COLLATE ascii_nopad_bin)");
  session.run("INSERT INTO one SELECT CHAR(seq USING ascii) FROM seq_32_to_126");
  session.run("INSERT INTO one SELECT CONCAT('a', CHAR(seq USING ascii)) FROM seq_32_to_126");
  std::size_t refused = 0;
  const auto collations = session.run(kCollations);
  EXPECT_GT(collations.size(), 50U);
  for (const auto& row : collations) {
    const std::string& collation = row[0].value();
    const std::string taken = taken_for_another(session, collation, row[1].value());
    if (!source::mysql::folds_no_more_than_case(collation)) {
      refused += taken.empty() ? 0 : 1;
      continue;
    }
    EXPECT_EQ(taken, "") << collation;
  }
  EXPECT_GT(refused, 3U) << "nothing was there to be refused";
}

}  // namespace
}  // namespace cuckooguard::harness
