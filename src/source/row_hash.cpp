#include "source/row_hash.h"

namespace cuckooguard::source {

std::expected<std::optional<RowHash::Hashed>, std::string> RowHash::operator()(
    std::span<const std::optional<std::string_view>> values) {
  const auto row = target_.keyspace.identity_of_row(target_.ns, values, scratch_);
  if (!row) {
    return std::unexpected(row.error().what);
  }
  const std::optional<keyspace::RowIdentity>& identity = *row;
  if (!identity) {
    return std::nullopt;
  }
  return Hashed{.hash = target_.parts.hash(identity->identity),
                .number = identity->number.value_or(0)};
}

}  // namespace cuckooguard::source
