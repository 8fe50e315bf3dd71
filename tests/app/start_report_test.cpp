#include "app/start_report.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log/written_log.h"

namespace cuckooguard::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

config::Listen on(std::string host, std::uint16_t port = 6380) {
  return {.address = {.host = std::move(host), .port = port, .unix_path = {}}, .tls = {}};
}

TEST(Reach, of_a_container_that_listens_on_its_loopback_alone_is_told_with_the_way_out) {
  log::WrittenLog log;
  report_reach(log.log, std::vector{on("127.0.0.1", 7000), on("::1", 7001)}, true);
  const std::string told = log.take();
  EXPECT_THAT(told, StartsWith("warning event=loopback_in_container why="));
  EXPECT_THAT(told, HasSubstr("listen: 0.0.0.0:7000, published with -p 127.0.0.1:7000:7000"));
}

TEST(Reach, is_nothing_to_tell_of_elsewhere) {
  log::WrittenLog log;
  report_reach(log.log, std::vector{on("127.0.0.1")}, false);
  report_reach(log.log, std::vector{on("127.0.0.1"), on("0.0.0.0")}, true);
  const config::Listen socket{.address = {.host = {}, .port = 0, .unix_path = "/run/guard.sock"},
                              .tls = {}};
  report_reach(log.log, std::vector{on("127.0.0.1"), socket}, true);
  EXPECT_THAT(log.take(), IsEmpty());
}

TEST(GuardsNothing, is_told_without_namespaces_and_filters_alone) {
  log::WrittenLog log;
  config::Config config;
  report_guards_nothing(log.log, config);
  EXPECT_THAT(log.take(), StartsWith("warning event=guards_nothing why="));
  config.filters.allow_reserve.push_back(keyspace::KeyTemplate::parse("seen:{id}").value());
  report_guards_nothing(log.log, config);
  config.filters = {};
  config.namespaces.emplace_back();
  report_guards_nothing(log.log, config);
  EXPECT_THAT(log.take(), IsEmpty());
}

}  // namespace
}  // namespace cuckooguard::app
