// Asks the server that is followed for rows (source/row_lookup.h).
#pragma once

#include <memory>
#include <vector>

#include "follow/followed_server.h"
#include "mysql/connection.h"
#include "source/row_lookup.h"

namespace cuckooguard::source {

std::unique_ptr<RowLookup> make_mysql_row_lookup(
    std::shared_ptr<const FollowedServer<MysqlLogin>> server, std::vector<Target> targets);

}  // namespace cuckooguard::source
