// A session with PostgreSQL as libpq begins it, and waiting for it.
//
// libpq takes what it is not told from the environment and from files in the home directory: where
// a server is, passwords, certificates, settings. So it is told all that has an effect; what cannot
// be told by a neutral value (PGSERVICE, PGHOSTADDR …) is refused where it is set.
//
// Threads: free functions; names are looked up in the caller's, which libpq does without an end.
// Errors: Error, whose words name the address.
// Source: libpq 15's documentation, 34.1, 34.15.
#pragma once

#include <chrono>

#include "postgres/connection.h"

namespace cuckooguard::source::postgres {

using Deadline = std::chrono::steady_clock::time_point;

// Its answers are in UTF-8, but no other setting has been made yet. Of several addresses the first
// whose server is no standby; each has its share of the time that is left.
Expected<Session> begin_session(const Login& login, Connection::Purpose purpose);

// What `SELECT` makes all settings of a session that could change what is read in it.
extern const char* const kSessionSettings;

// Until it can be read, or, if `writes`, written; or `other` can be read (-1: none). False: neither
// has come in time.
bool wait_for(const pg_conn* connection, bool writes, Deadline deadline, int other = -1);

// In one line, without what libpq says of where it was connecting to.
Error told_by_libpq(const pg_conn* connection);

}  // namespace cuckooguard::source::postgres
