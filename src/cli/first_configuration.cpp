#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "cli/options.h"
#include "config/effective.h"
#include "text/ascii.h"

namespace cuckooguard::cli {
namespace {

// As a namespace may be called.
std::string name_for(std::string text) {
  std::ranges::replace_if(
      text, [](char byte) { return std::isalnum(static_cast<unsigned char>(byte)) == 0; }, '_');
  return text.substr(0, 64);
}

class Text {
 public:
  explicit Text(const Answers& answers) : answers_(answers) {}

  void add(std::string_view text) { text_ += text; }
  void add(std::string_view name, std::string_view flag) {
    text_ += fmt::format("{}: {}\n", name, config::yaml_scalar(answer_to(answers_, flag)));
  }
  // The guard may be started in another folder.
  void add_file(std::string_view name, std::string_view flag) {
    const auto file = std::filesystem::absolute(answer_to(answers_, flag));
    text_ += fmt::format("{}: {}\n", name, config::yaml_scalar(file.string()));
  }
  void add_password(std::string_view indent, std::string_view flag) {
    const std::string answer = answer_to(answers_, flag);
    if (is_variable(answer)) {
      text_ += fmt::format("{}password: {}\n", indent, answer);
    } else if (!answer.empty()) {
      add_file(fmt::format("{}password_file", indent), flag);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  const Answers& answers_;
  std::string text_;
};

void add_redis(Text& text, const Answers& answers) {
  text.add(
      "# By `cuckooguard init`. Every other setting, with its default: cuckooguard.yaml, which "
      "comes "
      "with the guard.\n"
      "\n"
      "# Where applications connect, instead of to Redis.\n");
  text.add("listen", "--listen");
  text.add("\nupstream:\n");
  text.add("  address", "--redis");
  if (answers.contains("--acl")) {
    text.add("  acl", "--acl");
  }
  const bool logs_in = !answer_to(answers, "--redis-password-file").empty();
  if (logs_in || !answer_to(answers, "--redis-user").empty()) {
    text.add("  # The guard's own login, by which it asks what other users may do.\n  control:\n");
    text.add("    username", "--redis-user");
    text.add_password("    ", "--redis-password-file");
  }
}

void add_source(Text& text, const Answers& answers) {
  const std::string type = answer_to(answers, "--type");
  if (type != "mysql" && type != "postgres") {
    text.add_file("    path", "--path");
    return;
  }
  text.add("    addresses", "--database-address");
  text.add("    user", "--database-user");
  text.add_password("    ", "--database-password-file");
  text.add("    database", "--database");
  if (type == "postgres") {
    text.add("    schema", "--schema");
  }
}

void add_namespace(Text& text, const Answers& answers) {
  const bool has_table = answer_to(answers, "--type") != "file";
  const std::string name = has_table ? name_for(answer_to(answers, "--table")) : "values";
  text.add("\nnamespaces:\n  " + name + ":\n");
  text.add("    keys", "--key");
  text.add("    source:\n      from: database\n");
  if (has_table) {
    text.add("      table", "--table");
  }
  if (answers.contains("--db")) {
    text.add("    # Clients that have selected another database of Redis are forwarded.\n");
    text.add("    db", "--db");
  }
  text.add(
      "    # observe: all is forwarded, and what would have been answered is counted and "
      "compared.\n"
      "    # When GUARD.INFO advises it: enforce, with an absent_reply; `cuckooguard presets` "
      "lists "
      "those of frameworks.\n"
      "    mode: observe\n"
      "    #absent_reply: nil\n"
      "    # So many reads of absent keys per second are forwarded all the same. Your database can "
      "bear "
      "a few look-ups of\n"
      "    # rows that do not exist, and until there are more the application cannot tell that the "
      "guard is there. 0: all\n"
      "    # absent keys are answered.\n"
      "    tolerate: 10/s\n"
      "\n"
      "# A page for people, metrics and health.\n"
      "#admin: { address: 127.0.0.1:9180 }\n");
}

}  // namespace

std::string answer_to(const Answers& answers, std::string_view flag) {
  const auto found = answers.find(flag);
  return found == answers.end() ? std::string() : found->second;
}

bool is_variable(std::string_view text) {
  return text.starts_with("${") && text.ends_with('}') &&
         std::ranges::all_of(text.substr(2, text.size() - 3), [](char byte) {
           return byte == '_' || text::is_digit(byte) || text::is_letter(byte);
         });
}

std::string first_configuration(const Answers& answers, Part last) {
  Text text(answers);
  add_redis(text, answers);
  if (last >= Part::type) {
    text.add("\nsources:\n  database:\n");
    text.add("    type", "--type");
  }
  if (last >= Part::source) {
    add_source(text, answers);
  }
  if (last >= Part::keys) {
    add_namespace(text, answers);
  }
  return text.take();
}

}  // namespace cuckooguard::cli
