#include "pictures.h"

#include <array>
#include <cmath>
#include <exception>
#include <numbers>
#include <stdexcept>
#include <string_view>
#include <thread>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "harness/chromium.h"
#include "harness/interrupt.h"

namespace cuckooguard::demo {
namespace {

using harness::Interrupt;

constexpr std::chrono::seconds kUntilChartsAreFull{305};
constexpr std::chrono::duration<double> kWave{40};
constexpr std::chrono::milliseconds kStep{1000};
constexpr double kCrest = 3'500;  // look-ups of the attack per second

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

void run_waves(Load& load, const Endpoint& guard, const std::stop_token& stop) {
  for (double wave = 0; !stop.stop_requested(); wave += kStep / kWave) {
    const double height = (1 - std::cos(2 * std::numbers::pi * wave)) / 2;
    load.run({.name = "wave", .cache = guard, .attack = kCrest * height, .length = kStep});
  }
}

void take_pictures(const Shown& shown, const std::filesystem::path& folder) {
  std::exception_ptr trouble;
  {
    const std::jthread load([&](const std::stop_token& stop) {
      try {
        run_waves(shown.load, shown.guard, stop);
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
