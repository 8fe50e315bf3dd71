// The page / as it is sent, made at build time of page/page.html, its style and scripts, and the
// chart library (page/embed_page.cmake): one file without links to others. Any change gives another
// tag.
//
// Threads: any; literals.
#pragma once

#include <string_view>

namespace cuckooguard::views {

struct PageText {
  std::string_view html;
  std::string_view etag;
  // Nothing is allowed but the style and the scripts that are in it, by their hashes, and to ask
  // where it came from.
  std::string_view content_security_policy;
};

const PageText& page_text();

}  // namespace cuckooguard::views
