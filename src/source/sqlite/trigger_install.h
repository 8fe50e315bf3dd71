// How a trigger log comes into a database: by the operator, who is given the SQL, or by the guard,
// if it is told to.
//
// Threads: the caller's; install waits for other writers. Errors: sentences for the operator.
// Nothing that is there already and right is touched.
#pragma once

#include <chrono>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "source/source.h"
#include "sqlite/trigger_log.h"

namespace cuckooguard::source::sqlite {

// What these targets' tables need and the database does not have.
Planned<std::vector<LogObject>> missing_log(const Database& database,
                                            std::span<const Target> targets);

// In one transaction. A busy error: another time.
Done install_trigger_log(const std::string& path,
                         std::span<const Target> targets,
                         std::chrono::milliseconds patience);

// What the installing would run, for the operator to read and run: with sqlite3, or in a migration.
std::expected<std::string, std::vector<Refusal>> trigger_log_sql(const std::string& path,
                                                                 std::span<const Target> targets);

// What to do about a log that is not there.
std::string how_to_install(std::string_view path);

}  // namespace cuckooguard::source::sqlite
