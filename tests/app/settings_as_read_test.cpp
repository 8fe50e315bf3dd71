#include <string>

#include <gtest/gtest.h>

#include "app/assembly.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::app {
namespace {

config::Config with_password(std::string password) {
  config::Config config;
  config.sources.push_back({.name = "shop",
                            .kind = config::MysqlSource{.addresses = {},
                                                        .user = "guard",
                                                        .password = std::move(password),
                                                        .password_file = {},
                                                        .database = "shop",
                                                        .ca_file = {},
                                                        .server_id = {}}});
  return config;
}

TEST(SettingsAsRead, are_equal_if_every_setting_is_and_a_password_is_one) {
  EXPECT_EQ(SettingsAsRead(with_password("word")), SettingsAsRead(with_password("word")));
  EXPECT_NE(SettingsAsRead(with_password("word")), SettingsAsRead(with_password("another")));
}

TEST(SettingsAsRead, differ_where_a_file_that_is_named_was_written_or_replaced) {
  const harness::TemporaryDirectory folder;
  config::Config config;
  config.upstream.tls = config::UpstreamTls{};
  for (std::string* const setting : {&config.upstream.control.password_file,
                                     &config.admin.token_file,
                                     &config.upstream.tls->ca,
                                     &config.upstream.tls->cert,
                                     &config.upstream.tls->key}) {
    *setting = folder.file("secret");
    harness::write_whole_file(*setting, "word");
    const SettingsAsRead before(config);
    EXPECT_EQ(before, SettingsAsRead(config));
    harness::write_whole_file(*setting, "a longer word");
    const SettingsAsRead written(config);
    EXPECT_NE(before, written);
    harness::write_whole_file(folder.file("next"), "a longer word");
    std::filesystem::rename(folder.file("next"), *setting);
    const SettingsAsRead replaced(config);
    EXPECT_NE(written, replaced);
    std::filesystem::remove(*setting);
    EXPECT_NE(replaced, SettingsAsRead(config));
    setting->clear();
  }
}

}  // namespace
}  // namespace cuckooguard::app
