// The filters for those who do not speak Redis, such as HTTP gateways: may a row with this identity
// exist?
//
// The values are put into the namespace's first key template, and the key is looked at as
// GUARD.CHECK would (guard::Guard::inspect): "cannot exist" only where a GET would be answered
// absent by the filter. Whatever stands in the way of that (not fresh, bypass, observe, overlay, a
// fresh id) means "may exist"; so do values of which no key can be made that leads back to them,
// since nothing is known of those: the verdict is then `unguarded`.
//
// Threads: one, which has a Guard of its own, between Epochs::Reader enter() and leave().
// Lifetimes: the guard outlives it; an Answer is a value. Calling with a namespace that does not
// exist or another number of values than values_of() is a programming error (throws). Limits: keys
// above keyspace::kKeyBytesMax are unguarded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "guard/guard.h"

namespace cuckooguard::views {

// The body of POST /v1/check/NAMESPACE: a JSON list of identities.
//
//   ["42", 43]                     one value each: text, or a whole number
//   [["acme", 7], ["acme", 8]]     several values each, in the order of the first template's
//                                  placeholders
//
// Errors: a sentence, without bytes of the body. Limits: kIdentitiesMax; the connection's for the
//   body.
inline constexpr std::size_t kIdentitiesMax = 1000;

using Identity = std::vector<std::string>;

// Each has `values` values, none of them empty.
std::expected<std::vector<Identity>, std::string> parse_identities(std::string_view json,
                                                                   std::size_t values);

class Check {
 public:
  struct Answer {
    bool may_exist = true;
    guard::Verdict verdict = guard::Verdict::unguarded;
    std::string reason{};  // in words, for people
  };

  explicit Check(guard::Guard& guard) : guard_(guard) {}

  // The names of the values that make an identity, in their order.
  std::span<const std::string> values_of(std::uint32_t ns) const;

  Answer ask(std::uint32_t ns, std::span<const std::string> values, guard::TimePoint now);

 private:
  guard::Guard::Inspection inspect(std::uint32_t ns,
                                   std::span<const std::string> values,
                                   guard::TimePoint now);
  std::string_view key_of(std::uint32_t ns, std::span<const std::string> values);

  guard::Guard& guard_;
  redis::UserAccess anybody_{.is_unrestricted = true};  // who may ask at all is not Redis's to say
  keyspace::IdentityBuffer scratch_;
  std::string key_;
};

}  // namespace cuckooguard::views
