// --help, cuckooguard(8) and docs/ name the same commands with the same flags, and say of each what
// it does in the same words.

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/options.h"
#include "guests/guests.h"
#include "harness/temporary_directory.h"

namespace cuckooguard::cli {
namespace {

using ::testing::StartsWith;

struct Described {
  std::string words;
  std::set<std::string> flags;
};
using Commands = std::map<std::string, Described>;  // by name; "": what there is without one

std::string documented(const char* file) {
  return harness::read_whole_file(std::string(CUCKOOGUARD_SOURCE "/") + file);
}

// One line, without the marks of Markdown and roff.
std::string plain(const std::string& text) {
  std::string words = std::regex_replace(text, std::regex(R"((^|\n)\.[A-Z]+ )"), " ");
  words = std::regex_replace(words, std::regex(R"([\\`"])"), "");
  words = std::regex_replace(words, std::regex(R"(\s+)"), " ");
  return words.substr(std::min(words.find_first_not_of(' '), words.size()));
}

std::set<std::string> flags_in(const std::string& text) {
  const std::regex flag("--[a-z][a-z-]*");
  return {std::sregex_token_iterator(text.begin(), text.end(), flag), std::sregex_token_iterator()};
}

// "filter query FILE KEY ..." -> "filter query"
std::string name_of(const std::string& usage) {
  std::string name;
  std::istringstream words(usage);
  for (std::string word; words >> word && std::islower(word.front()) != 0;) {
    name += (name.empty() ? "" : " ") + word;
  }
  return name;
}

std::string help_of(const std::string& name) {
  std::vector<std::string> words{"cuckooguard"};
  std::istringstream in(name);
  for (std::string word; in >> word;) {
    words.push_back(word);
  }
  words.emplace_back("--help");
  std::vector<const char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(word.c_str());
  }
  int exit_code = -1;
  testing::internal::CaptureStdout();
  parse_options(static_cast<int>(arguments.size()), arguments.data(), guests::program(), exit_code);
  return testing::internal::GetCapturedStdout();
}

// By what --help says, all the way down.
void add_helped(const std::string& name, Commands& all) {
  const std::string help = help_of(name);
  const std::size_t subcommands = std::min(help.find("\nSubcommands:"), help.size());
  const std::regex line(R"(\n +(?:-h,)?(--)?([a-z-]+))");
  Described described{.words = plain(help.substr(0, help.find("\nUsage:"))), .flags = {}};
  for (std::sregex_iterator at(help.begin(), help.end(), line); at != std::sregex_iterator();
       ++at) {
    if (static_cast<std::size_t>(at->position()) > subcommands) {
      add_helped(name.empty() ? at->str(2) : name + " " + at->str(2), all);
    } else if (at->length(1) > 0 && at->str(2) != "help") {
      described.flags.insert("--" + at->str(2));
    }
  }
  if (subcommands == help.size() || name.empty()) {
    all.emplace(name, described);
  }
}

Commands helped() {
  Commands all;
  add_helped("", all);
  return all;
}

Commands in_manual() {
  const std::string page = documented("packaging/cuckooguard.8");
  const std::size_t begin = page.find(".SH COMMANDS\n");
  std::string text = page.substr(begin, page.find(".SH SIGNALS\n") - begin);
  Commands all;
  for (std::size_t at = text.find(".TP\n"); at != std::string::npos;) {
    const std::size_t heading = at + 4;
    const std::size_t body = text.find('\n', heading) + 1;
    at = text.find(".TP\n", body);
    const std::string usage = plain(text.substr(heading, body - heading));
    Described& described = all[name_of(usage)];
    described.words = plain(text.substr(body, at - body));
    described.flags.merge(flags_in(usage + " " + described.words));
  }
  return all;
}

Commands in_docs() {
  const std::string page = documented("docs/configuration.md");
  const std::regex row(R"(\n\| `cuckooguard ([^`]+)` \| ([^\n]*))");
  Commands all;
  for (std::sregex_iterator at(page.begin(), page.end(), row); at != std::sregex_iterator(); ++at) {
    all[name_of(at->str(1))] = {.words = plain(at->str(2)), .flags = flags_in(at->str(2))};
  }
  return all;
}

std::vector<std::string> names(const Commands& all) {
  std::vector<std::string> found;
  for (const auto& [name, described] : all) {
    if (!name.empty()) {
      found.push_back(name);
    }
  }
  return found;
}

TEST(DocumentedCommands, are_in_the_manual_with_their_flags_and_words) {
  const Commands manual = in_manual();
  const Commands program = helped();
  EXPECT_GT(program.size(), 10U);
  ASSERT_EQ(names(manual), names(program));
  for (const auto& [name, described] : program) {
    EXPECT_EQ(manual.at(name).flags, described.flags) << name;
    if (!name.empty()) {
      EXPECT_THAT(manual.at(name).words, StartsWith(described.words)) << name;
    }
  }
}

TEST(DocumentedCommands, are_in_the_docs_with_their_flags_and_words) {
  const Commands docs = in_docs();
  const Commands program = helped();
  ASSERT_EQ(names(docs), names(program));
  const std::set<std::string> said = flags_in(
      std::regex_replace(documented("docs/configuration.md") + documented("docs/quick-start.md"),
                         std::regex(R"(\n\| `cuckooguard [^\n]*)"),
                         ""));
  for (const auto& [name, described] : program) {
    for (const std::string& flag : described.flags) {
      const bool has_row = docs.contains(name);
      EXPECT_TRUE((has_row && docs.at(name).flags.contains(flag)) || said.contains(flag))
          << name << " " << flag;
    }
  }
  for (const auto& [name, described] : docs) {
    EXPECT_THAT(described.words, StartsWith(program.at(name).words)) << name;
    EXPECT_THAT(program.at(name).flags, ::testing::IsSupersetOf(described.flags)) << name;
  }
}

void expect_for_people(const std::string& name) {
  for (const char* const raw :
       {"Excludes:", "Needs:", "{false}", ":{", " TEXT", "REQUIRED", "UINT", "minimal.yaml"}) {
    EXPECT_THAT(std::regex_replace(help_of(name), std::regex("user:\\{"), ""),
                ::testing::Not(::testing::HasSubstr(raw)))
        << name;
  }
}

TEST(DocumentedCommands, have_help_for_people_and_not_of_the_parser) {
  for (const auto& [name, described] : helped()) {
    expect_for_people(name);
  }
  EXPECT_THAT(help_of(""), ::testing::HasSubstr("(not with --check-config or --print-config)"));
  EXPECT_THAT(
      help_of("filter create"),
      ::testing::ContainsRegex(
          "--strategy NAME +Guava's hashing strategy, for guava-bitmap: murmur128_mitz_32, "));
  EXPECT_THAT(
      help_of("init"),
      ::testing::ContainsRegex(
          "--database-address ADDRESS\n"
          "? +Address of the database server .default: 127.0.0.1:3306; postgres: 127.0.0.1:5432"));
}

}  // namespace
}  // namespace cuckooguard::cli
