#include "guard/client_state.h"

#include "guard/permissions.h"

namespace cuckooguard::guard {

void ClientState::sent(const StateChange& change) {
  ++changes_in_flight_;
  if (change.kind == ChangeKind::multi) {
    ++multis_in_flight_;
  }
}

void ClientState::replied(const StateChange& change, char reply_type) {
  --changes_in_flight_;
  if (change.kind == ChangeKind::multi) {
    --multis_in_flight_;
  }
  if (reply_type == '-' || reply_type == '!') {
    refused(change);
  } else {
    accepted(change);
  }
}

void ClientState::accepted(const StateChange& change) {
  switch (change.kind) {
    case ChangeKind::select:
      db_ = change.db;
      break;
    case ChangeKind::auth:
      set_user(change.user);
      break;
    case ChangeKind::hello:
      version_ = change.version;
      if (change.authenticates) {
        set_user(change.user);
      }
      break;
    case ChangeKind::multi:
      unsettled_ |= kInMulti;
      break;
    case ChangeKind::end_multi:
      unsettled_ &= static_cast<std::uint8_t>(~(kInMulti | kWatching));
      break;
    case ChangeKind::watch:
      unsettled_ |= kWatching;
      break;
    case ChangeKind::unwatch:
      unsettled_ &= static_cast<std::uint8_t>(~kWatching);
      break;
    case ChangeKind::reset:
      begin_again();
      break;
    case ChangeKind::queued:
    case ChangeKind::unclear:
      unsettled_ |= kUncertain;
      break;
  }
}

void ClientState::refused(const StateChange& change) {
  switch (change.kind) {
    case ChangeKind::hello:
      // Redis 7.0 takes the options of HELLO one by one: a good AUTH before a bad SETNAME stands, though the reply is
      // an error. The user is known again once Redis has accepted one.
      if (change.authenticates) {
        standing_ = Standing::unknown;
        permissions_version_ = 0;
      }
      break;
    case ChangeKind::unclear:
      unsettled_ |= kUncertain;
      break;
    case ChangeKind::end_multi:
      // A refused EXEC has ended MULTI in Redis 7 (-EXECABORT), in older releases not always: nothing is answered
      // until an EXEC or DISCARD is accepted.
    default:
      break;
  }
}

bool ClientState::is_unrestricted(const Permissions& permissions) {
  const std::uint64_t version = permissions.version();
  if (permissions_version_ != version) {
    switch (standing_) {
      case Standing::initial:
        unrestricted_ = permissions.is_initial_user_unrestricted();
        break;
      case Standing::authenticated:
        unrestricted_ = permissions.is_unrestricted(user_);
        break;
      case Standing::unknown:
        unrestricted_ = false;
        break;
    }
    permissions_version_ = version;
  }
  return unrestricted_;
}

void ClientState::set_user(const std::string& name) {
  user_ = name;
  standing_ = Standing::authenticated;
  permissions_version_ = 0;
}

void ClientState::begin_again() {
  db_ = 0;
  version_ = resp::Version::resp2;
  standing_ = Standing::initial;
  permissions_version_ = 0;
  unsettled_ = 0;
  user_.clear();
}

}  // namespace cuckooguard::guard
