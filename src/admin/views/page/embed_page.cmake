# Puts page.html, its style and scripts, and the chart library together and writes them as C++ (page_text.h):
#   cmake -DPAGE=FOLDER -DCHARTS=FILE -DOUTPUT=FILE -P embed_page.cmake

# An SHA-256 in hexadecimal digits as CSP wants it: in base64. Three digits are two of base64; one is left.
function(hash_source text result)
  string(SHA256 digits "${text}")
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(base64 "")
  foreach(at RANGE 0 60 3)
    string(SUBSTRING "${digits}" ${at} 3 three)
    math(EXPR first "0x${three} >> 6")
    math(EXPR second "0x${three} & 63")
    string(SUBSTRING "${alphabet}" ${first} 1 first)
    string(SUBSTRING "${alphabet}" ${second} 1 second)
    string(APPEND base64 "${first}${second}")
  endforeach()
  string(SUBSTRING "${digits}" 63 1 last)
  math(EXPR last "0x${last} << 2")
  string(SUBSTRING "${alphabet}" ${last} 1 last)
  set(${result} "'sha256-${base64}${last}='" PARENT_SCOPE)
endfunction()

file(READ ${PAGE}/page.html html)
file(READ ${PAGE}/page.css style)
set(script "")
foreach(part numbers charts tables page)
  file(READ ${PAGE}/${part}.js text)
  string(APPEND script "${text}")
endforeach()
file(READ ${CHARTS} charts)
string(REGEX REPLACE "//# sourceMappingURL=[^\n]*" "" charts "${charts}")
hash_source("${style}" style_hash)
hash_source("${script}" script_hash)
hash_source("${charts}" charts_hash)
foreach(part style charts script)
  string(REPLACE "<!-- ${part} -->" "${${part}}" html "${html}")
endforeach()
string(SHA256 tag "${html}")
string(SUBSTRING "${tag}" 0 16 tag)

file(WRITE ${OUTPUT} "// Made by src/admin/views/page/embed_page.cmake.
#include \"views/page_text.h\"

#ifdef __clang__
#pragma clang diagnostic ignored \"-Woverlength-strings\"
#endif

namespace cuckooguard::views {

const PageText& page_text() {
  static constexpr PageText kPage{
      .html = R\"~~page~~(${html})~~page~~\",
      .etag = \"\\\"${tag}\\\"\",
      .content_security_policy =
          \"default-src 'none'; script-src ${charts_hash} ${script_hash}; style-src ${style_hash}; \"
          \"img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\"};
  return kPage;
}

}  // namespace cuckooguard::views
")
