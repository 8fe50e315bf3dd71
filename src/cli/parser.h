// What a command line may say: subcommands, and options that are written into variables of a
// command's struct. It is CLI11, which parser.cpp alone includes: it takes a compiler ten seconds.
//
// Threads: one. Lifetimes: an Option and a Parser live as long as the CommandLine that they are of;
//   the variables, and what Take captures, until it has read.
// Errors: what was typed wrong is printed, with the exit code as the result.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming)
class App;
class Option;
}  // namespace CLI

namespace cuckooguard::cli {

// What was typed; the error completes "--flag: ".
using Taken = std::expected<void, std::string>;

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  // As the help says it; what the variable holds is not asked.
  Option otherwise(const std::string& value) const;
  Option required() const;
  Option needs(Option other) const;
  Option excludes(Option other) const;
  Option one_of(const std::vector<std::string>& names) const;
  Option within(std::uint32_t least, std::uint32_t most) const;

 private:
  CLI::Option* option_;
};

class Parser {
 public:
  using Take = std::function<Taken(const std::string& text)>;

  explicit Parser(CLI::App* app) : app_(app) {}

  // `needs_another`: one of its own must follow.
  Parser add_subcommand(std::string name, std::string what, bool needs_another = false) const;
  // `type`: what the help calls its value, such as FILE. `value`: of parser.cpp's types.
  template <typename Value>
  Option add_option(std::string name, Value& value, std::string type, std::string what) const;
  Option add_option(std::string name, Take take, std::string type, std::string what) const;
  // That may be there several times.
  Option add_repeated(std::string name, Take take, std::string type, std::string what) const;
  // `!--name` takes the value away.
  Option add_flag(std::string name, bool& value, std::string what) const;
  // Else the command line is refused: `what` is required.
  void require(const std::string& what, const std::function<bool()>& is_there) const;

  // Whether this subcommand was given.
  bool is_given() const;

 private:
  CLI::App* app_;
};

class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& what);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  Parser parser() const { return Parser(app_.get()); }
  // Nothing: all is read. Else the code to end with: help was printed, or what is wrong.
  std::optional<int> read(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace cuckooguard::cli
