// What Redis does not let the control connection do, what that costs, and the remedy: the one place
// with these words, for the log, the page, GUARD.INFO and /status.
//
// Threads: pure functions. Limits: one line per kind of question, however many are refused.
// Source: Redis's NOAUTH, WRONGPASS and NOPERM, recorded from 7.0.15.
#pragma once

#include <string_view>

#include "config/config.h"
#include "upstream/answers.h"

namespace cuckooguard::upstream {

// The rights that its user needs, as in ACL SETUSER.
inline constexpr std::string_view kControlRights =
    "+acl|getuser +acl|list +acl|dryrun +command +info +dbsize +config|get";

// Whether an error (without '-') is about the asking user's login or rights.
bool is_about_rights(std::string_view error);

// Whether an error of AUTH is about the login: Redis does not know the user, or the password is
// wrong. Not so: Redis is full, or lets nobody in from this address.
bool is_about_login(std::string_view error);

// Redis runs in cluster mode and the configuration does not say so, or the other way round.
bool is_of_wrong_kind(const config::Upstream& settings, const Answers& answers);

// Of what `answers.refused` says, unless it is a cluster. Its users are those that Redis has told.
redis::ControlReport not_allowed(const config::Upstream& settings, const Answers& answers);

// AUTH was refused with this error.
redis::ControlReport not_logged_in(const config::Upstream& settings, std::string_view error);

}  // namespace cuckooguard::upstream
