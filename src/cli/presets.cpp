#include <chrono>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "cli/options.h"
#include "cli/output.h"
#include "config/absent_presets.h"

namespace cuckooguard::cli {
namespace {

using config::AbsentForm;
using config::AbsentPreset;
using config::TimeField;

constexpr std::string_view kBegin =
    R"(absent_reply of a namespace: what GET, MGET and GETEX of a key get whose row cannot exist. Each framework takes
these bytes for its own "no such row", and does not ask the database. Other reads are answered as for a missing key.

nil
  bytes      none: Redis's own null
  watch out  an application that gets it asks its database: only Redis is relieved

bytes:TEXT
  bytes      TEXT as it stands, such as "bytes:__ABSENT__"; "bytes:null" for code that caches JSON
  watch out  for a cache layer of your own: it must not ask the database when it reads them. Try
             it without the guard: redis-cli SET user:<an id that does not exist> null EX 60, and
             load the page of that user

hex:DIGITS
  bytes      those digits, such as "hex:4a953a80"
  watch out  as above

)";

// As in a C string.
std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~' && c != '\\') {
      text += c;
    } else if (c == '\\') {
      text += "\\\\";
    } else {
      fmt::format_to(std::back_inserter(text), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::string words_for(const TimeField& time) {
  const auto ahead = std::chrono::duration_cast<std::chrono::seconds>(time.ahead).count();
  const std::string when = ahead == 0 ? "now" : fmt::format("now + {} s", ahead);
  return time.kind == TimeField::Kind::binary
             ? fmt::format("<{}: {} bytes, milliseconds, big-endian>", when, time.width)
             : fmt::format("<{}: seconds>", when);
}

std::string bytes_of(const AbsentForm& form) {
  if (form.bytes.empty()) {
    return "none: a string of length 0";
  }
  std::string text;
  std::size_t at = 0;
  for (const TimeField& time : form.times) {
    if (time.kind != TimeField::Kind::none) {
      text += escaped(form.bytes.substr(at, time.offset - at)) + words_for(time);
      at = std::size_t{time.offset} + time.width;
    }
  }
  return text + escaped(form.bytes.substr(at));
}

}  // namespace

Parser ListPresets::add(Parser app) {
  return app.add_subcommand("presets",
                            "List what absent_reply can be, and which framework reads it");
}

int ListPresets::run() const {
  return print(list_presets());
}

std::string list_presets() {
  std::string text(kBegin);
  for (const AbsentPreset& preset : config::absent_presets()) {
    fmt::format_to(std::back_inserter(text),
                   "{}\n  bytes      {}\n  framework  {}\n  constant   {}\n  keys       {}\n"
                   "  watch out  {}\n\n",
                   preset.name,
                   bytes_of(preset.forms.front()),
                   preset.framework,
                   preset.constant,
                   preset.keys,
                   preset.caution);
  }
  return text.append(config::frameworks_without_preset());
}

}  // namespace cuckooguard::cli
