#include "postgres/fingerprints.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/table_pattern.h"
#include "text/try.h"
#include "text/words.h"

namespace cuckooguard::source::postgres {
namespace {

using config::NameCase;

// As a pattern of LIKE, of which what matches is looked at again: its `_` is a letter, not a byte.
std::string like(std::string_view pattern) {
  std::string text;
  for (const char byte : pattern) {
    if (byte == '\\' || byte == '%' || byte == '_') {
      text += '\\';
    }
    text += byte == '*' || byte == '?' ? '%' : byte;
  }
  return text;
}

// A partition whose whole is among them, too, is a part of that.
bool is_meant(std::span<const std::string> tables,
              std::string_view name,
              const std::optional<std::string>& whole) {
  return std::ranges::count(tables, name) > 0 ||
         (config::matches_any_table(tables, name, NameCase::exact) &&
          !(whole && config::matches_any_table(tables, *whole, NameCase::exact)));
}

// Columns that not every release has are asked of rows as JSON. An enum's labels can be renamed, by
// which the text of rows changes. What was taken out of a publication, or off a tree, and put back
// has rows that nobody was told of: it is known by the transaction that has put it there (xmin).
std::string question(const std::string& schema,
                     const std::string& publication,
                     const std::string& is_wanted,
                     bool has_published_schemas) {
  const std::string schemas =
      has_published_schemas
          ? ", (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', s.oid, s.xmin), ',' ORDER "
            "BY s.oid) FROM pg_catalog.pg_publication_namespace s WHERE s.pnpubid = p.oid)"
          : "";
  return "WITH RECURSIVE wanted AS MATERIALIZED (SELECT c.oid, c.relname, c.relnamespace, CASE "
         "WHEN c.relispartition THEN pg_catalog.pg_partition_root(c.oid) END AS whole FROM "
         "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE "
         "n.nspname = " +
         schema + " AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (" + is_wanted +
         ")), published AS MATERIALIZED (SELECT v.tablename, pg_catalog.to_jsonb(v)::text AS words "
         "FROM pg_catalog.pg_publication_tables v WHERE v.pubname = " +
         publication + " AND v.schemaname = " + schema +
         " AND v.tablename IN (SELECT relname FROM wanted)), domains AS (SELECT t.oid, "
         "t.typbasetype AS base FROM pg_catalog.pg_type t WHERE t.typtype = 'd' UNION ALL "
         "SELECT d.oid, t.typbasetype FROM domains d JOIN pg_catalog.pg_type t ON t.oid = "
         "d.base AND t.typtype = 'd'), tree AS (SELECT w.oid AS root, w.oid, '' AS link FROM "
         "wanted w UNION SELECT t.root, i.inhrelid, pg_catalog.to_jsonb(i)::text || ' ' || "
         "i.xmin FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid), members AS "
         "(SELECT t.root, pg_catalog.concat_ws(' ', c.oid, t.link, c.relkind, c.relfilenode, "
         "c.relpersistence, (SELECT y.xmin FROM pg_catalog.pg_type y WHERE y.oid = c.reltype), "
         "c.relreplident, c.relrowsecurity, c.relforcerowsecurity, "
         "c.relowner, c.relispartition, pg_catalog.row_security_active(c.oid), (SELECT "
         "pg_catalog.string_agg(pg_catalog.concat_ws(' ', i.indexrelid, i.indkey, "
         "i.indnkeyatts, i.indisprimary, i.indisreplident, i.indisvalid, i.indimmediate, "
         "i.indpred IS NULL), ',' ORDER BY i.indexrelid) FROM pg_catalog.pg_index i WHERE "
         "i.indrelid = c.oid AND i.indisunique)) AS words FROM tree t JOIN pg_catalog.pg_class "
         "c ON c.oid = t.oid), columns AS (SELECT w.oid AS root, pg_catalog.concat_ws(' ', "
         "a.attnum, pg_catalog.quote_ident(a.attname), a.atttypid, a.atttypmod, a.attcollation, "
         "a.attnotnull, a.attidentity, a.attgenerated, (SELECT "
         "pg_catalog.string_agg(pg_catalog.concat_ws(' ', e.xmin, pg_catalog.quote_literal("
         "e.enumlabel)), ',' ORDER BY e.oid) FROM "
         "pg_catalog.pg_enum e WHERE e.enumtypid = a.atttypid OR e.enumtypid IN (SELECT d.base "
         "FROM domains d WHERE d.oid = a.atttypid))) AS words FROM wanted w JOIN "
         "pg_catalog.pg_attribute a ON a.attrelid = w.oid WHERE a.attnum > 0 AND NOT "
         "a.attisdropped), words AS (SELECT w.relname, w.relnamespace, w.whole, "
         "pg_catalog.concat_ws(E'\\n', (SELECT pg_catalog.string_agg(m.words, E'\\n' ORDER BY "
         "m.words) FROM members m WHERE m.root = w.oid), (SELECT pg_catalog.string_agg(c.words, "
         "E'\\n' ORDER BY c.words) FROM columns c WHERE c.root = w.oid), (SELECT "
         "pg_catalog.concat_ws(' ', (pg_catalog.to_jsonb(p) - 'pubowner')::text, p.xmin, "
         "(SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', r.oid, r.xmin), ',' ORDER BY "
         "r.oid) FROM pg_catalog.pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid IN "
         "(SELECT t.oid FROM tree t WHERE t.root = w.oid))" +
         schemas + ") FROM pg_catalog.pg_publication p WHERE p.pubname = " + publication +
         "), (SELECT pg_catalog.string_agg(p.words, E'\\n' ORDER BY p.words) FROM published p "
         "WHERE p.tablename = w.relname)) AS words FROM wanted w) SELECT w.relname, "
         "pg_catalog.encode(pg_catalog.sha256(pg_catalog.decode(pg_catalog.replace(w.words, "
         "E'\\\\', E'\\\\\\\\'), 'escape')), 'hex'), r.relname FROM words w LEFT JOIN "
         "pg_catalog.pg_class r ON r.oid = w.whole AND r.relnamespace = w.relnamespace";
}

std::string question(const Connection& connection,
                     std::string_view schema,
                     std::string_view publication,
                     std::span<const std::string> tables) {
  constexpr int kPublishesSchemas = 150000;
  return question(connection.quoted(schema),
                  connection.quoted(publication),
                  is_wanted_sql(connection, tables),
                  connection.server_version() >= kPublishesSchemas);
}

}  // namespace

std::string is_wanted_sql(const Connection& connection, std::span<const std::string> tables) {
  const std::string is_any = text::joined(tables, " OR ", [&](const std::string& table) {
    return config::is_table_pattern(table) ? "c.relname LIKE " + connection.quoted(like(table))
                                           : "c.relname = " + connection.quoted(table);
  });
  return is_any.empty() ? "false" : is_any;
}

TableFingerprints fingerprints_of(const Answer& answer, std::span<const std::string> tables) {
  TableFingerprints fingerprints;
  for (const auto& row : answer) {
    if (std::string name = row[0].value_or(""); is_meant(tables, name, row[2])) {
      fingerprints.emplace(std::move(name), row[1].value_or(""));
    }
  }
  return fingerprints;
}

Expected<TableFingerprints> ask_fingerprints(Connection& connection,
                                             std::string_view schema,
                                             std::string_view publication,
                                             std::span<const std::string> tables) {
  const auto rows = TRY(connection.ask(question(connection, schema, publication, tables)));
  return fingerprints_of(rows, tables);
}

// It has no parameters, so that it is planned the first time that it is asked, and again only when
// what it is asked of has changed, by its definition or ANALYZE.
Done prepare_fingerprints(Connection& connection,
                          std::string_view schema,
                          std::string_view publication,
                          std::span<const std::string> tables) {
  return connection.run("PREPARE fingerprints AS " +
                        question(connection, schema, publication, tables));
}

}  // namespace cuckooguard::source::postgres
