// A browser of the test's own, without a screen, driven by integration/clients/page.mjs. It finds
// no other host than this one.
//
// Errors: open() throws std::runtime_error with the script's words, also if the page does not
// become what was asked.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "harness/child_process.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::harness {

class Chromium {
 public:
  // What page.mjs prints.
  struct Report {
    std::vector<std::string> errors;      // of the console, the network and the page's policy
    std::vector<std::string> urls;        // all that the page asked for
    std::vector<std::string> violations;  // of the rules of accessibility, by axe
    int overflow = 0;                     // pixels that it is wider than the screen
    std::map<std::string, std::string> read;
  };

  static std::optional<std::string> missing();

  Chromium();

  // `order` as page.mjs has it. A tab of its own.
  Report open(const boost::json::object& order) const;

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<ChildProcess> process_;
  std::string port_;
};

}  // namespace cuckooguard::harness
