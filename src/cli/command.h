// A subcommand as a value, and the list of those that a command line has. Its options are members
// of a struct; add() has the parser write them there, run() returns the exit code.
//
// Threads: the main thread's. Lifetimes: the parser writes into the list, which outlives it.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <boost/core/noncopyable.hpp>

#include "app/guests.h"
#include "cli/parser.h"

namespace cuckooguard::cli {

class Command {
 public:
  // A struct with run(), or run(guests); one that is subcommand has add(), too.
  template <typename Of>
  explicit Command(Of of) : held_(std::make_shared<Held<Of>>(std::move(of))) {}

  Parser add(Parser parent) { return held_->add(parent); }
  int run(const app::Guests& guests) const { return held_->run(guests); }
  // Null: it is another one.
  template <typename Of>
  const Of* as() const {
    const auto* const held = dynamic_cast<const Held<Of>*>(held_.get());
    return held == nullptr ? nullptr : &held->of;
  }

 private:
  struct Any : boost::noncopyable {
    virtual ~Any() = default;
    virtual Parser add(Parser parent) = 0;
    virtual int run(const app::Guests& guests) const = 0;
  };
  template <typename Of>
  struct Held final : Any {
    explicit Held(Of held) : of(std::move(held)) {}
    Parser add(Parser parent) override {
      if constexpr (requires { of.add(parent); }) {
        return of.add(parent);
      } else {
        return parent;
      }
    }
    int run(const app::Guests& guests) const override {
      if constexpr (requires { of.run(guests); }) {
        return of.run(guests);
      } else {
        return of.run();
      }
    }

    Of of;
  };

  std::shared_ptr<Any> held_;
};

class Commands {
 public:
  template <typename Of>
  void add(Parser parent, Of of) {
    auto& [command, parser] = all_.emplace_back(Command(std::move(of)), parent);
    parser = command.add(parent);
  }
  // The one that was given; null: none was.
  const Command* parsed() const;

 private:
  std::deque<std::pair<Command, Parser>> all_;
};

// All that main() wires: the spine is always there.
struct Program {
  app::Guests guests{};
  std::vector<void (*)(Parser app, Commands& commands)> commands{};  // those of guests
};

}  // namespace cuckooguard::cli
