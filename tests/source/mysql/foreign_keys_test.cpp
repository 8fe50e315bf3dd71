#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mysql/table.h"

namespace cuckooguard::source::mysql {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Action = ForeignKey::Action;

std::string table(const std::string& items) {
  return "CREATE TABLE `t` (\n  `id` int(11) NOT NULL" + items +
         "\n) ENGINE=InnoDB COMMENT='FOREIGN KEY (`id`)'";
}

TEST(MysqlForeignKeys, are_what_the_definition_says) {
  EXPECT_THAT(foreign_keys_of(table("")).value(), IsEmpty());
  EXPECT_THAT(foreign_keys_of(table(",\n  CONSTRAINT `a``b` FOREIGN KEY (`id`, `x)`) REFERENCES "
                                    "`far`.`p(` (`a`, `b`) ON DELETE SET "
                                    "NULL ON UPDATE CASCADE,\n  CONSTRAINT `c` CHECK (`id` <> "
                                    "'FOREIGN KEY'),\n  CONSTRAINT `d` "
                                    "FOREIGN KEY (`id`) REFERENCES `p` (`a`) ON DELETE CASCADE,\n  "
                                    "CONSTRAINT `e` FOREIGN KEY "
                                    "(`id`) REFERENCES `p` (`a`) ON DELETE NO ACTION ON UPDATE SET "
                                    "DEFAULT,\n  CONSTRAINT `f` "
                                    "FOREIGN KEY (`id`) REFERENCES `p` (`a`) ON DELETE RESTRICT"))
                  .value(),
              ElementsAre(ForeignKey{"a`b", {"id", "x)"}, Action::change, Action::change},
                          ForeignKey{"d", {"id"}, Action::erase, Action::none},
                          ForeignKey{"e", {"id"}, Action::none, Action::change},
                          ForeignKey{"f", {"id"}, Action::none, Action::none}));
}

// What is not understood could be anything.
TEST(MysqlForeignKeys, of_a_text_that_is_not_understood_are_not_none) {
  const std::string whole =
      table(",\n  CONSTRAINT `d` FOREIGN KEY (`id`) REFERENCES `p` (`a`) ON DELETE CASCADE");
  const std::size_t end = whole.find(") ENGINE");
  for (std::size_t length = 0; length <= end; ++length) {
    EXPECT_FALSE(foreign_keys_of(whole.substr(0, length))) << whole.substr(0, length);
  }
  EXPECT_TRUE(foreign_keys_of(whole.substr(0, end + 1)));
  for (const char* const item :
       {",\n FOREIGN (`id`) REFERENCES `p` (`a`)",
        ",\n FOREIGN KEY (id) REFERENCES `p` (`a`)",
        ",\n FOREIGN KEY (`id`) `p` (`a`)",
        ",\n FOREIGN KEY (`id`) REFERENCES `p` (`a`) ON DELETE ERASE",
        ",\n FOREIGN KEY (`id`) REFERENCES `p` (`a`) ON INSERT CASCADE",
        ",\n FOREIGN KEY (`id`) REFERENCES `p` (`a`) MATCH FULL ON DELETE CASCADE"}) {
    EXPECT_FALSE(foreign_keys_of(table(item))) << item;
  }
  EXPECT_FALSE(foreign_keys_of("CREATE ALGORITHM=UNDEFINED VIEW `t` AS select 1"));
}

// Columns `id`, which is read, `parent` and `note`.
TablePlan children() {
  const auto column = [](const std::string& name, std::size_t ordinal) {
    return Column{.name = name,
                  .data_type = "int",
                  .column_type = "int(11)",
                  .charset = "",
                  .collation = "",
                  .ordinal = ordinal};
  };
  TablePlan table;
  table.schema = "shop";
  table.name = "child";
  table.columns = {column("id", 0), column("parent", 1), column("note", 2)};
  table.identity = {0};
  table.primary_key = {0};
  return table;
}

std::string refusal_of(const ForeignKey& key, const TablePlan& table = children()) {
  const auto logged = rows_change_unlogged(table, std::vector{key});
  return logged ? "" : logged.error();
}

TEST(MysqlForeignKeys, by_which_rows_go_are_refused_whatever_their_columns_are) {
  EXPECT_THAT(refusal_of({"fk", {"parent"}, Action::erase, Action::none}),
              HasSubstr("deletes rows"));
  EXPECT_THAT(refusal_of({"fk", {"id"}, Action::erase, Action::none}), HasSubstr("`fk`"));
  EXPECT_EQ(refusal_of({"fk", {"id"}, Action::none, Action::none}), "");
}

TEST(MysqlForeignKeys, by_which_columns_change_are_refused_if_those_are_read_or_may_be) {
  for (const auto& [on_delete, on_update] :
       {std::pair{Action::change, Action::none}, std::pair{Action::none, Action::change}}) {
    EXPECT_EQ(refusal_of({"fk", {"parent"}, on_delete, on_update}), "");
    EXPECT_THAT(refusal_of({"fk", {"parent", "ID"}, on_delete, on_update}), HasSubstr("changes"));
    EXPECT_NE(refusal_of({"fk", {"unknown"}, on_delete, on_update}), "");
    TablePlan generated = children();
    generated.columns[0].is_generated = true;
    EXPECT_NE(refusal_of({"fk", {"parent"}, on_delete, on_update}, generated), "");
  }
}

}  // namespace
}  // namespace cuckooguard::source::mysql
