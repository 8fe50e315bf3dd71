#include "mysql/foreign_keys.h"

#include <algorithm>
#include <utility>

#include "binlog/sql_words.h"
#include "keyspace/identity.h"
#include "mysql/server.h"

namespace cuckooguard::source::mysql {
namespace {

using binlog::SqlWords;
using Kind = SqlWords::Kind;
using Action = ForeignKey::Action;

// `a``b` is a`b.
std::string unquoted(std::string_view name) {
  std::string plain;
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    plain += name[i];
    i += name[i] == name.front() ? 1 : 0;
  }
  return plain;
}

//   CREATE TABLE `t` (
//     ...,
//     CONSTRAINT `name` FOREIGN KEY (`column`, ...) REFERENCES `other` (...) ON DELETE ... ON
//     UPDATE ...
//   ) ENGINE=InnoDB ...
class Reader {
 public:
  explicit Reader(std::string_view text) : words_(text) { step(); }

  std::expected<std::vector<ForeignKey>, std::string> read() {
    if (!takes("CREATE") || !takes("TABLE")) {
      return not_understood();
    }
    while (word_.kind == Kind::quoted || word_.text == ".") {
      step();
    }
    if (word_.text != "(") {
      return not_understood();
    }
    do {
      step();
      if (!item()) {
        return not_understood();
      }
    } while (word_.text == ",");
    return word_.text == ")" ? std::expected<std::vector<ForeignKey>, std::string>(std::move(all_))
                             : not_understood();
  }

 private:
  static std::unexpected<std::string> not_understood() {
    return std::unexpected(std::string("its SHOW CREATE TABLE is not understood"));
  }
  void step() { word_ = words_.next(); }
  bool takes(std::string_view word) {
    const bool is_it = word_.is(word);
    if (is_it) {
      step();
    }
    return is_it;
  }
  bool is_at_end() const { return word_.kind == Kind::end || word_.kind == Kind::malformed; }

  // A column, a key, a constraint: up to the comma or parenthesis behind it.
  bool item() {
    std::string name;
    if (takes("CONSTRAINT") && word_.kind == Kind::quoted) {
      name = unquoted(word_.text);
      step();
    }
    if (!takes("FOREIGN")) {
      return skip_item();
    }
    ForeignKey& key = all_.emplace_back(ForeignKey{.name = std::move(name)});
    return takes("KEY") && columns(key) && takes("REFERENCES") && actions(key);
  }

  bool skip_item() {
    for (int depth = 0; !is_at_end(); step()) {
      if (depth == 0 && (word_.text == "," || word_.text == ")")) {
        return true;
      }
      depth += word_.text == "(" ? 1 : 0;
      depth -= word_.text == ")" ? 1 : 0;
    }
    return false;
  }

  bool columns(ForeignKey& key) {
    if (word_.text != "(") {
      return false;
    }
    do {
      step();
      if (word_.kind != Kind::quoted) {
        return false;
      }
      key.columns.push_back(unquoted(word_.text));
      step();
    } while (word_.text == ",");
    const bool is_closed = word_.text == ")";
    step();
    return is_closed;
  }

  bool actions(ForeignKey& key) {
    while (word_.text != ")" && !is_at_end()) {  // the other table and its columns
      step();
    }
    step();
    while (takes("ON")) {
      const bool is_delete = word_.is("DELETE");
      if (!is_delete && !word_.is("UPDATE")) {
        return false;
      }
      step();
      (is_delete ? key.on_delete : key.on_update) = action(is_delete);
    }
    return word_.text == "," || word_.text == ")";
  }

  Action action(bool is_delete) {
    if (takes("CASCADE")) {
      return is_delete ? Action::erase : Action::change;
    }
    if (takes("SET")) {  // NULL, DEFAULT
      step();
      return Action::change;
    }
    if (takes("NO")) {  // ACTION
      step();
    } else {
      takes("RESTRICT");  // nothing else is left, and what is not understood is not skipped
    }
    return Action::none;
  }

  SqlWords words_;
  SqlWords::Word word_;
  std::vector<ForeignKey> all_;
};

bool is_same_name(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, keyspace::fold, keyspace::fold);
}

// A generated column may change with any other, and one that is not known may be any.
bool changes_what_is_read(const TablePlan& table, const ForeignKey& key) {
  const std::vector<std::size_t> read = table.needed();
  const bool reads_generated = std::ranges::any_of(
      read, [&table](std::size_t place) { return table.columns[place].is_generated; });
  return reads_generated || std::ranges::any_of(key.columns, [&](const std::string& name) {
           const auto column = std::ranges::find_if(
               table.columns, [&name](const Column& any) { return is_same_name(any.name, name); });
           return column == table.columns.end() ||
                  std::ranges::find(read, column->ordinal) != read.end();
         });
}

}  // namespace

std::expected<std::vector<ForeignKey>, std::string> foreign_keys_of(std::string_view create_table) {
  return Reader(create_table).read();
}

Planned<std::vector<ForeignKey>> ask_foreign_keys(Connection& connection, const TablePlan& table) {
  constexpr unsigned kTableAccessDenied = 1142;
  const std::string name = quoted_name(table.schema) + "." + quoted_name(table.name);
  const auto shown = connection.ask("SHOW CREATE TABLE " + name);
  if (!shown && shown.error().code == kTableAccessDenied) {
    const auto account = own_account(connection);
    return std::unexpected("of table `" + table.name + "` not all may be seen: GRANT SELECT ON " +
                           name + " TO " + account.value_or("the guard's user"));
  }
  if (!shown) {
    return std::unexpected(shown.error());
  }
  auto keys = foreign_keys_of(shown->empty() ? "" : shown->front()[1].value_or(""));
  if (!keys) {
    return std::unexpected("table `" + table.name + "`: " + keys.error());
  }
  return *std::move(keys);
}

std::expected<void, std::string> rows_change_unlogged(const TablePlan& table,
                                                      std::span<const ForeignKey> keys) {
  for (const ForeignKey& key : keys) {
    const bool erases = key.on_delete == Action::erase;
    const bool changes = key.on_delete == Action::change || key.on_update == Action::change;
    if (erases || (changes && changes_what_is_read(table, key))) {
      return std::unexpected(
          "foreign key `" + key.name + "` of table `" + table.name + "` " +
          (erases ? "deletes rows" : "changes what is read of rows") +
          " with those of another table, which the log does not tell; make it ON DELETE "
          "RESTRICT ON UPDATE RESTRICT");
    }
  }
  return {};
}

}  // namespace cuckooguard::source::mysql
