// One odd thing that a database does to a followed table, as data; odd_run.h runs it.
//
//   before ─▶ four namespaces are followed ─▶ steps ─▶ two rows more ─▶ what is expected
//
//   ids, groups           one table, by its name: an identity that is unique, and one that many
//                         rows have, or none
//   all_ids, all_groups   the same of all tables that the pattern finds
//
// In SQL and in names {t} is the table's name, another one in each case, {db} its database, {far}
// the name of a database that is nobody's, {bin} the one collation by which nothing but equal bytes
// is equal. A step is run on session `a` unless it begins otherwise:
//
//   "b: SQL"     on session b, which begins with its first step; "b: leave" ends it
//   "b&: SQL"    the same, and only b's next step, and the end, wait for it
//   "! SQL"      must fail; "b: ! SQL"
//   "server: restart", "server: kill"   alone on its server
//
// Before each step everything is proven to be up to date, so that a moment in which a key is hidden
// is one that the step has made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cuckooguard::harness {

enum class On : std::uint8_t { both, mariadb, mysql };
enum class End : std::uint8_t { exact, refused, unsynced };
// Of the four namespaces: those of which `end` and `words` speak. The others end exact.
enum class Whose : std::uint8_t { all, ids, groups, named, matched };

// t (id, g, note), eight rows: two with the same g, one each, two without.
inline const std::vector<std::string> kUsual = {
    "CREATE TABLE {t} (id BIGINT UNSIGNED PRIMARY KEY, g INT UNSIGNED, note VARCHAR(40))",
    "INSERT INTO {t} VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, NULL), (4, 3, 'd'), (5, 4, 'e'), (6, "
    "NULL, 'f'), "
    "(7, NULL, NULL), (8, 5, 'h')"};

struct OddThing {
  std::string name;
  std::vector<std::string> steps;
  End end = End::exact;
  std::string words{};  // of a reason that is given on the way, or at the end
  Whose whose = Whose::all;
  On on = On::both;
  std::vector<std::string> before = kUsual;
  std::string table = "{t}";
  std::string pattern = "{t}*";  // empty: without all_ids and all_groups
  // Behind the namespace's name and a colon.
  std::string id = "{id:uint64}";
  std::string group = "{g:uint64}";  // empty: without groups
  bool is_unique = true;  // still at the end, so that the filter counts as many as there are rows
  bool goes_on = true;    // id and g take other numbers at the end
};

using OddThings = std::vector<OddThing>;

OddThings odd_definitions();
OddThings odd_tables();
OddThings odd_rows();
OddThings odd_values();
OddThings odd_names();
OddThings odd_sessions();
OddThings odd_servers();  // each alone

}  // namespace cuckooguard::harness
