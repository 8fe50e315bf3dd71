// Commands of each data type as forms: words, of which those in braces are filled in at random by
// CommandMix.
//
//   {k} a key to write   {r} a key to read: perhaps an absent one   {a} one that is never written
//   {n} 0 to 49          {f} a field or member, of ten              {s} a score
//   {v} a value: up to 59 bytes of any kind                         {i} an id of a stream
//   {get} {set} {types} {map} {error}: Lua   {sha-get} {sha-set}: the digests of the first two
//
// {k} and {r} are mostly keys of the form's own type. What depends on the clock, on chance or on
// Redis's hash seed is asked of {a} only, or left out: RANDOMKEY, KEYS, SCAN, TTL of keys that
// expire ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cuckooguard::harness {

enum class DataType : std::uint8_t {
  string,
  list,
  hash,
  set,  // of integers, which Redis keeps sorted
  sorted_set,
  stream,
  bitmap,
  hyperloglog,
  geo,
  words,  // sets of words, in an order of Redis's own
};
inline constexpr std::size_t kDataTypes = 10;

std::span<const std::string_view> forms_of(DataType type);

std::span<const std::string_view> string_forms();
std::span<const std::string_view> list_forms();
std::span<const std::string_view> hash_forms();
std::span<const std::string_view> set_forms();
std::span<const std::string_view> words_forms();
std::span<const std::string_view> sorted_set_forms();
std::span<const std::string_view> stream_forms();
std::span<const std::string_view> bitmap_forms();
std::span<const std::string_view> hyperloglog_forms();
std::span<const std::string_view> geo_forms();

std::span<const std::string_view> key_forms();         // of any data type
std::span<const std::string_view> script_forms();      //
std::span<const std::string_view> connection_forms();  //
std::span<const std::string_view> mistaken_forms();

// What a form's word in braces stands for: Lua and digests. The word itself if it is none of these.
std::string_view script_of(std::string_view word);

// Sent once to each server: the scripts and functions that forms name.
std::span<const std::string_view> library_of_functions();

}  // namespace cuckooguard::harness
