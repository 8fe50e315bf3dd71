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
    R"(absent_reply of a namespace: the reply to GET, MGET and GETEX for a key whose row cannot exist. Each framework reads
these bytes as its own "no such row" and does not ask the database. Other reads are answered as for a missing key.

nil
  bytes      none: Redis's own null
  caution    an application that receives it asks its database, so only Redis is relieved

bytes:TEXT
  bytes      TEXT, unchanged, such as "bytes:__ABSENT__"; "bytes:null" for code that caches JSON
  caution    for your own cache layer, which must not ask the database when it reads these bytes.
             To test it without the guard: redis-cli SET user:<id that does not exist> null EX 60,
             then load the page of that user

hex:DIGITS
  bytes      the bytes with these hexadecimal digits, such as "hex:4a953a80"
  caution    as above

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
    return "none: the empty string";
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
                            "List the values of absent_reply, and the framework that reads each");
}

int ListPresets::run() const {
  return print(list_presets());
}

std::string list_presets() {
  std::string text(kBegin);
  for (const AbsentPreset& preset : config::absent_presets()) {
    fmt::format_to(std::back_inserter(text),
                   "{}\n"
                   "  bytes      {}\n"
                   "  framework  {}\n"
                   "  constant   {}\n"
                   "  keys       {}\n"
                   "  caution    {}\n"
                   "\n",
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
