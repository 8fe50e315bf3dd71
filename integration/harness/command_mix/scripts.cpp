#include <algorithm>
#include <array>
#include <utility>

#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

using Text = std::pair<std::string_view, std::string_view>;

constexpr std::array<Text, 7> kTexts{{
    {"{get}", "return redis.call('get', KEYS[1])"},
    {"{set}", "return redis.call('set', KEYS[1], ARGV[1])"},
    {"{types}", "return {1, 'two', {3, {}}, false, redis.status_reply('ok')}"},
    {"{map}", "redis.setresp(3); return redis.call('hgetall', KEYS[1])"},
    {"{error}", "return redis.error_reply('MY error')"},
    {"{sha-get}", "4e6d8fc8bb01276962cce5371fa795a7763657ae"},
    {"{sha-set}", "55b22c0d0cedf3866879ce7c854970626dcef0c3"},
}};

constexpr std::string_view kForms[] = {
    "EVAL {get} 1 {r}",
    "EVAL_RO {get} 1 {r}",
    "EVAL {set} 1 {k} {v}",
    "EVAL {map} 1 {r}",
    "EVAL {types} 0",
    "EVAL {error} 0",
    "EVALSHA {sha-get} 1 {r}",
    "EVALSHA_RO {sha-get} 1 {r}",
    "EVALSHA {sha-set} 1 {k} {v}",
    "EVALSHA 0123456789012345678901234567890123456789 0",
    "FCALL put 1 {k} {v}",
    "FCALL look 1 {r}",
    "FCALL_RO look 1 {r}",
    "FCALL_RO put 1 {k} {v}",
    "FCALL nosuch 0",
    "SCRIPT LOAD {get}",
    "SCRIPT LOAD {set}",
    "SCRIPT EXISTS {sha-get} {sha-set}",
    "FUNCTION STATS",
    "FUNCTION LIST LIBRARYNAME none",
};

constexpr std::string_view kLibrary =
    "#!lua name=mix\n"
    "redis.register_function('put', function(keys, args)\n"
    "  return redis.call('set', keys[1], args[1])\n"
    "end)\n"
    "redis.register_function{function_name='look', flags={'no-writes'}, callback=function(keys)\n"
    "  return redis.call('get', keys[1])\n"
    "end}\n";

constexpr std::string_view kLoadLibrary[] = {"FUNCTION", "LOAD", kLibrary};

}  // namespace

std::span<const std::string_view> script_forms() {
  return kForms;
}

std::span<const std::string_view> library_of_functions() {
  return kLoadLibrary;
}

std::string_view script_of(std::string_view word) {
  const auto* const found = std::ranges::find(kTexts, word, &Text::first);
  return found == kTexts.end() ? word : found->second;
}

}  // namespace cuckooguard::harness
