#include "guard/question.h"

#include <algorithm>

#include "resp/request_scanner.h"

namespace cuckooguard::guard {
namespace {

bool is_large(std::span<const std::string_view> arguments) {
  return std::ssize(arguments) > resp::kUnauthenticatedArgumentsMax ||
         std::ranges::any_of(arguments, [](std::string_view argument) {
           return std::ssize(argument) > resp::kUnauthenticatedArgumentBytesMax;
         });
}

}  // namespace

redis::Lane Question::lane() const {
  const redis::Lane lane = redis::lane_of(command, arguments);
  // Redis may close the connection at once, since nobody has logged in there.
  const bool may_close =
      redis::is_shared(lane) && is_large(arguments) && client.login(redis) != Client::Login::yes;
  return may_close ? redis::Lane::for_good : lane;
}

}  // namespace cuckooguard::guard
