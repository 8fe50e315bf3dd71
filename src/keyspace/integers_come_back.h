// Whether every canonical integer is read back from every key of its row: then a row needs no key to be rendered and
// matched, only its value to be looked at (Keyspace::identity_of_row).
//
// True if each template of the namespace is `P{id:uint64}S` or `P{id:int64}S`, and no template of the keyspace has a
// literal prefix that goes on from such a P with a digit or '-'. Proof, for a canonical v in range and the key PvS:
//   1. The template itself takes PvS whole, with v: its one placeholder ends where the suffix S begins, whatever S is,
//      and v has no ':'. The key is no longer than a template and twenty bytes, far below kKeyBytesMax.
//   2. No template with a longer prefix sees it: that prefix would have to begin PvS, so go on from P with v's first
//      byte, a digit or '-'. (It would win, or make the match unsure.)
//   3. None with a prefix of the same length takes it whole: such templates cannot match one key
//      (check_namespaces). What is not whole does not keep another of the same length from winning.
//   4. Shorter prefixes are not asked once a template takes the key whole.
// So match(PvS) is this namespace with the identity v. Of any other value nothing is said: it is rendered and matched.
//
// Called by: Keyspace::build. Threads: free function without state. Errors: none; in doubt false.
#pragma once

#include <span>

#include "keyspace/key_template.h"

namespace cuckooguard::keyspace {

// `own`: the templates of one namespace. `all`: those of every namespace, which check_namespaces() has accepted.
bool integers_come_back(std::span<const KeyTemplate> own, std::span<const KeyTemplate> all);

}  // namespace cuckooguard::keyspace
