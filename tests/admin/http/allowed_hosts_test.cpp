#include <gtest/gtest.h>

#include "http/access.h"

namespace cuckooguard::http {
namespace {

TEST(AllowedHosts, localhost_is_a_name_of_a_loopback_address_alone) {
  const auto may = [](std::string_view address, std::string_view host) {
    return AllowedHosts({.host = std::string(address), .port = 9180}, {}).may_ask(host, "");
  };
  EXPECT_TRUE(may("::1", "localhost"));
  EXPECT_TRUE(may("localhost", "localhost:9180"));
  EXPECT_FALSE(may("0.0.0.0", "localhost"));
  EXPECT_TRUE(may("guard", "guard:9180"));
  EXPECT_TRUE(AllowedHosts({.unix_path = "/run/admin.sock"}, {}).may_ask("anything", ""));
}

}  // namespace
}  // namespace cuckooguard::http
