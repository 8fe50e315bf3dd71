#include "source/row_hash.h"

#include "text/try.h"

namespace cuckooguard::source {

std::expected<std::optional<RowHash::Hashed>, std::string> RowHash::operator()(
    std::span<const std::optional<std::string_view>> values) {
  const std::optional<keyspace::RowIdentity> identity =
      TRY(in_words(target_.keyspace.identity_of_row(target_.ns, values, scratch_)));
  if (!identity) {
    return std::nullopt;
  }
  return Hashed{.hash = target_.parts.hash(identity->identity),
                .number = identity->number.value_or(0),
                .is_isolated = identity->is_isolated};
}

std::string RowHash::isolated_text(std::span<const std::optional<std::string_view>> values) const {
  return target_.keyspace.row_text(target_.ns, values) +
         " is isolated: under |ci and :uuid the database may take other texts for it, or its keys "
         "carry different values, so look-ups that could be it pass";
}

std::string RowHash::too_many_isolated_text(std::span<const std::optional<std::string_view>> values,
                                            std::size_t rows_max) const {
  return target_.keyspace.row_text(target_.ns, values) + " is one of more than " +
         std::to_string(rows_max) +
         " with other than printable ASCII under |ci or :uuid, which the database may take for "
         "other texts, or with keys that carry different values; give the column a binary "
         "collation "
         "(utf8mb4_nopad_bin, or utf8mb4_0900_bin in MySQL) and leave |ci out, or give it an "
         "integer type";
}

}  // namespace cuckooguard::source
