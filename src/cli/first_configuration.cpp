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

constexpr std::size_t kNameMax = 64;

// As a namespace may be called.
std::string name_for(std::string text) {
  std::ranges::replace_if(
      text, [](char byte) { return std::isalnum(static_cast<unsigned char>(byte)) == 0; }, '_');
  return text.substr(0, kNameMax);
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
      "# Written by `cuckooguard init`. The packaged cuckooguard.yaml documents every setting and "
      "its default.\n"
      "\n"
      "# Applications connect here instead of to Redis.\n");
  text.add("listen", "--listen");
  text.add("\nupstream:\n");
  text.add("  address", "--redis");
  if (answers.contains("--acl")) {
    text.add("  acl", "--acl");
  }
  const bool logs_in = !answer_to(answers, "--redis-password-file").empty();
  if (logs_in || !answer_to(answers, "--redis-user").empty()) {
    text.add(
        "  # The guard's own login, with which it reads the permissions of other users.\n"
        "  control:\n");
    text.add("    username", "--redis-user");
    text.add_password("    ", "--redis-password-file");
  }
}

// What is to be set in Debezium, and what no stream tells.
void add_streams(Text& text, const Answers& answers) {
  text.add("    connector", "--connector");
  text.add("    topic_prefix", "--topic-prefix");
  text.add(
      "    # Debezium Server's application.properties needs, besides what is there:\n"
      "    #   debezium.source.skipped.operations=none   (or TRUNCATE is not in the stream)\n"
      "    #   debezium.source.heartbeat.interval.ms=200\n"
      "    #   debezium.source.heartbeat.action.query=UPDATE ... of a small table, which is "
      "captured, "
      "too\n"
      "    # Without such a heartbeat all keys pass in quiet times. The table is named here.\n");
  text.add(answer_to(answers, "--heartbeat-table").empty() ? "    #heartbeat_table"
                                                           : "    heartbeat_table",
           "--heartbeat-table");
  text.add(
      "    # trust_lag: you answer for clocks of guard and database that agree within a fraction "
      "of "
      "max_lag.\n");
  text.add("    freshness", "--freshness");
  text.add(
      "    # Rows are known when Debezium's snapshot has been read, which must still be in the "
      "stream; "
      "their number is\n"
      "    # not known before.\n"
      "    # If the database compares texts byte by byte, which no stream tells, keys may have "
      "{column} instead of {column|ci}.\n"
      "    #binary_texts: false\n");
}

void add_source(Text& text, const Answers& answers) {
  const std::string type = answer_to(answers, "--type");
  if (type == "debezium") {
    add_streams(text, answers);
    return;
  }
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

// A name that no other namespace has.
std::string free_name(const Answers& answers, std::vector<std::string>& taken) {
  const bool has_table = answer_to(answers, "--type") != "file";
  const std::string wanted = has_table ? name_for(answer_to(answers, "--table")) : "values";
  std::string name = wanted;
  for (int n = 2; std::ranges::count(taken, name) > 0; ++n) {
    name = fmt::format("{}_{}", wanted.substr(0, kNameMax - 4), n);
  }
  return taken.emplace_back(std::move(name));
}

// Up to its mode.
std::string namespace_text(const Answers& answers,
                           const std::string& name,
                           std::string_view source,
                           const std::string& indent) {
  Text text(answers);
  const std::string inner = indent + indent;
  text.add(indent + name + ":\n");
  text.add(inner + "keys", "--key");
  text.add(fmt::format("{}source:\n{}{}from: {}\n", inner, inner, indent, source));
  if (answer_to(answers, "--type") != "file") {
    text.add(inner + indent + "table", "--table");
  }
  if (answers.contains("--db")) {
    text.add(inner +
             "# Commands of clients that have selected another Redis database are forwarded.\n");
    text.add(inner + "db", "--db");
  }
  return text.take();
}

// `tolerate`, as it is written everywhere.
constexpr std::string_view kTolerate = "tolerate: 10/s\n";

void add_namespaces(Text& text, std::span<const Answers> spaces) {
  text.add("\nnamespaces:\n");
  std::vector<std::string> taken;
  for (const Answers& space : spaces) {
    text.add(namespace_text(space, free_name(space, taken), "database", "  "));
    if (taken.size() < spaces.size()) {
      text.add(fmt::format("    mode: observe\n    {}", kTolerate));
    }
  }
  text.add(
      "    # observe: forwards everything, counts the reads it would have answered, and compares "
      "them with Redis.\n"
      "    # Switch to enforce, with an absent_reply, when GUARD.INFO advises it. `cuckooguard "
      "presets` lists\n"
      "    # absent replies by framework.\n"
      "    mode: observe\n"
      "    #absent_reply: nil\n"
      "    # Up to this many reads of absent keys per second are still forwarded. Your database "
      "can handle a few look-ups\n"
      "    # of rows that do not exist, and below this rate the application cannot notice the "
      "guard. 0: the guard answers\n"
      "    # all reads of absent keys.\n"
      "    tolerate: 10/s\n"
      "\n"
      "# Status page, metrics and health checks.\n"
      "#admin: { address: 127.0.0.1:9180 }\n");
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \r\n") == std::string_view::npos;
}

// Where a section has room for more, and how far its names are indented.
struct Gap {
  std::size_t at = 0;
  std::string indent{"  "};
};

// `lines`: from the section's first to the last of the text. What stands at the beginning of a line
// belongs to what follows.
Gap behind_section(std::string_view yaml, std::span<const std::string_view> lines) {
  std::string_view last = lines.front();
  Gap gap;
  bool has_names = false;
  for (const std::string_view line : lines.subspan(1)) {
    const std::size_t begin = std::min(line.find_first_not_of(" \r\n"), line.size());
    if (begin == 0 && line.front() != '#') {
      break;
    }
    if (begin == 0 || is_blank(line)) {
      continue;
    }
    last = line;
    if (!has_names && line[begin] != '#') {
      gap.indent.assign(begin, ' ');
      has_names = true;
    }
  }
  gap.at = static_cast<std::size_t>(last.data() + last.size() - yaml.data());
  return gap;
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

std::string first_configuration(const Answers& answers,
                                Part last,
                                std::span<const Answers> spaces) {
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
    add_namespaces(text, spaces.empty() ? std::span(&answers, 1) : spaces);
  }
  return text.take();
}

std::expected<std::string, std::string> with_namespaces(std::string_view yaml,
                                                        std::span<const Answers> spaces,
                                                        const Addition& addition) {
  constexpr std::string_view kSection = "namespaces:";
  const std::vector<std::string_view> lines = lines_of(yaml);
  const auto section = std::ranges::find_if(
      lines, [&](std::string_view line) { return line.starts_with(kSection); });
  Gap gap{.at = yaml.size()};
  if (section != lines.end()) {
    const std::string_view rest = section->substr(kSection.size());
    if (!is_blank(rest.substr(0, rest.find('#')))) {
      return std::unexpected(
          "cannot extend `namespaces`, which is written in braces: rewrite it in block style, one "
          "setting per line");
    }
    gap = behind_section(yaml, std::span(section, lines.end()));
  }
  std::string text(yaml.substr(0, gap.at));
  text += text.empty() || text.ends_with('\n') ? "" : "\n";
  if (section == lines.end()) {
    text.append("\n").append(kSection).append("\n");
  }
  std::vector<std::string> taken = addition.taken;
  for (const Answers& space : spaces) {
    text += namespace_text(space, free_name(space, taken), addition.source, gap.indent);
    text += fmt::format("{0}mode: observe\n{0}{1}", gap.indent + gap.indent, kTolerate);
  }
  return text.append(yaml.substr(gap.at));
}

}  // namespace cuckooguard::cli
