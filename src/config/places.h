// Where in the file the parts of a Config stand, for checks that can only be made once all is read.
#pragma once

#include <string>
#include <vector>

#include "config/diagnostic.h"

namespace cuckooguard::config {

struct NamespacePlaces {
  Place name;
  std::vector<Place> keys;  // of each template in Namespace::keys
  Place from;
  Place table;
  bool is_table_left_out = true;  // and no unknown key looks as if it were meant
  Place columns;
  Place where;
  Place fresh_ids;
  Place deletes;
  Place commands;  // their key
};

struct Places {
  Place listen;
  Place admin;                       // admin.address
  std::vector<std::string> sources;  // every name, those included whose source could not be read
  std::vector<NamespacePlaces> namespaces;  // as Config::namespaces
};

}  // namespace cuckooguard::config
