#include "cli/parser.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/output.h"
#include "config/nearest.h"
#include "text/words.h"

namespace cuckooguard::cli {
namespace {

// Help without CLI11's own marks, such as `Excludes:` and `{false}`.
class Help final : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = Formatter::make_option_name(option, is_positional);
    name.erase(std::min(name.find('{'), name.size()));
    return name;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) {
      return {};
    }
    std::string type = option->get_type_name();
    type.erase(std::min(type.find(':'), type.size()));  // what may stand there is behind it
    return " " + type +
           (option->get_expected_max() == CLI::detail::expected_max_vector_size ? " ..." : "");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::vector<std::string> more;
    const auto add = [&more](const char* what, const char* separator, const auto& options) {
      std::set<std::string> names;
      for (const CLI::Option* const other : options) {
        names.insert(other->get_name());
      }
      if (!names.empty()) {
        more.push_back(what + text::joined(names, separator));
      }
    };
    if (option->get_required()) {
      more.emplace_back("required");
    }
    if (!option->get_default_str().empty()) {
      more.push_back("default: " + option->get_default_str());
    }
    add("with ", " and ", option->get_needs());
    add("not with ", " or ", option->get_excludes());
    return Formatter::make_option_desc(option) +
           (more.empty() ? "" : " (" + text::joined(more, "; ") + ")");
  }
};

// For what was not expected where it stands: the flags and the subcommands that there are.
std::string suggestions(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
  }
  std::vector<std::string> words;
  for (const CLI::Option* const option : command->get_options()) {
    if (!option->get_positional()) {
      words.push_back(option->get_name());
    }
  }
  for (const CLI::App* const subcommand : command->get_subcommands(nullptr)) {
    words.push_back(subcommand->get_name());
  }
  const std::vector<std::string_view> names(words.begin(), words.end());
  std::string text;
  for (const std::string& word : app.remaining(true)) {
    const std::string_view flag = std::string_view(word).substr(0, word.find('='));
    if (const auto meant = config::nearest(flag, names)) {
      text += fmt::format("{}: did you mean \"{}\"?\n", flag, *meant);
    }
  }
  return text;
}

void take_one(const std::string& name, const Parser::Take& take, const std::string& text) {
  if (const auto taken = take(text); !taken) {
    throw CLI::ValidationError(name, taken.error());
  }
}

}  // namespace

Option Option::otherwise(const std::string& value) const {
  return Option(option_->default_str(value));
}

Option Option::required() const {
  return Option(option_->required());
}

Option Option::needs(Option other) const {
  return Option(option_->needs(other.option_));
}

Option Option::excludes(Option other) const {
  return Option(option_->excludes(other.option_));
}

Option Option::one_of(const std::vector<std::string>& names) const {
  option_->description(option_->get_description() + ": " + text::joined(names, ", "));
  return Option(option_->check(CLI::IsMember(names)));
}

Option Option::within(std::uint32_t least, std::uint32_t most) const {
  return Option(option_->check(CLI::Range(least, most)));
}

Parser Parser::add_subcommand(std::string name, std::string what, bool needs_another) const {
  CLI::App* const added = app_->add_subcommand(std::move(name), std::move(what));
  return Parser(needs_another ? added->require_subcommand(1) : added);
}

template <typename Value>
Option Parser::add_option(std::string name,
                          Value& value,
                          std::string type,
                          std::string what) const {
  CLI::Option* const added = app_->add_option(std::move(name), value, std::move(what));
  return Option(added->type_name(std::move(type)));
}
using Text = std::string;
template Option Parser::add_option(Text, std::string&, Text, Text) const;
template Option Parser::add_option(Text, std::vector<std::string>&, Text, Text) const;
template Option Parser::add_option(Text, std::uint32_t&, Text, Text) const;
template Option Parser::add_option(Text, std::uint64_t&, Text, Text) const;
template Option Parser::add_option(Text, double&, Text, Text) const;

Option Parser::add_option(Text name, Take take, Text type, Text what) const {
  const auto take_it = [name, take = std::move(take)](const Text& text) {
    take_one(name, take, text);
  };
  CLI::Option* const added = app_->add_option_function<Text>(name, take_it, std::move(what));
  return Option(added->type_name(std::move(type)));
}

Option Parser::add_repeated(Text name, Take take, Text type, Text what) const {
  const auto take_all = [name, take = std::move(take)](const std::vector<Text>& texts) {
    for (const Text& text : texts) {
      take_one(name, take, text);
    }
  };
  CLI::Option* const added =
      app_->add_option_function<std::vector<Text>>(name, take_all, std::move(what));
  return Option(added->type_name(std::move(type))->allow_extra_args(false));
}

Option Parser::add_flag(std::string name, bool& value, std::string what) const {
  return Option(app_->add_flag(std::move(name), value, std::move(what)));
}

void Parser::require(const std::string& what, const std::function<bool()>& is_there) const {
  app_->callback([what, is_there] {
    if (!is_there()) {
      throw CLI::RequiredError(what);
    }
  });
}

bool Parser::is_given() const {
  return app_->parsed();
}

CommandLine::CommandLine(const std::string& program, const std::string& what)
    : app_(std::make_unique<CLI::App>(what, program)) {
  app_->formatter(std::make_shared<Help>());  // subcommands inherit it
}

CommandLine::~CommandLine() = default;

std::optional<int> CommandLine::read(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& outcome) {  // how CLI11 also says that it has printed help
    if (app_->exit(outcome) == 0) {
      return 0;
    }
    fmt::print(stderr, "{}", suggestions(*app_));
    return kExitUsage;
  }
}

}  // namespace cuckooguard::cli
