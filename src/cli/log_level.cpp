#include "cli/log_level.h"

#include <array>

#include <spdlog/spdlog.h>

namespace cuckooguard::cli {

void set_log_level(config::LogLevel level) {
  static constexpr std::array kLevels{
      spdlog::level::debug, spdlog::level::info, spdlog::level::warn, spdlog::level::err};
  spdlog::set_level(kLevels.at(static_cast<std::size_t>(level)));
}

}  // namespace cuckooguard::cli
