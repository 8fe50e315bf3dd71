#include "pictures.h"

#include <array>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "harness/chromium.h"
#include "harness/interrupt.h"
#include "live_load.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;

constexpr std::chrono::seconds kUntilChartsAreFull{305};

struct Screen {
  std::string_view file;
  int width;
  int height;  // the picture is as high as the page
};
constexpr std::array<Screen, 2> kScreens{{{.file = "page.png", .width = 1280, .height = 800},
                                          {.file = "page-phone.png", .width = 390, .height = 844}}};
// Rates need two answers.
constexpr std::string_view kIsShown =
    "document.getElementById('process').textContent.includes('of a core')";

void take_picture(const harness::Chromium& browser,
                  const std::string& page,
                  const Screen& screen,
                  const std::filesystem::path& file) {
  const harness::Chromium::Report seen = browser.open({{"url", page},
                                                       {"width", screen.width},
                                                       {"height", screen.height},
                                                       {"dark", false},
                                                       {"until", kIsShown},
                                                       {"screenshot", file.string()}});
  if (seen.overflow > 0) {
    throw std::runtime_error(fmt::format(
        "the page is {} pixels wider than a screen of {}", seen.overflow, screen.width));
  }
}

}  // namespace

void take_pictures(const Shown& shown, const std::filesystem::path& folder) {
  std::exception_ptr trouble;
  {
    const std::jthread load([&](const std::stop_token& stop) {
      try {
        run_live_load(shown.database, shown.guard, shown.users, stop);
      } catch (...) {
        trouble = std::current_exception();
      }
    });
    Interrupt::require_until(Interrupt::Clock::now() + kUntilChartsAreFull);
    const harness::Chromium browser;
    for (const Screen& screen : kScreens) {
      take_picture(browser, shown.page, screen, folder / screen.file);
    }
  }
  if (trouble) {
    std::rethrow_exception(trouble);
  }
}

}  // namespace cuckooguard::demo
