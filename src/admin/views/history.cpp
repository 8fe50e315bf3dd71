#include "views/history.h"

#include <boost/json.hpp>

namespace cuckooguard::views {

std::string History::json() const {
  boost::json::array lines;
  for (const Totals& totals : lines_) {
    lines.push_back(json_of(totals));
  }
  return boost::json::serialize(lines) + "\n";
}

}  // namespace cuckooguard::views
