#include "harness/chromium.h"

#include <array>
#include <filesystem>
#include <stdexcept>

#include <boost/json.hpp>

#include "harness/missing.h"

namespace cuckooguard::harness {
namespace {

namespace json = boost::json;

// The programs themselves: the scripts of these names in /usr/bin do not hand signals on.
constexpr std::array<const char*, 2> kPrograms{"/usr/lib/chromium/chromium-headless-shell",
                                               "/usr/lib/chromium/chromium"};
constexpr std::string_view kSaysItsPort = "DevTools listening on ws://127.0.0.1:";

std::string program() {
  for (const char* const path : kPrograms) {
    if (std::filesystem::exists(path)) {
      return path;
    }
  }
  return "";
}

std::vector<std::string> texts(const json::value& list) {
  std::vector<std::string> all;
  for (const json::value& text : list.as_array()) {
    all.emplace_back(text.as_string());
  }
  return all;
}

}  // namespace

std::optional<std::string> Chromium::missing() {
  if (program().empty()) {
    return "Chromium is not installed (Debian: chromium-headless-shell)";
  }
  auto module = missing_node_module(CUCKOOGUARD_NODE_FOLDER, "chrome-remote-interface");
  return module ? module : missing_node_module(CUCKOOGUARD_NODE_FOLDER, "axe-core");
}

Chromium::Chromium() {
  const auto said = directory_ / "said";
  process_ = std::make_unique<ChildProcess>(
      std::vector<std::string>{program(),
                               "--headless",
                               "--no-sandbox",
                               "--disable-gpu",
                               "--disable-dev-shm-usage",
                               "--hide-scrollbars",
                               "--no-first-run",
                               "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                               "--remote-debugging-port=0",
                               "--user-data-dir=" + (directory_ / "profile").string(),
                               "about:blank"},
      ChildProcess::Output{.standard_output = directory_ / "out", .standard_error = said});
  const bool listens = eventually([&] {
    const std::string text = std::filesystem::exists(said) ? read_whole_file(said) : "";
    const std::size_t at = text.find(kSaysItsPort);
    const std::size_t end = at == std::string::npos ? at : text.find('/', at + kSaysItsPort.size());
    if (end != std::string::npos) {
      port_ = text.substr(at + kSaysItsPort.size(), end - at - kSaysItsPort.size());
    }
    return !port_.empty() || !process_->is_running();
  });
  if (!listens || port_.empty()) {
    throw std::runtime_error("Chromium does not start: " + read_whole_file(said));
  }
}

Chromium::Report Chromium::open(const json::object& order) const {
  const std::string script = std::string(CUCKOOGUARD_CLIENTS) + "/page.mjs";
  const Ended ended =
      run_program({"node", script, CUCKOOGUARD_NODE_FOLDER, port_, json::serialize(order)});
  if (ended.exit_code != 0) {
    throw std::runtime_error(ended.standard_output + ended.standard_error);
  }
  const json::value all = json::parse(ended.standard_output);
  Report report{.errors = texts(all.at("errors")),
                .urls = texts(all.at("urls")),
                .violations = texts(all.at("violations")),
                .overflow = all.at("overflow").to_number<int>()};
  for (const auto& [name, text] : all.at("read").as_object()) {
    report.read.emplace(name, text.as_string());
  }
  return report;
}

}  // namespace cuckooguard::harness
