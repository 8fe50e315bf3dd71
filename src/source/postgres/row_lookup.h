// Asks the server that is followed for rows (source/row_lookup.h).
#pragma once

#include <memory>
#include <vector>

#include "follow/followed_server.h"
#include "postgres/connection.h"
#include "postgres/table.h"
#include "source/row_lookup.h"

namespace cuckooguard::source {

std::unique_ptr<RowLookup> make_postgres_row_lookup(
    std::shared_ptr<const FollowedServer<PostgresLogin>> server,
    PostgresPlace place,
    std::vector<Target> targets);

}  // namespace cuckooguard::source
