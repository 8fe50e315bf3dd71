#include "source/sqlite_log_follower.h"

#include "source/logged_database.h"

namespace cuckooguard::source {
namespace {

TEST(SqliteLogFollower, placeholder) {}

}  // namespace
}  // namespace cuckooguard::source
