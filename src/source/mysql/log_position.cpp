#include "mysql/log_position.h"

#include <utility>

namespace cuckooguard::source::mysql {
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

std::string text_of(const LogGtid& gtid) {
  LogPosition only = std::holds_alternative<binlog::MariaDbGtid>(gtid)
                         ? LogPosition(binlog::MariaDbPosition())
                         : LogPosition(binlog::MySqlGtidSet());
  return only.add(gtid) ? only.text() : std::string();
}

std::optional<LogGtid> parse_gtid(std::string_view text, bool is_mariadb) {
  const auto as_gtid = [](const auto& gtid) {
    return gtid ? std::optional<LogGtid>(*gtid) : std::nullopt;
  };
  if (is_mariadb) {
    const auto position = binlog::MariaDbPosition::parse(text);
    return position ? as_gtid(position->only()) : std::nullopt;
  }
  const auto set = binlog::MySqlGtidSet::parse(text);
  return set ? as_gtid(set->last_of_only()) : std::nullopt;
}

std::optional<LogPosition> LogPosition::parse(std::string_view text, bool is_mariadb) {
  return is_mariadb ? parsed<binlog::MariaDbPosition>(text) : parsed<binlog::MySqlGtidSet>(text);
}

std::optional<LogPosition> LogPosition::parse(std::string_view text, std::optional<Flavor> flavor) {
  auto position = parse(text, flavor.value_or(Flavor::mariadb) == Flavor::mariadb);
  return position || flavor ? position : parse(text, false);
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

std::optional<LogGtid> LogPosition::previous(const LogGtid& gtid) const {
  const auto* const position = std::get_if<binlog::MariaDbPosition>(&position_);
  const auto* const same = std::get_if<binlog::MariaDbGtid>(&gtid);
  const auto last =
      position != nullptr && same != nullptr ? position->last_of(same->domain) : std::nullopt;
  return last ? std::optional<LogGtid>(*last) : std::nullopt;
}

LogPosition LogPosition::before(const LogGtid& gtid, const std::optional<LogGtid>& previous) const {
  LogPosition earlier = *this;
  if (auto* const set = std::get_if<binlog::MySqlGtidSet>(&earlier.position_)) {
    const auto* const same = std::get_if<binlog::MySqlGtid>(&gtid);
    return same == nullptr || set->remove(*same) ? earlier : *this;
  }
  auto& position = std::get<binlog::MariaDbPosition>(earlier.position_);
  if (const auto* const same = std::get_if<binlog::MariaDbGtid>(&gtid)) {
    position.forget(same->domain);
  }
  return !previous || earlier.add(*previous) ? earlier : *this;
}

LogPosition LogPosition::one_earlier(const LogServer& server) const {
  if (const auto* const set = std::get_if<binlog::MySqlGtidSet>(&position_)) {
    const auto only = set->last_of_only();
    const auto last = only ? only : set->last_of(server.source);
    return last ? before(*last, std::nullopt) : *this;
  }
  const auto& position = std::get<binlog::MariaDbPosition>(position_);
  const auto only = position.only();
  const auto last = only ? only : position.last_of(server.domain);
  if (!last) {
    return *this;
  }
  const bool is_first = last->sequence <= 1;
  const binlog::MariaDbGtid one_less{.domain = last->domain,
                                     .server_id = last->server_id,
                                     .sequence = is_first ? 0 : last->sequence - 1};
  return before(*last, is_first ? std::nullopt : std::optional<LogGtid>(one_less));
}

}  // namespace cuckooguard::source::mysql
