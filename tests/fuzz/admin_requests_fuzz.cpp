// Requests as anybody may send them, to the pages in front of a small shop.
//
// must: no 404 but for an identity that the filter rules out, whatever is asked for
//       a row that exists is never 404, however its identity is percent-encoded, and never false in
//       a list every body is JSON

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <fuzzer/FuzzedDataProvider.h>

#include "admin/pages.h"
#include "admin/views/two_value_shop.h"

namespace cuckooguard::admin {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
  }
}

struct Guarded {
  views::TwoValueShop shop;
  filter::Epochs epochs{1};
  views::ProcessState process_state;
  Pages pages{{.guard = shop.guard(),
               .reader = epochs.reader(0),
               .process_state = process_state,
               .token = http::BearerToken(""),
               .now = [this] { return shop.now; }}};
};

void answer(Pages& pages, const http::Request& request) {
  const http::Response response = pages.answer(request);
  if (response.content_type == http::kJson) {
    boost::json::error_code error;
    boost::json::parse(response.body, error);
    require(!error, "every body is JSON");
  }
  if (response.status == 404) {
    require(request.target.find("/v1/check/") != std::string_view::npos, "404 is of /v1/check");
    require(response.body.find("\"verdict\":\"absent\"") != std::string::npos,
            "404 is of the filter");
  }
}

std::string encoded(std::string_view text, FuzzedDataProvider& random) {
  static constexpr std::string_view kMustBe("/?#%\0", 5);
  std::string path;
  for (const char byte : text) {
    if (kMustBe.find(byte) == std::string_view::npos && random.ConsumeBool()) {
      path += byte;
      continue;
    }
    static constexpr std::string_view kDigits[] = {"0123456789abcdef", "0123456789ABCDEF"};
    const std::string_view digits = kDigits[random.ConsumeBool() ? 1 : 0];
    const auto value = static_cast<unsigned char>(byte);
    path += '%';
    path += digits[value >> 4U];
    path += digits[value & 0xfU];
  }
  return path;
}

void ask_for_rows(Pages& pages, FuzzedDataProvider& random) {
  static const std::vector<std::vector<std::string>> kRows{{"orders", "acme", "1"},
                                                           {"orders", "acme", "x/y"},
                                                           {"pairs", "a", "b"},
                                                           {"docs", "a/b:c"},
                                                           {"docs", std::string("\0\r\n\xff", 4)},
                                                           {"names", "ann"}};
  for (const std::vector<std::string>& row : kRows) {
    std::string target = "/v1/check";
    for (const std::string& segment : row) {
      target += "/" + encoded(segment, random);
    }
    require(pages.answer({.method = "GET", .target = target}).status == 200, "a row may exist");
  }
}

}  // namespace
}  // namespace cuckooguard::admin

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuckooguard::admin;
  static Guarded guarded;
  FuzzedDataProvider random(data, size);
  static constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "PUT"};
  static constexpr std::string_view kBegins[] = {
      "", "/", "/v1/check/", "/v1/check/docs/", "/v1/check/orders/", "/v1/check/orders", "/status"};
  const std::string_view method = random.PickValueInArray(kMethods);
  std::string target(random.PickValueInArray(kBegins));
  target += random.ConsumeRandomLengthString(200);
  ask_for_rows(guarded.pages, random);
  const std::string body = random.ConsumeRemainingBytesAsString();
  answer(guarded.pages, {.method = method, .target = target, .body = body});
  const cuckooguard::http::Response list = guarded.pages.answer(
      {.method = "POST", .target = "/v1/check/docs", .body = "[\"a/b:c\"," + body + "]"});
  require(list.status == 400 || (list.status == 200 && list.body.starts_with("[true")),
          "a row may exist in a list");
  return 0;
}
