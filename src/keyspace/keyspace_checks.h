// What must hold between the templates of a namespace, and between those of different namespaces,
// before a Keyspace can be built of them. Called by Keyspace::build alone.
#pragma once

#include <span>
#include <vector>

#include "keyspace/keyspace.h"

namespace cuckooguard::keyspace {

// Every error, in the order of namespaces and templates; none: they can be used together.
std::vector<KeyspaceError> check_namespaces(std::span<const NamespaceTemplates> namespaces);

}  // namespace cuckooguard::keyspace
