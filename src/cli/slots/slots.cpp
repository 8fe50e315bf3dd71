#include "slots/slots.h"

#include <variant>
#include <vector>

#include <fmt/format.h>

#include "cli/output.h"
#include "config/config_file.h"
#include "postgres/server.h"
#include "source/source.h"
#include "text/try.h"

namespace cuckooguard::cli {
namespace {

using source::postgres::Connection;
using source::postgres::Slot;

std::expected<Connection, std::string> connect(const std::string& config_path,
                                               const std::string& name,
                                               const config::Built& built) {
  const auto config = config::load_config(config_path, config::process_environment(), {}, built);
  if (!config) {
    return std::unexpected(config_path + " cannot be used: see cuckooguard check --config " +
                           config_path);
  }
  std::vector<const config::PostgresSource*> found;
  for (const config::Source& source : config->sources) {
    const auto* postgres = std::get_if<config::PostgresSource>(&source.kind);
    if (postgres != nullptr && (name.empty() || source.name == name)) {
      found.push_back(postgres);
    }
  }
  if (found.empty()) {
    return std::unexpected(name.empty() ? "no source is of type postgres"
                                        : name + " is no source of type postgres");
  }
  if (found.size() > 1) {
    return std::unexpected("several sources are of type postgres; name one by --source");
  }
  return source::in_words(Connection::open(source::postgres::login_to(*found.front())));
}

std::string line_of(const Slot& slot) {
  const std::string state = !slot.is_usable  ? "lost: " + slot.why_not
                            : slot.is_active ? "in use"
                                             : "not in use";
  return fmt::format(
      "{}  retained={} confirmed={}  {}\n", slot.name, slot.retained, slot.confirmed.text(), state);
}

void add_common(Parser command, std::string& config_path, std::string& source) {
  command.add_option("--config", config_path, "FILE", "The configuration").required();
  command.add_option("--source", source, "NAME", "The source, if there are several");
}

}  // namespace

void add_slot_commands(Parser app, Commands& commands) {
  Parser slot = app.add_subcommand("slot", "Replication slots of guards on a PostgreSQL", true);
  commands.add(slot, ListSlots{});
  commands.add(slot, DropSlot{});
}

Parser ListSlots::add(Parser slot) {
  Parser command = slot.add_subcommand(
      "list", "Print the slots of guards, and how many bytes of its log the server keeps for each");
  add_common(command, config_path, source);
  return command;
}

Parser DropSlot::add(Parser slot) {
  Parser command = slot.add_subcommand(
      "drop", "Drop a slot whose guard has gone for good; not one that is in use");
  add_common(command, config_path, source);
  command.add_option("slot", name, "SLOT", "Its name").required();
  return command;
}

int ListSlots::run(const app::Guests& guests) const {
  return print(list_slots_of(*this, guests.built));
}

int DropSlot::run(const app::Guests& guests) const {
  return print(drop_slot_of(*this, guests.built));
}

std::expected<std::string, std::string> list_slots_of(const ListSlots& options,
                                                      const config::Built& built) {
  auto connection = TRY(connect(options.config_path, options.source, built));
  const auto slots = TRY(
      source::in_words(source::postgres::list_slots(connection, source::postgres::kSlotPrefix)));
  std::string text;
  for (const Slot& slot : slots) {
    text += line_of(slot);
  }
  return text.empty() ? "no slots of guards\n" : text;
}

std::expected<std::string, std::string> drop_slot_of(const DropSlot& options,
                                                     const config::Built& built) {
  auto connection = TRY(connect(options.config_path, options.source, built));
  const auto found = TRY(source::in_words(source::postgres::find_slot(connection, options.name)));
  if (!found) {
    return std::unexpected("there is no slot " + options.name);
  }
  if (found->is_active) {
    return std::unexpected(options.name + " is in use: stop its guard first");
  }
  TRY(source::in_words(source::postgres::drop_slot(connection, options.name)));
  return "dropped " + options.name + "\n";
}

}  // namespace cuckooguard::cli
