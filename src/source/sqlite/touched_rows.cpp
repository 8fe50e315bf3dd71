#include "sqlite/touched_rows.h"

#include <algorithm>

namespace cuckooguard::source::sqlite {

bool TouchedRows::add(const RowName& name, std::uint64_t hash, Event event, bool is_there) {
  const bool was_there = event != Event::came;
  const auto [found, is_first] =
      rows_.try_emplace(name, Row{.hash = hash, .was_there = was_there, .is_there = is_there});
  Row& row = found->second;
  const Logged impossible = was_there ? Logged::absent : Logged::present;
  if (!is_first && row.logged == impossible) {
    return false;
  }
  switch (event) {
    case Event::gone:
      row.logged = Logged::absent;
      break;
    case Event::seen:
      row.logged = Logged::either;
      break;
    case Event::came:
      row.logged = Logged::present;
      break;
  }
  return true;
}

bool TouchedRows::is_explained() const {
  return std::ranges::all_of(rows_, [](const auto& entry) {
    const Row& row = entry.second;
    return row.logged == Logged::either || (row.logged == Logged::present) == row.is_there;
  });
}

}  // namespace cuckooguard::source::sqlite
