#include "app/tls_sides.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "harness/certificates.h"
#include "harness/deadline.h"
#include "harness/temporary_directory.h"
#include "log/written_log.h"

namespace cuckooguard::app {
namespace {

using std::chrono::hours;
using testing::HasSubstr;
using testing::Not;

// As main() does, before any test of this program.
const struct Library {
  Library() { TlsSides::keep_library_at_exit(); }
} kLibrary;

class TlsSidesTest : public testing::Test {
 protected:
  TlsSidesTest() {
    config_.upstream.tls =
        config::UpstreamTls{.ca = path("ca.crt"), .cert = path("own.crt"), .key = path("own.key")};
    harness::write_whole_file(path("ca.crt"), authority_.certificate());
    replace({});
    EXPECT_THAT(sides_->load(config_), testing::IsEmpty());
    log_.take();
  }

  std::string path(std::string_view name) const { return directory_.file(name); }
  void replace(const harness::Authority::Wish& wish) {
    const harness::Certificate made = authority_.issue("guard", wish);
    put("own.crt", made.certificate);
    put("own.key", made.key);
  }
  // As tools do it: by a rename.
  void put(std::string_view name, const std::string& text) const {
    harness::write_whole_file(path("new"), text);
    std::filesystem::rename(path("new"), path(name));
  }
  // What the log says of it.
  std::string look() {
    sides_->look();
    EXPECT_TRUE(sides_->finish(harness::kPatience));
    return log_.take();
  }
  hours left() const {
    const auto all = sides_->certificates();
    EXPECT_EQ(all.size(), 1U);
    EXPECT_EQ(all.at(0).file, path("own.crt"));
    return std::chrono::round<hours>(all.at(0).expires_at - std::chrono::system_clock::now());
  }

  const harness::TemporaryDirectory directory_;
  const harness::Authority authority_{"authority"};
  config::Config config_;
  log::WrittenLog log_;
  std::unique_ptr<TlsSides> sides_ = std::make_unique<TlsSides>(log_.log);
};

TEST_F(TlsSidesTest, what_has_not_changed_stays) {
  const auto before = sides_->upstream().get();
  EXPECT_EQ(look(), "");
  EXPECT_EQ(sides_->upstream().get(), before);
  EXPECT_EQ(left(), hours(24));
}

TEST_F(TlsSidesTest, a_certificate_that_is_replaced_is_for_new_connections) {
  const auto before = sides_->upstream().get();
  replace({.expires_in = hours(48)});
  EXPECT_EQ(look(),
            "info event=tls_loaded setting=upstream.tls certificate=" + path("own.crt") + ";");
  EXPECT_NE(sides_->upstream().get(), before);
  EXPECT_EQ(left(), hours(48));
  EXPECT_EQ(look(), "");
}

TEST_F(TlsSidesTest, half_of_a_pair_is_not_taken_until_the_other_half_is_there) {
  const auto before = sides_->upstream().get();
  const harness::Certificate next = authority_.issue("guard", {.expires_in = hours(48)});
  put("own.crt", next.certificate);
  EXPECT_THAT(look(),
              testing::AllOf(HasSubstr("warning event=tls_warning why=\"upstream.tls: "),
                             HasSubstr("the previously loaded files stay in use")));
  EXPECT_EQ(sides_->upstream().get(), before);
  EXPECT_EQ(look(), "") << "it says so once";
  put("own.key", next.key);
  EXPECT_THAT(look(), HasSubstr("event=tls_loaded"));
  EXPECT_EQ(left(), hours(48));
}

TEST_F(TlsSidesTest, the_end_of_a_certificate_is_said_before_it_comes) {
  // They are good since two days ago.
  replace({.expires_in = hours(13)});
  EXPECT_THAT(look(), Not(HasSubstr("certificate_ends")));
  replace({.expires_in = hours(11)});
  EXPECT_THAT(look(),
              HasSubstr("warning event=certificate_ends setting=upstream.tls certificate=" +
                        path("own.crt") + " expires="));
  EXPECT_EQ(look(), "") << "once";
  replace({.expires_in = hours(-1)});
  EXPECT_THAT(look(), HasSubstr("event=certificate_ends"));
}

TEST_F(TlsSidesTest, a_file_that_hangs_holds_up_nobody) {
  std::filesystem::remove(path("own.crt"));
  ASSERT_EQ(::mkfifo(path("own.crt").c_str(), 0600), 0);  // to open it takes a writer
  sides_->look();
  EXPECT_FALSE(sides_->finish(std::chrono::milliseconds(0)));
  sides_->look();
  EXPECT_EQ(left(), hours(24));
  sides_.reset();
}

}  // namespace
}  // namespace cuckooguard::app
