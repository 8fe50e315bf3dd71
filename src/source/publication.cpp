#include "source/publication.h"

#include "filter/filter_file.h"
#include "text/little_endian.h"

namespace cuckooguard::source {

Publication& Publication::none() {
  static Publication nobody;
  return nobody;
}

std::string published_definition(const Target& target) {
  std::string text;
  const auto templates = target.keyspace.templates(target.ns);
  for (std::size_t i = 0; i < templates.size(); ++i) {
    text::put_text(text, templates[i].text());
    text::put(text, static_cast<std::uint64_t>(target.keyspace.loss(target.ns, i)));
  }
  const config::SourceTable& rows = target.settings.source;
  for (const std::string& table : rows.tables) {
    text::put_text(text, table);
  }
  text::put_text(text, rows.where.text());
  text::put(text, static_cast<std::uint64_t>(rows.uuids));
  text::put(text, target.parts.secret().id());
  return std::to_string(filter::hash_of_definition(text));
}

Publication::Table published_number(const Target& target, std::string_view table) {
  std::string text = published_definition(target);
  text::put_text(text, target.settings.name);
  text::put_text(text, table);
  return filter::hash_of_definition(text);
}

}  // namespace cuckooguard::source
