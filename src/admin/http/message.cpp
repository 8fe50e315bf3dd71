#include "http/message.h"

#include <boost/json.hpp>

namespace cuckooguard::http {

Response refusal(unsigned status, std::string_view error, std::string_view message) {
  const boost::json::object body{{"error", error}, {"message", message}};
  return {.status = status, .body = boost::json::serialize(body) + "\n"};
}

}  // namespace cuckooguard::http
