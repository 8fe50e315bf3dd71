#include "slots/slots.h"

#include <variant>

#include <fmt/format.h>

#include "cli/output.h"
#include "postgres/server.h"
#include "source/source.h"
#include "text/try.h"

namespace cuckooguard::cli {
namespace {

using source::postgres::Connection;
using source::postgres::Slot;

std::expected<Connection, std::string> connect(const SourceFlags& from,
                                               const config::Built& built) {
  const config::Config config = TRY(from.load(built));
  const config::Source* const source =
      TRY(from.choose(config, "of type postgres", source::is_of<config::PostgresSource>));
  return source::in_words(
      Connection::open(source::postgres::login_to(std::get<config::PostgresSource>(source->kind))));
}

std::string line_of(const Slot& slot) {
  const std::string state = !slot.is_usable  ? "lost: " + slot.why_not
                            : slot.is_active ? "in use"
                                             : "not in use";
  return fmt::format(
      "{}  retained={} confirmed={}  {}\n", slot.name, slot.retained, slot.confirmed.text(), state);
}

}  // namespace

void add_slot_commands(Parser app, Commands& commands) {
  Parser slot = app.add_subcommand(
      "slot", "List and drop the replication slots of guards on a PostgreSQL server", true);
  commands.add(slot, ListSlots{});
  commands.add(slot, DropSlot{});
}

Parser ListSlots::add(Parser slot) {
  return from.add(slot.add_subcommand("list",
                                      "List the replication slots of guards, and how many bytes of "
                                      "WAL the server retains for each"));
}

Parser DropSlot::add(Parser slot) {
  Parser command = from.add(slot.add_subcommand(
      "drop", "Drop the slot of a guard that is gone for good; refuses a slot that is in use"));
  command.add_option("slot", name, "SLOT", "Name of the slot").required();
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
  auto connection = TRY(connect(options.from, built));
  const auto slots = TRY(
      source::in_words(source::postgres::list_slots(connection, source::postgres::kSlotPrefix)));
  std::string text;
  for (const Slot& slot : slots) {
    text += line_of(slot);
  }
  return text.empty() ? "the server has no slots of guards\n" : text;
}

std::expected<std::string, std::string> drop_slot_of(const DropSlot& options,
                                                     const config::Built& built) {
  auto connection = TRY(connect(options.from, built));
  const auto found = TRY(source::in_words(source::postgres::find_slot(connection, options.name)));
  if (!found) {
    return std::unexpected("no such slot: " + options.name);
  }
  if (found->is_active) {
    return std::unexpected(options.name + " is in use: stop its guard first");
  }
  TRY(source::in_words(source::postgres::drop_slot(connection, options.name)));
  return "dropped " + options.name + "\n";
}

}  // namespace cuckooguard::cli
