#include "postgres/fingerprints.h"
#include "postgres/log_follower.h"
#include "text/try.h"

namespace cuckooguard::source::postgres {
namespace {

// As fingerprints choose them.
constexpr const char* kKinds = "c.relkind IN ('r', 'p', 'v', 'm', 'f')";

std::string scope_sql(const std::string& schema, const std::string& is_wanted) {
  return std::string(
             "WITH RECURSIVE wanted AS MATERIALIZED (SELECT c.oid FROM pg_catalog.pg_class c JOIN "
             "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ") +
         schema + " AND " + kKinds + " AND (" + is_wanted +
         ")), below AS (SELECT w.oid FROM wanted w UNION SELECT i.inhrelid FROM below b JOIN "
         "pg_catalog.pg_inherits i ON i.inhparent = b.oid), above AS (SELECT w.oid FROM wanted w "
         "UNION SELECT i.inhparent FROM above a JOIN pg_catalog.pg_inherits i ON i.inhrelid = "
         "a.oid), types AS (SELECT a.atttypid AS oid FROM wanted w JOIN pg_catalog.pg_attribute a "
         "ON a.attrelid = w.oid WHERE a.attnum > 0 AND NOT a.attisdropped UNION SELECT "
         "t.typbasetype FROM types d JOIN pg_catalog.pg_type t ON t.oid = d.oid AND t.typtype = "
         "'d') SELECT coalesce((SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = " +
         schema +
         "), 0), ARRAY(SELECT w.oid FROM wanted w ORDER BY 1)::text, ARRAY(SELECT b.oid FROM below "
         "b UNION SELECT a.oid FROM above a ORDER BY 1)::text, ARRAY(SELECT t.oid FROM types d "
         "JOIN pg_catalog.pg_type t ON t.oid = d.oid WHERE t.typtype = 'e' ORDER BY 1)::text";
}

std::string any_of(const std::string& oids) {
  return " = ANY ('" + oids + "'::pg_catalog.oid[])";
}

std::string watch_sql(const CatalogScope& scope,
                      const std::string& schema,
                      const std::string& publication,
                      const std::string& is_wanted,
                      bool has_published_schemas) {
  const std::string members = any_of(scope.members);
  std::string sql =
      "SELECT pg_catalog.array_agg(x) FROM (SELECT n.xmin AS x FROM pg_catalog.pg_namespace n "
      "WHERE n.nspname = " +
      schema +
      " UNION ALL SELECT c.xmin FROM pg_catalog.pg_class c WHERE c.relnamespace = " + scope.schema +
      " AND " + kKinds + " AND (" + is_wanted +
      ") UNION ALL SELECT c.xmin FROM pg_catalog.pg_class c WHERE c.oid" + members +
      " UNION ALL SELECT CASE WHEN pg_catalog.row_security_active(c.oid) THEN '1' ELSE '0' "
      "END::pg_catalog.xid FROM pg_catalog.pg_class c WHERE c.oid" +
      members +
      " UNION ALL SELECT y.xmin FROM pg_catalog.pg_class c JOIN pg_catalog.pg_type y ON y.oid = "
      "c.reltype WHERE c.oid" +
      members + " UNION ALL SELECT i.xmin FROM pg_catalog.pg_inherits i WHERE i.inhparent" +
      members + " UNION ALL SELECT i.xmin FROM pg_catalog.pg_inherits i WHERE i.inhrelid" +
      members + " UNION ALL SELECT a.xmin FROM pg_catalog.pg_attribute a WHERE a.attrelid" +
      any_of(scope.tables) +
      " AND a.attnum > 0 UNION ALL SELECT i.xmin FROM pg_catalog.pg_index i WHERE i.indrelid" +
      members +
      " AND i.indisunique UNION ALL SELECT e.xmin FROM pg_catalog.pg_enum e WHERE "
      "e.enumtypid" +
      any_of(scope.enums) +
      " UNION ALL SELECT p.xmin FROM pg_catalog.pg_publication p WHERE p.pubname = " + publication +
      " UNION ALL SELECT r.xmin FROM pg_catalog.pg_publication_rel r WHERE r.prrelid" + members;
  if (has_published_schemas) {
    sql += " UNION ALL SELECT s.xmin FROM pg_catalog.pg_publication_namespace s";
  }
  return sql + ") AS watched";
}

}  // namespace

Done prepare_scope(Connection& connection,
                   std::string_view schema,
                   std::span<const std::string> tables) {
  return connection.run("PREPARE scope AS " +
                        scope_sql(connection.quoted(schema), is_wanted_sql(connection, tables)));
}

Expected<CatalogScope> scope_of(const Answer& answer) {
  if (answer.size() != 1 || answer.front().size() != 4) {
    return failed("the server does not report its catalog");
  }
  const auto& row = answer.front();
  return CatalogScope{.schema = row[0].value_or(""),
                      .tables = row[1].value_or(""),
                      .members = row[2].value_or(""),
                      .enums = row[3].value_or("")};
}

Done prepare_watch(Connection& connection, const CatalogScope& scope, const CatalogWatch& watch) {
  constexpr int kPublishesSchemas = 150000;
  if (watch.is_one) {
    TRY(connection.run("DEALLOCATE watch"));
  }
  return connection.run("PREPARE watch AS " +
                        watch_sql(scope,
                                  connection.quoted(watch.schema),
                                  connection.quoted(watch.publication),
                                  is_wanted_sql(connection, watch.tables),
                                  connection.server_version() >= kPublishesSchemas));
}

std::string watch_of(const Answer& answer) {
  const bool is_told = answer.size() == 1 && answer.front().size() == 1;
  return "xmins " + (is_told ? answer.front().front().value_or("") : "");
}

}  // namespace cuckooguard::source::postgres
