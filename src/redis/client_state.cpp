#include "redis/client_state.h"

#include "redis/facts.h"

namespace cuckooguard::redis {

void ClientState::sent(const StateChange& change) {
  ++changes_in_flight_;
  if (change.kind == ChangeKind::multi) {
    ++multis_in_flight_;
  }
  if (change.for_all_clients) {
    ++for_all_in_flight_;
  }
  if (change.kind == ChangeKind::asking) {
    is_last_asking_ = true;
  }
}

void ClientState::replied(const StateChange& change, char reply_type) {
  --changes_in_flight_;
  if (change.kind == ChangeKind::multi) {
    --multis_in_flight_;
  }
  replied_for_all(change, reply_type);
  if (reply_type == '-' || reply_type == '!') {
    refused(change);
  } else {
    accepted(change);
  }
  if (changes_in_flight_ == 0 && !has_unread_replies()) {
    may_be_another_ = false;
  }
}

// Who may not run it is refused when it would be queued. EXEC's reply may say that nothing was
// executed, too: then it is asked in vain.
void ClientState::replied_for_all(const StateChange& change, char reply_type) {
  if (change.kind == ChangeKind::end_multi) {
    if (queued_for_all_ && reply_type == '*') {
      facts_->withdraw_users();
    }
    return;
  }
  if (!change.for_all_clients) {
    return;
  }
  --for_all_in_flight_;
  if (reply_type == '-' || reply_type == '!') {
    facts_->doubt();
  } else if ((unsettled_ & kInMulti) != 0) {
    queued_for_all_ = true;
  } else {
    facts_->withdraw_users();
  }
}

void ClientState::exec_replies() {
  if (queued_for_all_) {
    facts_->withdraw_users();
  }
}

void ClientState::accepted(const StateChange& change) {
  switch (change.kind) {
    case ChangeKind::select:
      db_ = change.db;
      break;
    case ChangeKind::auth:
      set_user(change);
      break;
    case ChangeKind::hello:
      version_ = change.version;
      update_subscribed();
      if (change.authenticates) {
        set_user(change);
      }
      set_label(change);
      break;
    case ChangeKind::label:
      set_label(change);
      break;
    case ChangeKind::multi:
      set(kInMulti, true);
      break;
    case ChangeKind::end_multi:
      set(kInMulti | kWatching, false);
      queued_for_all_ = false;
      break;
    case ChangeKind::watch:
      set(kWatching, true);
      break;
    case ChangeKind::unwatch:
      set(kWatching, false);
      break;
    case ChangeKind::reset:
      begin_again();
      break;
    case ChangeKind::tracking_on:
      set(kTracking, true);
      break;
    case ChangeKind::tracking_off:
      set(kTracking, false);
      break;
    case ChangeKind::readonly:
      reads_replica_ = true;
      break;
    case ChangeKind::readwrite:
      reads_replica_ = false;
      break;
    case ChangeKind::asking:
      set(kAsked, is_last_asking_);
      break;
    case ChangeKind::subscribe:  // confirmed() has heard of each
    case ChangeKind::server:
      break;
    case ChangeKind::lasting:
      set(kLasting, true);
      break;
    case ChangeKind::redirects:
      is_redirected_ = true;
      break;
    case ChangeKind::unknown:
    case ChangeKind::unclear:
      set(kUncertain, true);
      break;
  }
}

void ClientState::refused(const StateChange& change) {
  switch (change.kind) {
    case ChangeKind::hello:
      // Redis 7.0 takes the options of HELLO one by one: a good AUTH before a bad SETNAME stands,
      // though the reply is an error. The user is known again once Redis has accepted one.
      if (change.authenticates) {
        standing_ = Standing::unknown;
        on_user_changed();
      }
      break;
    case ChangeKind::unclear:
      set(kUncertain, true);
      break;
    default:
      break;
  }
}

const UserAccess* ClientState::access(const Snapshot& snapshot, Facts& facts) {
  if (facts_version_ == snapshot.version) {
    return access_;
  }
  facts_version_ = snapshot.version;
  access_ = nullptr;
  switch (standing_) {
    case Standing::initial:
      if (snapshot.users->default_needs_no_password) {
        access_ = snapshot.users->find("default");
      }
      break;
    case Standing::authenticated:
      access_ = snapshot.users->find(user_);
      facts_ = &facts;
      is_counted_ = facts.ask_for(user_, is_counted_);
      break;
    case Standing::unknown:
      break;
  }
  return access_;
}

bool ClientState::may_be_unrestricted(const Snapshot& snapshot) const {
  const Users& users = snapshot.withdrawn ? *snapshot.withdrawn : *snapshot.users;
  switch (standing_) {
    case Standing::initial:
      return users.default_needs_no_password && users.unrestricted.contains("default");
    case Standing::authenticated:
      return users.unrestricted.contains(user_);
    case Standing::unknown:
      break;
  }
  return false;
}

ClientState::Login ClientState::login(const Snapshot& snapshot) const {
  switch (standing_) {
    case Standing::authenticated:
      return Login::yes;
    case Standing::initial:
      break;
    case Standing::unknown:
      return Login::no;
  }
  const Users& users = *snapshot.users;
  if (users.default_needs_no_password) {
    // Behind a control connection that is gone there may be another Redis.
    return snapshot.is_lost && has_upstream_ ? Login::unknown : Login::yes;
  }
  const bool is_known = users.trusts_everyone || !users.unrestricted.empty() ||
                        !users.restricted.empty() || !users.refusal.empty();
  return is_known && !snapshot.is_lost ? Login::no : Login::unknown;
}

void ClientState::ended() {
  leave_user();
  if (for_all_in_flight_ > 0 || (queued_for_all_ && changes_in_flight_ > 0)) {
    facts_->doubt();
  }
  for_all_in_flight_ = 0;
  queued_for_all_ = false;
}

bool ClientState::may_rely_on(const Snapshot& known, TimePoint now) const {
  return now < known.good_until && !(known.is_lost && has_upstream_);
}

bool ClientState::is_wary(const Snapshot& known) const {
  return known.epoch < wary_until_;
}

void ClientState::confirmed(const PubSubFrame& frame) {
  subscriptions_.confirmed(frame);
  update_subscribed();
}

// In RESP3 a subscribed connection is as free as any other.
void ClientState::update_subscribed() {
  set(kSubscribed, subscriptions_.any() && version_ == resp::Version::resp2);
}

std::string_view ClientState::why_unsettled() const {
  if ((unsettled_ & kLasting) != 0) {
    return "this client has sent a CLIENT subcommand that the guard does not know: all its reads "
           "pass until it disconnects";
  }
  if ((unsettled_ & kTracking) != 0) {
    return "this client has CLIENT TRACKING on, and Redis must see what it reads";
  }
  if ((unsettled_ & (kWatching | kInMulti)) != 0) {
    return "this client is watching keys or is inside MULTI";
  }
  return is_settled() ? std::string_view() : "the state of this client's connection is unknown";
}

bool ClientState::can_set_reply_mode() const {
  return changes_in_flight_ == 0 && (unsettled_ & ~kSilent) == 0;
}

bool ClientState::can_subscribe() const {
  return !may_be_in_multi() && (unsettled_ & (kUncertain | kLasting | kSilent)) == 0;
}

void ClientState::set_reply_mode(ReplyMode mode) {
  switch (mode) {
    case ReplyMode::on:
      silence_ = Silence::none;
      break;
    case ReplyMode::off:
      silence_ = Silence::off;
      break;
    case ReplyMode::skip:  // nothing to skip while all are off
      silence_ = silence_ == Silence::off ? Silence::off : Silence::this_one_and_next;
      break;
  }
  set(kSilent, silence_ != Silence::none);
}

bool ClientState::next_has_reply() {
  is_last_asking_ = false;
  set(kAsked, false);
  switch (silence_) {
    case Silence::none:
      return true;
    case Silence::this_one_and_next:
      silence_ = Silence::next;
      return false;
    case Silence::next:
      set_reply_mode(ReplyMode::on);
      return false;
    case Silence::off:
      break;
  }
  return false;
}

void ClientState::set(std::uint8_t bit, bool on) {
  unsettled_ = static_cast<std::uint8_t>(on ? unsettled_ | bit : unsettled_ & ~bit);
}

void ClientState::leave_user() {
  if (is_counted_) {
    is_counted_ = false;
    facts_->leave(user_);
  }
}

void ClientState::on_user_changed() {
  leave_user();
  facts_version_ = 0;
  ++user_changes_;
}

void ClientState::set_user(const StateChange& change) {
  on_user_changed();
  user_ = change.user;
  standing_ = Standing::authenticated;
  if (remembers_) {
    settings().login = {.user = change.names_user ? change.user : "", .secret = change.secret};
  }
}

void ClientState::set_label(const StateChange& change) {
  if (!remembers_ || change.label == Label::none) {
    return;
  }
  resp::Labels& labels = settings().labels;
  switch (change.label) {
    case Label::none:
      break;
    case Label::name:
      labels.name = change.label_text;
      break;
    case Label::library:
      labels.library = change.label_text;
      break;
    case Label::library_version:
      labels.library_version = change.label_text;
      break;
  }
}

ClientState::Settings& ClientState::settings() {
  if (!settings_) {
    settings_ = std::make_unique<Settings>();
  }
  return *settings_;
}

bool ClientState::is_transferable() const {
  return is_settled() && !subscriptions_.any() && standing_ != Standing::unknown &&
         !has_unread_replies() && streamed_ == nullptr;
}

resp::ConnectionState ClientState::told() const {
  resp::ConnectionState state{.version = version_, .db = db_, .reads_replica = reads_replica_};
  if (settings_) {
    if (standing_ == Standing::authenticated) {
      state.login = settings_->login;
    }
    state.labels = settings_->labels;
  }
  return state;
}

void ClientState::begin_again() {
  ++beginnings_;
  db_ = 0;
  version_ = resp::Version::resp2;
  standing_ = Standing::initial;
  was_let_in_ = false;
  on_user_changed();
  unsettled_ &= kLasting;
  reads_replica_ = false;
  is_last_asking_ = false;
  queued_for_all_ = false;
  silence_ = Silence::none;
  subscriptions_.clear();
  user_.clear();
  if (settings_) {
    settings_->login = {};
    settings_->labels.name.clear();
  }
}

}  // namespace cuckooguard::redis
