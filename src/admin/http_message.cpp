#include "admin/http_message.h"

#include <boost/json.hpp>

namespace cuckooguard::admin {

Response refusal(unsigned status, std::string_view error, std::string_view message) {
  const boost::json::object body{{"error", error}, {"message", message}};
  return {.status = status, .body = boost::json::serialize(body) + "\n"};
}

}  // namespace cuckooguard::admin
