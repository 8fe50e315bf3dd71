// What a session with MariaDB or MySQL needs so that a server's own settings cannot change what is
// read in it.
//
// The settings of a session begin as the server's global ones, as the account's limits, or as
// init_connect leaves them: a limit on rows, half a second for a statement, a sql_mode by which
// CHAR is padded, no autocommit ... Each that could change a value, a number of rows, or whether
// anything is read at all is given the value that the guard relies on.
//
// Threads: free functions. Errors: Error, with the statement that was not allowed; a setting
// that this release does not know is left out.
// Source: `SHOW SESSION VARIABLES` of MariaDB 10.11 and MySQL 9.7, gone through one by one.
#pragma once

#include <expected>
#include <string_view>

#include "mysql/connection.h"

namespace cuckooguard::source::mysql {

Done settle_session(Connection& connection, std::string_view database);

}  // namespace cuckooguard::source::mysql
