#include "source/log_position.h"

#include <utility>

namespace cuckooguard::source {
namespace {

template <class Position>
std::optional<LogPosition> parsed(std::string_view text) {
  auto position = Position::parse(text);
  return position ? std::optional(LogPosition(*std::move(position))) : std::nullopt;
}

// Calls use(position, gtid) where both are of one kind.
template <class Positions, class Use>
bool with_pair(Positions& positions, const LogGtid& gtid, const Use& use) {
  if (auto* const mariadb = std::get_if<binlog::MariaDbPosition>(&positions)) {
    const auto* const same = std::get_if<binlog::MariaDbGtid>(&gtid);
    return same != nullptr && use(*mariadb, *same);
  }
  const auto* const same = std::get_if<binlog::MySqlGtid>(&gtid);
  return same != nullptr && use(std::get<binlog::MySqlGtidSet>(positions), *same);
}

}  // namespace

std::optional<LogPosition> LogPosition::parse(std::string_view text, bool is_mariadb) {
  return is_mariadb ? parsed<binlog::MariaDbPosition>(text) : parsed<binlog::MySqlGtidSet>(text);
}

std::string LogPosition::text() const {
  return std::visit([](const auto& position) { return position.to_string(); }, position_);
}

bool LogPosition::covers(const LogGtid& gtid) const {
  if (const auto* const set = std::get_if<binlog::MySqlGtidSet>(&position_)) {
    const auto* const same = std::get_if<binlog::MySqlGtid>(&gtid);
    return same != nullptr && set->contains(*same);
  }
  const auto* const same = std::get_if<binlog::MariaDbGtid>(&gtid);
  return same != nullptr && std::get<binlog::MariaDbPosition>(position_).covers(*same);
}

bool LogPosition::covers(const LogPosition& other) const {
  if (position_.index() != other.position_.index()) {
    return false;
  }
  if (const auto* const set = std::get_if<binlog::MySqlGtidSet>(&position_)) {
    return set->covers(other.mysql());
  }
  return std::get<binlog::MariaDbPosition>(position_).covers(
      std::get<binlog::MariaDbPosition>(other.position_));
}

bool LogPosition::is_disordered_by(const LogGtid& gtid) const {
  const auto* const position = std::get_if<binlog::MariaDbPosition>(&position_);
  const auto* const same = std::get_if<binlog::MariaDbGtid>(&gtid);
  return position != nullptr && same != nullptr && position->is_disordered_by(*same);
}

bool LogPosition::add(const LogGtid& gtid) {
  return with_pair(
      position_, gtid, [](auto& position, const auto& added) { return position.add(added); });
}

}  // namespace cuckooguard::source
