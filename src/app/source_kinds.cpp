#include "app/source_kinds.h"

#include <stdexcept>

#include "bloom/kind.h"
#include "file/kind.h"
#include "mysql/kind.h"
#include "postgres/kind.h"
#include "sqlite/kind.h"

namespace cuckooguard::app {

const source::SourceKind& kind_of(const config::Source& settings) {
  for (const source::SourceKind* const kind : {&source::kFile,
                                               &source::sqlite::kKind,
                                               &source::mysql::kKind,
                                               &source::postgres::kKind,
                                               &source::kBloom}) {
    if (kind->is(settings)) {
      return *kind;
    }
  }
  throw std::logic_error("a source of no kind");
}

}  // namespace cuckooguard::app
