#include "follow/definition.h"

#include "filter/filter_file.h"

namespace cuckooguard::source {

Definition& Definition::operator<<(std::string_view text) {
  bytes_ += std::to_string(text.size()) + ':';
  bytes_ += text;
  return *this;
}

void Definition::add_templates(const Target& target) {
  const auto templates = target.keyspace.templates(target.ns);
  for (std::size_t i = 0; i < templates.size(); ++i) {
    *this << templates[i].text() << static_cast<std::uint64_t>(target.keyspace.loss(target.ns, i));
  }
}

void Definition::add_filter(const Target& target,
                            std::string_view condition,
                            filter::DeleteMode deletes) {
  const config::Filter& filter = target.settings.filter;
  *this << "condition" << condition << "deletes" << static_cast<std::uint64_t>(deletes) << "filter"
        << std::to_string(filter.false_positive_rate) << filter.capacity.value_or(0);
}

std::uint64_t Definition::hash() const {
  return filter::hash_of_definition(bytes_);
}

}  // namespace cuckooguard::source
