// Why a key is no namespace's: how far it goes along with the template that it goes along with the
// furthest, and what that template has there instead. In words, for people who look for the reason:
// a typing error in a template is a guard that guards nothing.
//
// Threads: pure function. Limits: bytes of the key are shown escaped and cut (text/printable.h).
// Clients may ask: of the templates whose literal prefix the key has, the first 64 are looked at,
// of the others the prefix alone.
#pragma once

#include <string>
#include <string_view>

#include "keyspace/keyspace.h"

namespace cuckooguard::keyspace {

struct Misfit {
  std::string
      nearest{};    // "user:{id:uint64} of namespace users"; empty: no template comes into question
  std::string why;  // "at byte 2, before "r:42", the template has "er:""
};

// Of a key that Keyspace::match() says is unguarded.
Misfit misfit_of(const Keyspace& keyspace, std::string_view key);

}  // namespace cuckooguard::keyspace
