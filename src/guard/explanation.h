// The reply to GUARD.EXPLAIN: what becomes of a GET of one key, and why.
//
// A map (RESP2: an array of twice the length) of bulk strings, nil if empty:
//   namespace   its name
//   key_hash    of the key, as the log has it
//   identity    what the key carries for it: "42", or "tenant=7 order_id=42"
//   state       of its filter: loading, ready, lagging, unsynced, down, full, refused
//   verdict     "absent": answered here; "pass": Redis is asked; "unguarded": the same, no
//               namespace's key
//   why         in words, for people: no program should read it
//
// Threads: its worker's, between Epochs::Reader enter() and leave().
#pragma once

#include <string>
#include <string_view>

#include "guard/guard.h"
#include "resp/version.h"

namespace cuckooguard::guard {

struct Explained {
  const Guard::Parts& parts;
  const redis::Snapshot& redis;
  std::string_view key{};
  Guard::Inspection seen{};
  TimePoint now{};
  int db = 0;  // of the client
  resp::Version version = resp::Version::resp2;
  std::string_view why_client{};  // why nothing is answered to it, or empty
};

void append_explanation(std::string& out, const Explained& explained);

// Why a key has this verdict, in the words of `why`. Also for the HTTP check (admin/).
std::string reason_of(const Guard::Parts& parts,
                      const Guard::Inspection& seen,
                      int db,
                      TimePoint now);

}  // namespace cuckooguard::guard
