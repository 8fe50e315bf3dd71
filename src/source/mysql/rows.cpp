// The rows of a result, up to its real end.
#include <algorithm>
#include <array>
#include <utility>

#include <mysql.h>

#include "mysql/connection.h"
#include "text/number.h"
#include "text/try.h"

namespace cuckooguard::source::mysql {
namespace {

// A result may end early without an error: information_schema leaves out what it cannot look at for
// now, and what comes behind the moment at which a statement is stopped. It says so in a warning.
std::optional<Error> why_cut_short(MYSQL* connection) {
  // A wait for a lock, a deadlock, KILL QUERY, a table that is being defined; limits on time.
  constexpr std::array<unsigned, 6> kCutShort{1205, 1213, 1317, 1684, 1969, 3024};
  if (mysql_warning_count(connection) == 0) {
    return std::nullopt;
  }
  if (mysql_query(connection, "SHOW WARNINGS") != 0) {
    return Error::last_of(connection);
  }
  const std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)> warnings(
      mysql_store_result(connection), &mysql_free_result);
  while (MYSQL_ROW row = warnings == nullptr ? nullptr : mysql_fetch_row(warnings.get())) {
    const auto code = text::leading_number<unsigned>(row[1]);
    if (std::ranges::find(kCutShort, code) != kCutShort.end()) {
      return Error{.code = code, .what = row[2]};
    }
  }
  return std::nullopt;
}

}  // namespace

void Rows::Free::operator()(st_mysql_res* result) const {
  mysql_free_result(result);
}

Rows::Rows(st_mysql* connection, st_mysql_res* result)
    : connection_(connection),
      result_(result),
      values_(result == nullptr ? 0 : mysql_num_fields(result)) {}

Expected<std::optional<Row>> Rows::next() {
  if (result_ == nullptr) {  // the statement has no result at all
    return std::nullopt;
  }
  char** const row = mysql_fetch_row(result_.get());
  if (row == nullptr) {
    if (mysql_errno(connection_) != 0) {
      return std::unexpected(Error::last_of(connection_));
    }
    if (auto why = why_cut_short(connection_)) {
      return std::unexpected(*std::move(why));
    }
    return std::nullopt;
  }
  const unsigned long* const lengths = mysql_fetch_lengths(result_.get());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] =
        row[i] == nullptr ? std::nullopt : std::optional(std::string_view(row[i], lengths[i]));
  }
  return Row(values_);
}

std::vector<std::string> Rows::names() const {
  std::vector<std::string> names;
  names.reserve(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i) {
    names.emplace_back(mysql_fetch_field_direct(result_.get(), static_cast<unsigned>(i))->name);
  }
  return names;
}

Expected<Answer> Rows::all() {
  Answer answer;
  while (answer.size() < kAnswerRowsMax) {
    const std::optional<Row> row = TRY(next());
    if (!row) {
      break;
    }
    answer.emplace_back(row->begin(), row->end());
  }
  return answer;
}

}  // namespace cuckooguard::source::mysql
