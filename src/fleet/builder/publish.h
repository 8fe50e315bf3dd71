// Makes the publication of a source (app/guests.h).
#pragma once

#include "app/guests.h"

namespace cuckooguard::fleet {

std::expected<std::unique_ptr<source::Publication>, std::string> make_publication(
    const app::Publishing& made);

}  // namespace cuckooguard::fleet
