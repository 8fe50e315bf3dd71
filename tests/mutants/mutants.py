#!/usr/bin/env python3
"""Each defect that was mended once, made again: the tests must notice.

    mutants.py SCRATCH [NAME...]

SCRATCH is a copy of the tree with build/release configured (`./dev mutants` makes it). Each mutant is edited in, built, run, and
taken out again. Exits with 1 if one survives or no longer applies. None of it is in the product: there are no hooks in it.

What must notice it is the simulation under attack, that of strict namespaces, of a cluster or of loads, or all tests of one folder where its world
cannot show the defect: its Redis sends no surplus replies, its overlays are never full, its limits never near, and it has no database.
What is asked of a database is noticed by the integration tests of one file.
"""

import pathlib
import subprocess
import sys
import time

RUNS = 1000  # seeds, at most; a mutant should die within the first few hundred

READS = "src/guard/guard_reads.cpp"
JUDGE = "src/guard/key_judge.cpp"
WRITES = "src/guard/guard_writes.cpp"
GUARD = "src/guard/guard.cpp"
QUESTION = "src/guard/guard.cpp"
STATE = "src/redis/client_state.cpp"
OWN = "src/guard/own_commands.cpp"
GUARD_COMMANDS = "src/guard/guard_commands.cpp"
IN_FLIGHT = "src/guard/client.cpp"
LEARNED = "src/guard/learner.cpp"
SESSION = "src/proxy/session.cpp"
ORDER = "src/proxy/reply_order.cpp"
ROUTE = "src/upstream/route.cpp"
CLIENTS = "src/proxy/clients.cpp"
SHARED = "src/upstream/upstreams.cpp"
CONNECTION = "src/upstream/upstreams.cpp"
GREETED = "src/upstream/greeted_connection.cpp"
PROBE = "src/upstream/login_probe.cpp"
ROUTED = "src/routing/routed_replies.cpp"
ROUTED_STATE = "src/routing/routed_transaction.cpp"
NODE_LINK = "src/routing/routed_transport.cpp"
FILTERS = "src/guard/filter_commands.cpp"
FILLED = "src/filled/"
ABSENT_READS = "src/filter/absent_reads.cpp"
FILLED_COMMANDS = "src/filled/served/commands.cpp"
CHAIN = "src/fleet/chain.cpp"
PUBLISHER = "src/fleet/publisher.cpp"
LOG_FEED = "src/source/follow/log_feed.h"
LEASES = "src/breakdown/leases.cpp"

# what must notice it, name, what it breaks, edits: file, from, to
MUTANTS = [
    # Isolation
    ("attack", "pushes_go_to_whose_turn_it_is", "a push on a shared connection reaches whoever waits there",
     [(CONNECTION, "const bool is_push = framer_.type() == '>';", "const bool is_push = framer_.type() == '>' && !owes();")]),
    ("proxy", "surplus_replies_are_passed_over", "what follows a reply that nobody has asked for is believed",
     [(CONNECTION, "piece.malformed || (!is_push && !owes())", "piece.malformed"),
      (CONNECTION, "    if (is_push) {\n", "    if (is_push || !owes()) {\n")]),
    ("proxy", "unasked_replies_are_relayed", "the same on a connection that another client had before",
     [(ORDER, "unasked_ != Unasked::none;", "unasked_ <= Unasked::all;")]),
    ("proxy", "leases_relay_pushes", "a push that was meant for who had the connection before",
     [(ORDER, "is_dropped_ = first == '>' &&", "is_dropped_ = first == '\\0' &&")]),
    ("proxy", "subscribers_get_used_connections", "what somebody has directed there reaches who subscribes",
     [(ROUTE, "is_new_ = is_new || !is_let_in", "is_new_ = (is_new && is_pinned()) || !is_let_in")]),
    ("attack", "no_login_is_for_ever", "who has not logged in is let onto what others have opened",
     [(ROUTE, "if (owner_.told().login || is_member()) {", "if (owner_.told().db >= 0) {")]),
    ("proxy", "no_login_gets_used_connections", "who has not logged in is given what another had before a password was set",
     [(ROUTE, "is_new_ = is_new || !is_let_in(is_known)", "is_new_ = is_new || (!is_let_in(is_known) && is_pinned())")]),
    ("proxy", "reset_keeps_what_is_shared", "AUTH, RESET: who is nobody again stays where Redis has let another in",
     [(ROUTE, "if (owner_.told().login || is_member()) {", "if (owner_.told().login || shared_ != nullptr) {")]),
    ("attack", "a_proof_never_ends", "a password set behind the guard is never noticed",
     [(PROBE, "loop_.now() < valid_until_ && entry_version_ == version_()",
       "entry_ == Entry::open || loop_.now() < valid_until_")]),
    ("attack", "a_proof_outlives_a_change", "a password set through the guard holds only after a second",
     [(PROBE, "loop_.now() < valid_until_ && entry_version_ == version_()", "loop_.now() < valid_until_")]),
    ("guard", "rights_are_believed_for_ever", "a right taken away while Redis cannot be asked stays",
     [(STATE, "return now < known.good_until && ", "return now < TimePoint::max() && ")]),
    ("proxy", "a_refused_lease_closes", "-BUSY, -NOPERM, too many clients: to who needs a connection of its own",
     [(ROUTE, "is_of_redis_itself(refusal)", "refusal.empty() && is_of_redis_itself(refusal)")]),
    ("proxy", "a_refused_greeting_closes", "-BUSY, -NOPERM, too many clients: to those who share what cannot be set up",
     [(SHARED, "if (is_of_redis_itself(refusal)) {", "if (refusal.empty() && is_of_redis_itself(refusal)) {")]),
    ("proxy", "leases_are_given_back_unproven", "who cannot be set up elsewhere does not keep what it has",
     [(ROUTE, "if (!shared_->is_proven()) {", "if (!shared_->is_proven() && is_lost_) {")]),
    ("proxy", "a_refused_ping_closes", "-MISCONF, which Redis gives to PING when it cannot save, refuses a connection",
     [(GREETED, '{"-MISCONF ", "-NOPERM ", ', '{"-NOPERM ", ')]),
    ("proxy", "a_forbidden_ping_closes", "the same of a user who may not PING",
     [(GREETED, '{"-MISCONF ", "-NOPERM ", ', '{"-MISCONF ", ')]),
    ("proxy", "a_ping_while_loading_closes", "-LOADING to PING refuses CLIENT ID, which Redis would answer",
     [(GREETED, '"-LOADING ", "-MASTERDOWN ", "-BUSY "}', '"-BUSY "}')]),
    ("proxy", "for_good_before_redis_has_let_it_in", "CLIENT ID after a password was set cuts its client off from everything",
     [(ROUTE, "needs.ends_client || may_keep_for_good(is_owed);",
       "needs.ends_client || !is_pinned() || may_keep_for_good(is_owed);")]),
    ("proxy", "a_removed_password_closes", "AUTH word is refused where there is no password any more",
     [(GREETED, "if (must_name_user()) {", "if (must_name_user() && owed_ > 9) {")]),
    ("attack", "reads_wait_for_writes", "CLIENT PAUSE WRITE makes readers wait",
     [(SHARED, "SharedConnection* SharedUpstream::unless_held_up(Access access) {\n  Pipes& pipes = pipes_of(access);",
       "SharedConnection* SharedUpstream::unless_held_up(Access access) {\n  Pipes& pipes = pipes_of(Access::write);\n  (void)access;"),
      (SHARED, "return pipe->is_up() && !pipe->is_held_up(); });", "return pipe->is_up(); });")]),
    ("proxy", "all_wait_for_large_values", "one client's 100 MB value makes the others wait",
     [(CONNECTION, "framer_.payload_to_come() > kLargeReply", "framer_.payload_to_come() > 4096 * kLargeReply")]),
    ("proxy", "large_values_are_shared_again", "who reads one large value after another goes on sharing",
     [(SHARED, "loop_.now() - large_reply < kLargeReplyCounts", "loop_.now() < large_reply")]),
    ("proxy", "all_wait_for_what_stands_still", "commands go on to a connection that does not move",
     [(CONNECTION, "moved_at_ > kStandsStill", "moved_at_ > 1000 * kStandsStill")]),
    ("proxy", "spares_need_not_answer", "a spare is used before Redis has answered its PING",
     [(SHARED, "return pipe->is_up() && !pipe->is_held_up(); });", "return pipe->is_open() && !pipe->is_held_up(); });")]),
    ("proxy", "spares_come_at_once_again", "a Redis that refuses spares is asked for one with each command",
     [(SHARED, "no_spare_before_ = refused_at_ + kRefusedFor;", "no_spare_before_ = refused_at_;")]),
    ("attack", "a_client_moves_while_it_is_owed", "replies come by two connections, in any order",
     [(SHARED, "  if (slot.in_flight == 0) {\n    connection =", "  if (slot.in_flight != 1'000'000) {\n    connection =")]),

    # Protection that nobody can switch off
    ("attack", "users_are_withdrawn_when_asked_to", "ACL and CONFIG count before Redis has said yes",
     [(STATE, "    ++for_all_in_flight_;\n", "    ++for_all_in_flight_;\n    facts_->withdraw_users();\n")]),
    ("attack", "refusals_withdraw_users", "ACL and CONFIG count although Redis has said no",
     [(STATE, "reply_type == '!') {\n    facts_->doubt();", "reply_type == '!') {\n    facts_->withdraw_users();")]),
    ("guard", "who_leaves_withdraws_users", "ACL and CONFIG count if Redis's word was not waited for",
     [(STATE, "    facts_->doubt();\n  }\n  for_all", "    facts_->withdraw_users();\n  }\n  for_all")]),
    ("attack", "unseen_changes_withdraw_users", "ACL and CONFIG count where Redis's word is not seen",
     [(GUARD, "    parts_.facts.doubt();\n", "    parts_.facts.withdraw_users();\n")]),
    ("attack", "any_acl_withdraws_users", "ACL WHOAMI, which everybody may, counts like ACL SETUSER",
     [("src/redis/state_change.cpp", "!is_any_of(arguments[1], kHarmlessServer);",
       "(arguments.size() == 2 || !is_any_of(arguments[1], kHarmlessServer));")]),
    ("attack", "rights_outlive_a_change", "ACL and CONFIG do not count at all",
     [(STATE, "  } else {\n    facts_->withdraw_users();", "  } else {\n    facts_->doubt();")]),
    ("guard", "rights_outlive_exec", "... if they were queued",
     [(STATE, "if (queued_for_all_ && reply_type == '*') {", "if (queued_for_all_ && reply_type == '-') {")]),
    ("attack", "scripts_switch_the_guard_off", "the error of a script, -BUSY, counts for everybody",
     [("src/redis/facts.cpp", "? doubt()", "? (withdraw_users(), doubt())")]),
    ("upstream", "doubts_are_asked_about_at_once", "errors without end keep Redis busy with the guard's questions",
     [("src/upstream/control.cpp", "due = std::min(due, began + pause.least);", "due = began;")]),
    ("guard", "keys_are_learned_when_sent", "refused writes fill the overlay",
     [(WRITES, "  if (write.is_unseen || !writes.has_room()) {",
       "  learn_key(write.client, found.ns, hash, write.now);\n  if (write.is_unseen || !writes.has_room()) {")]),
    ("guard", "refused_writes_are_learned", "the same, at the reply",
     [(IN_FLIGHT, "      release(1);\n    } else if (said.is_queued", "      decided(key, false);\n    } else if (said.is_queued")]),
    ("guard", "failed_scripts_are_learned", "a script that may not write fills the overlay",
     [(IN_FLIGHT, "      decided(key, said.is_refused);", "      decided(key, false);")]),
    ("guard", "unseen_writes_of_strangers_are_learned", "CLIENT REPLY OFF without a login fills the overlay",
     [(WRITES, "return login == Client::Login::unknown || client.has",
       "return login != Client::Login::yes || client.has")]),
    ("guard", "unseen_writes_need_no_rights", "CLIENT REPLY OFF without rights fills the overlay",
     [(WRITES, "|| access->may_write ||", "|| access->namespaces.size() < 1000 ||")]),
    ("attack", "unseen_writes_are_not_learned", "CLIENT REPLY OFF: what was written is absent",
     [(WRITES, "    if (may_have_written(write.client, write.redis)) {", "    if (write.now == TimePoint::max()) {")]),
    ("guard", "writes_in_flight_have_no_limit", "who sends writes and no more fills the memory",
     [(WRITES, "if (write.is_unseen || !writes.has_room()) {", "if (write.is_unseen) {")]),
    ("attack", "own_writes_wait_for_their_reply", "a client is told that what it has just written is absent",
     [(JUDGE, "writes.is_in_flight() && writes.holds(hash)", "writes.is_in_flight() && hash == 0")]),
    ("guard", "who_leaves_has_not_written", "a write whose reply never comes is forgotten",
     [(WRITES, "  writes->give_up();\n", "  writes->forget_all();\n")]),
    ("guard", "no_share_for_each_client", "one client takes all its user has",
     [(LEARNED, "if (writer.size >= limits_.client) {", "if (writer.size >= limits_.total) {")]),
    ("guard", "no_share_for_each_user", "one user takes all there is",
     [(LEARNED, "user.keys.size >= limits_.user", "user.keys.size >= limits_.total")]),
    ("guard", "others_pay_for_who_writes_much", "of a user it is the oldest key that is lost, whose ever it is",
     [(LEARNED, "largest.size > 1 ?", "largest.size > limits_.total ?")]),
    ("guard", "strangers_take_from_a_share", "who is not logged in takes from the user default",
     [(WRITES, "is_user ? client.user()", 'is_user || client.user() == "default" ? client.user()')]),
    ("guard", "young_keys_are_lost_unnoticed", "who lost a key that the filter cannot have yet is told that it is absent",
     [(JUDGE, "if (now < learner_.reads_pass_until(writes)) {",
       "if (now < learner_.reads_pass_until(writes) && hash == 0) {")]),
    ("guard", "added_keys_stay_for_a_day", "GUARD.ADD ... TTL 86400",
     [(GUARD_COMMANDS, "if (ttl > most) {", "if (ttl > 86400 * most) {")]),
    ("guard", "cleared_keys_are_absent_at_once", "GUARD.CLEAR hides what was written just before",
     [(GUARD_COMMANDS,
       "    overlay.hold_all_until(attempt.now + guard.parts().process->origins[ns].max_lag,\n"
       "                           Overlay::Hold::cleared);\n", "")]),
    ("guard", "unknown_rights_are_all_rights", "GUARD.ADD gives the benefit of the doubt",
     [(OWN, "constexpr std::string_view kUnknownPrefix = ",
       "const redis::UserAccess kAnybody{.is_unrestricted = true};\nconstexpr std::string_view kUnknownPrefix = "),
      (OWN, "is_reliable ? access : nullptr", "access != nullptr ? access : &kAnybody")]),
    ("guard", "unknown_logins_are_logins", "GUARD.INFO and the like give the benefit of the doubt",
     [(OWN, ": Client::Login::unknown;", ": Client::Login::yes;")]),
    ("attack", "own_commands_need_no_login", "they are answered before AUTH",
     [(OWN, "return call.error(kNotLoggedIn);", "return row.run(call);")]),
    ("guard", "unknown_rights_are_waited_for_for_ever", "an own command is never answered",
     [("src/guard/own_commands.h", "now - since < kKnowPatience", "now - since < 1000 * kKnowPatience")]),

    # Writes that are not seen
    ("attack", "nothing_is_scanned_where_replies_are_unread", "MONITOR, REPLCONF: what is written then",
     [(GUARD, "  if (client.is_raw()) {", "  if (client.has_unread_replies()) {")]),
    ("guard", "nothing_large_is_scanned_there", "the same of a command above 64 KiB",
     [(WRITES, "  if (client.is_raw()) {", "  if (client.has_unread_replies()) {")]),
    ("guard", "logins_there_are_not_noticed", "AUTH as one who may write: its writes are taken for the other's",
     [(GUARD, "    client.may_become_another();\n  } else if", "    (void)client;\n  } else if")]),
    ("guard", "logins_in_flight_are_not_noticed", "AUTH, CLIENT REPLY OFF: the same",
     [(GUARD, "    client.may_become_another();\n  }\n  if (change->kind", "    (void)client;\n  }\n  if (change->kind")]),
    ("guard", "changes_there_are_not_noticed", "ACL SETUSER: rights stay",
     [(GUARD, "changes_server(command, arguments)) {", "command.name.empty()) {")]),
    ("guard", "exec_there_is_not_noticed", "what was queued before goes unseen",
     [(WRITES, "    client.writes()->give_up_transaction();\n", "")]),
    ("proxy", "many_in_flight_end_the_sight", "a long pipeline is a reason to stop looking",
     [(SESSION, "order_.observed() < most * kObservedPerInflight", "order_.observed() < most")]),
    ("guard", "queued_writes_are_learned_when_queued", "MULTI held open for longer than overlay.ttl",
     [(IN_FLIGHT, "queued_.push_back(key);", "decided(key, false);")]),
    ("guard", "discarded_writes_are_learned", "what never happens fills the overlay",
     [(IN_FLIGHT, "    if (is_carried_out) {", "    if (is_carried_out || key.overlay != nullptr) {")]),
    ("guard", "blocking_writes_are_learned_when_sent", "BLMOVE that waits for longer than overlay.ttl",
     [(WRITES, ".is_unseen = client.is_silent() ||",
       '.is_unseen = command.name.starts_with("bl") || client.is_silent() ||')]),
    ("guard", "scripts_without_keys_are_not_counted", "an operator cannot know of them",
     [(WRITES, "    counters_.scripts_without_keys.add();\n  }\n  for", "  }\n  for")]),

    ("guard_concurrent", "rows_of_others_are_not_asked_for", "a row whose key another namespace claims is hidden",
     [(JUDGE, "!keyspace_->may_share(found)", "keyspace_->makers_of(found).size() <= 99")]),
    # Limits that hold
    ("proxy", "merged_replies_need_no_room", "65 KB of MGET make 200 MB",
     [(READS, "has_room_for(bytes + (is_merged ? elements_.size() * kElementBytes : 0), ", "has_room_for(is_merged ? 1 : 0, ")]),
    ("proxy", "answers_that_wait_need_no_room", "the guard's own answers behind a reply to come are not counted",
     [(SESSION, "output_.size() + order_.waiting_bytes()", "output_.size()")]),
    ("proxy", "output_total_does_not_count_answers", "all clients together hold more than output_total",
     [(SESSION, "left(settings.output_total, worker_.loop.chunks().bytes_in_use())", "settings.output_total")]),
    ("proxy", "no_lengths_for_strangers", "who is not logged in may announce a megabyte",
     [(SESSION, "!input_.is_ahead() && !route_.is_let_in()",
       "is_draining_ && !input_.is_ahead() && !route_.is_let_in()")]),
    ("guard", "strangers_share_with_large_commands", "Redis closes the connection of all for what one has announced",
     [(QUESTION, "redis::is_shared(lane) && is_large", "lane == redis::Lane::own && is_large")]),
    ("proxy", "clients_count_when_they_have_come", "64 at once go to the same worker",
     [("src/proxy/clients.h", "void expect() { ++count_; }", "void expect() {}"),
      (CLIENTS, "  if (++worker_.total.open >", "  ++count_;\n  if (++worker_.total.open >")]),
    ("proxy", "clients_that_are_gone_count", "while Redis hangs, those who gave up keep others out",
     [("src/proxy/session_held.cpp", "    worker_.owner.on_client_gone(*this);\n", "")]),
    ("admin/http/http_concurrent", "half_requests_keep_others_out", "500 connections that ask for nothing",
     [("src/admin/http/server.cpp", "  limit_time(limits_.request_max);\n",
       "  waiting_since_.reset();\n  limit_time(limits_.request_max);\n")]),
    ("admin", "any_host_may_be_named", "DNS rebinding: a stranger's page reads the admin server",
     [("src/admin/http/access.cpp", "if (!host.empty() && !allows(host)) {", "if (host.size() > 1000) {")]),
    ("admin", "any_origin_may_ask", "a stranger's page posts to the admin server",
     [("src/admin/http/access.cpp", "if (origin.empty()) {", "if (origin.size() < 1000) {")]),
    ("config", "passwords_are_printed", "addresses: user:password@host, in an error",
     [("src/config/values.cpp", "text.find('@') != std::string_view::npos ?", "text.size() > 1000 ?")]),
    ("guard", "getex_is_answered_where_writes_are_refused", "-MISCONF, -NOREPLICAS, -READONLY",
     [(READS, "  if (!read.question.redis.takes_writes) {", "  if (read.question.redis.is_lost) {")]),
    ("proxy", "lost_users_are_not_doubted", "Redis ends the connections of a user that it deletes",
     [(CLIENTS, "  if (told.login) {", "  if (told.login && count_ > 1'000'000) {")]),
    ("upstream", "escapes_in_patterns_are_text", "~user\\:* covers no key that has a backslash",
     [("src/upstream/acl_reply.cpp", 'find_first_of("*?[\\\\")', 'find_first_of("*?[")')]),
    ("upstream", "learned_subscriptions_have_replies", "what follows a command that subscribes is taken for a reply",
     [("src/upstream/command_reply.cpp", "if (has(\"pubsub\") &&", "if (has(\"pubsub\") && has(\"blocking\") &&")]),

    # What is proven of a database
    ("source/follow", "oldest_questions_are_dropped", "a log that is always late never proves anything to who waits",
     [("src/source/follow/position_proofs.h", "place++ % 2 == 1", "place++ % 2 == 0")]),
    ("source/follow", "places_are_not_waited_for", "a MySQL's row that others see, and gtid_executed does not have, is told to be absent",
     [("src/source/follow/position_proofs.h", "place >= unproven_.front().place)", "place >= Place())")]),
    ("source/follow", "files_and_heartbeats_prove_nothing", "a read waits for a MySQL's proof that has come without a transaction",
     [("src/source/mysql/log_applier.h", "return !gtid_.has_value();", "return false;")]),
    ("source/mysql", "first_files_are_like_others", "short questions are believed of a MySQL's log that may have begun anew",
     [("src/source/mysql/log_place.h", "rfind('.') + 1)) <= 1;", "rfind('.') + 1)) < 1;")]),
    ("source/follow", "readers_are_not_told", "a read waits for a proof that has come",
     [("src/source/follow/table_set_log.h", "  state_.asking.proven();\n", "")]),
    ("source", "times_are_read_before_questions_begin", "a reader is served by a time that is before its read",
     [("src/source/source_kind.cpp", "  const bool is_wanted = asking_.begin();  // before t: later readers want another one\n"
       "  const TimePoint before = clock_();       // the t of the proof\n",
       "  const TimePoint before = clock_();\n  const bool is_wanted = asking_.begin();\n")]),
    ("source/sqlite", "times_are_read_before_questions_begin_of_sqlite", "the same",
     [("src/source/sqlite/log_follower.cpp", "  const bool is_wanted = settings_.asking.begin();  // before t: later readers want another one\n",
       "  const TimePoint before = clock_();\n  const bool is_wanted = settings_.asking.begin();\n"),
      ("src/source/sqlite/log_follower.cpp", "look(clock_(), stop)", "look(before, stop)")]),
    ("source/sqlite", "what_could_not_be_looked_at_is_answered", "a reader waits for a question that nobody asks again",
     [("src/source/sqlite/log_follower.cpp", "is_wanted && !is_proven_", "is_wanted && is_proven_")]),
    ("source/mysql", "new_files_are_believed_at_once", "a MariaDB is believed to have committed what has filled a file of its log",
     [("src/source/mysql/log.cpp", "known_from_ && place.position >= *known_from_;", "(!known_from_ || place.position >= *known_from_);")]),
    ("source/mysql", "one_commit_settles_a_file", "the same, where the log is read late",
     [("src/source/mysql/log.cpp", "kCommitsThatSettle = 2;", "kCommitsThatSettle = 1;")]),
    ("source/follow", "views_for_now_are_good_for_ever", "rows stay unknown that were committed behind the view",
     [("src/source/mysql/log.cpp", "(good_until && !word.is_as_far_as(*good_until))", "false")]),
    ("source/follow", "views_for_now_are_proven_by_others", "they are answered absent until the server is asked for its commits",
     [("src/source/follow/table_set_log.h", "std::min(*at, state_.committed_at));", "*at);")]),
    ("source/follow", "views_for_now_are_kept", "they are unknown behind a restart, too",
     [("src/source/follow/table_set.h", "followed.is_in_step_for_good() &&", "followed.is_in_step() &&")]),
    ("source/follow", "unknown_transactions_end_unseen", "the rows of an XA transaction that ends late are unknown",
     [("src/source/mysql/log.cpp", "std::ranges::any_of(unknown_xids, is_over);", "false;")]),
    ("source/mysql", "lag_is_ignored", "a replica proves as much as its primary",
     [("src/source/mysql/server_probe.h", "std::optional(at - *lag.behind)", "std::optional(at)")]),
    ("source/mysql", "lag_is_believed_at_once", "a replica says 0 before it has heard what it missed",
     [("src/source/mysql/server_probe.h", "!lag.is_replica || at - *lag_known_since_ >= max_lag_", "true")]),
    ("source/mysql", "proofs_are_from_after_the_question", "a commit between answer and clock is taken for proven",
     [("src/source/mysql/server_probe.h", "    return judge(at, lag);", "    return judge(clock_(), lag);")]),
    ("source/follow", "any_server_goes_on", "numbers of another server's log are believed",
     [("src/source/follow/restore.h", "(identity == followed || is_cluster) && position", "(!followed.empty() || is_cluster) && position")]),
    ("source/follow", "a_shorter_log_goes_on", "a failover that lost transactions keeps them",
     [("src/source/follow/restore.h", " && position.covers(to) &&", " &&")]),
    ("source/follow", "files_older_than_the_log_are_taken", "what a slot has forgotten is not sent again",
     [("src/source/follow/restore.h", "(!begins || to.covers(*begins))", "(!begins || !begins->text().empty())")]),
    ("source/mysql", "old_views_are_taken", "a row that was logged before the view, and is not in it, is lost",
     [("src/source/mysql/read_view.cpp", "if (!view || view->covered.covers(applied)) {", "if (!view || i < kViewsMax) {")]),
    ("source", "inserted_twice_is_not_noticed", "a log that was not understood is believed",
     [("src/source/transaction.cpp", "    if (slot.number != 0) {\n      return false;", "    if (slot.number != 0 && false) {\n      return false;")]),
    ("source", "rows_without_keys_take_places", "a large transaction is taken for one with too many rows",
     [("src/source/transaction.cpp", "if (!before && after) {", "if (!before) {")]),
    ("keyspace", "few_digits_are_read_once", "a number of five digits is another one",
     [("src/keyspace/canonical_text.cpp", "load<std::uint32_t>(text + second)", "load<std::uint32_t>(text)")]),
    ("filter_concurrent", "isolated_rows_are_read_before_the_count", "a row that is isolated under another spelling meanwhile is absent",
     [("src/filter/parts_lookup.h", "    const std::uint64_t removals = bond_.removals.load(std::memory_order_acquire);\n    step_();\n"
       "    const CuckooFilter& filter = *live.current();\n    step_();\n    const IsolatedRows& isolated = *live.isolated();\n",
       "    const CuckooFilter& filter = *live.current();\n    step_();\n    const IsolatedRows& isolated = *live.isolated();\n    step_();\n"
       "    const std::uint64_t removals = bond_.removals.load(std::memory_order_acquire);\n")]),
    ("keyspace", "what_splits_a_value_moves_none", "a row whose |ci value may hold a ':' before {x:rest}",
     [("src/keyspace/identity_pattern.cpp", "if (may_split && has_run) {", "if (may_split && has_run && values.empty()) {")]),
    ("keyspace", "templates_share_no_keys", "a row whose key another template claims is hidden",
     [("src/keyspace/keyspace.cpp", "if (maker != claimer &&", "if (maker == claimer &&")]),
    ("keyspace", "texts_share_no_keys", "a row that has a text for an integer is hidden by whoever claims its key",
     [("src/keyspace/keyspace.cpp", "from.ns != route.ns && with_text &&", "from.ns == route.ns && with_text &&")]),
    ("keyspace", "other_spellings_are_judged", "a row whose UUID an application writes in capitals",
     [("src/keyspace/key_template.cpp", "is_canonical(type, value) ? TemplateFit::whole : TemplateFit::uncertain", "TemplateFit::whole")]),
    ("keyspace", "scales_are_kept", "a row of 1.10, whose key is 1.1",
     [("src/keyspace/keyspace_rows.cpp", "types[i] == ValueType::numeric ? without_scale", "types[i] == ValueType::text ? without_scale")]),
    ("keyspace", "uuids_are_not_folded", "a row with a UUID in capitals in a column of text",
     [("src/keyspace/key_template.h", "type == ValueType::text_ci || type == ValueType::uuid;", "type == ValueType::text_ci;")]),
    ("keyspace", "claimed_keys_have_one_spelling", "a row whose key another template claims, with its date in another spelling",
     [("src/keyspace/keyspace_rows.cpp", "is_spelled_otherwise || space.has_own_type;", "is_spelled_otherwise;")]),
    ("keyspace", "prefixes_split_dates", "a row whose date is written so that a longer prefix takes it",
     [("src/keyspace/key_template.h", "return is_printed(type) || is_folded(type);", "return is_folded(type);")]),
    ("source/mysql", "missing_tables_are_gone", "a listing within ALTER misses tables that are there",
     [("src/source/mysql/table_reader.cpp", "    if (opened) {\n      return false;", "    if (opened) {\n      continue;")]),
    ("source/mysql", "refused_tables_are_gone", "a table that the guard may not read any more",
     [("src/source/mysql/table_reader.cpp", "if (code != kNoSuchTable && code != kNoSuchDatabase) {", "if (code == 0) {")]),
    ("source/postgres", "what_nobody_sees_is_forgotten", "a row that is in the log and not yet visible is lost to who reads its table",
     [("src/source/postgres/log_applier.cpp", "  unseen_.push_back(mark.xid);\n  position_", "  position_")]),
    ("source/postgres", "copies_are_believed", "rows of a server that was set back to an older copy of its disk",
     [("src/source/postgres/log_applier.cpp", "each.commit.lsn == begun_.lsn && each.commit != begun_", "each.commit.lsn == begun_.lsn && each.commit.xid != begun_.xid")]),
    ("source/postgres", "lost_ends_are_believed", "a log that does not have the last transaction any more",
     [("src/source/postgres/log_applier.cpp", "[end](const LogGroup& each) { return each.commit.lsn < end; }", "[end](const LogGroup& each) { return each.commit.lsn < end && false; }")]),
    ("source/postgres", "nothing_came_is_believed_of_copies", "a row of another history, behind the last transaction",
     [("src/source/postgres/log_applier.cpp", "    position_ = LogPosition(last_.last.end);\n", "")]),
    ("source/postgres", "views_go_by_places", "what a view shows of a transaction is not what its place in the log says",
     [("src/source/postgres/log.h", "return snapshot.shows(mark.xid) ? Visibility::visible", "return end.covers(mark.end) ? Visibility::visible")]),
    ("source/postgres", "deletions_do_not_wait", "a row that is deleted in the log is visible to all until its commit is",
     [("src/source/postgres/log.h", "const CommitMark& mark) const { return snapshot.shows(mark.xid); }",
       "const CommitMark& mark) const { return mark.xid > 0; }")]),
    ("source/postgres", "catalogs_are_not_compared", "a partition that is attached with rows is not in the log",
     [("src/source/postgres/log_applier.cpp", "found->second != table->plan().fingerprint", "found->second.empty()")]),
    ("source/follow", "tables_of_patterns_stay", "a view that matched a pattern is gone, and its namespace passes for good",
     [("src/source/follow/table_set.h", "  if (has_gone) {", "  if (has_gone && state_.why_void.empty() && state_.is_refused) {")]),
    ("source/postgres", "broken_bars_are_two", "a key that has one broken bar, of a row that EUC_JP gives back with the other",
     [("src/source/postgres/column.cpp", "return server_encoding == \"EUC_JP\";", "return server_encoding == \"EUC_XX\";")]),
    ("source/postgres", "columns_are_found_by_name", "two columns swap their names, a row comes, and they swap them back",
     [("src/source/postgres/log_applier.cpp", "if (relation.columns[i].name != column.name) {", "if (relation.columns[i].name.empty()) {")]),
    ("source/postgres", "lists_of_columns_stay", "rows are sent by another list of columns, and read by that of before",
     [("src/source/postgres/log_applier.cpp", "  relations_.erase(relation.oid);\n", "")]),
    ("integration/postgres_tables", "lists_of_columns_are_not_read", "the columns of a table are not those that its publication lists",
     [("src/source/postgres/table.cpp", "if (!is_listable || !is_published) {", "if (!is_listable) {")]),
    ("integration/postgres_tables", "lists_go_there_and_back", "a table is not published, or by another list, for as long as a row takes",
     [("src/source/postgres/fingerprints.cpp", "r.oid, r.xmin), ','", "r.prrelid), ','")]),
    ("integration/postgres_tables", "lists_name_the_columns_of_partitions", "a partition whose columns have another order, which the log then misnames",
     [("src/source/postgres/table.cpp", "if (!odd.empty()) {", "if (odd.size() > 1) {")]),
    ("integration/postgres_tables", "whole_rows_are_listed", "the application's UPDATE and DELETE are refused by its server",
     [("src/source/postgres/table.cpp", "if (published_.has_list && !why_no_list_.empty()) {",
       "if (published_.leaves_out_rows && !why_no_list_.empty()) {")]),
    ("integration/postgres_questions", "lists_are_not_watched", "between two whole questions a table is published by another list",
     [("src/source/postgres/catalog_watch.cpp",
       "\" UNION ALL SELECT r.xmin FROM pg_catalog.pg_publication_rel r WHERE r.prrelid\" + members;", "\"\";")]),
    ("source/postgres", "partitions_are_not_looked_at", "a partition's replica identity, of which the whole's description says nothing",
     [("src/source/postgres/log_applier.cpp", "if (described && *described != oid) {", "if (described && *described < 2) {")]),
    ("source/postgres", "new_partitions_are_believed", "rows of a partition that was attached, and is detached when the catalog is asked",
     [("src/source/postgres/log_applier.cpp", "if (!std::ranges::binary_search(plan().parts, relation.oid)) {", "if (relation.oid == 0) {")]),
    ("source/postgres", "rows_of_wholes_are_nobodys", "the table is a partition for as long as a row takes",
     [("src/source/postgres/log_applier.cpp", "(!is_whole && !table->has(part.relation.oid))", "!is_whole")]),
    ("source/postgres", "keepalives_end_transactions", "half a transaction is taken for all of it",
     [("src/source/postgres/log_applier.cpp", "if (open_ || end <= position_.lsn())", "if (end <= position_.lsn())")]),
    ("source/follow", "old_plans_are_taken", "a definition that changed before the log's word was kept",
     [("src/source/follow/table_loader.h", "if (!now || *now != planned.rows->plan) {", "if (!now) {")]),
    ("source/follow", "changed_tables_are_renewed", "a position that is ahead of what its file has",
     [("src/source/follow/table_set.h", "!has_erasures(index) && version_of(index) == version", "!has_erasures(index)")]),
    ("source/follow", "any_file_is_renewed", "a position that is of another file of the table",
     [("src/source/follow/checkpoint.cpp", "std::ranges::count(renewal->files, file.id) > 0", "!renewal->files.empty()")]),
    ("source/follow", "windows_are_behind", "what a view may show of the window around it counts once",
     [("src/source/follow/log_feed.h", "Visibility::perhaps && !is_closed_", "Visibility::perhaps && is_closed_")]),
    ("source/toy", "whatever_a_server_finds_equal_is_the_row", "a verification takes another row for the one that is meant",
     [("src/source/follow/server_kind.h", "          is_it(target, LogFeed<Log>::identity(plan, *row), identity)) {", "          !identity.empty()) {")]),
    ("source/toy", "an_open_connection_is_the_server", "an address that leads to another server is never noticed",
     [("src/source/follow/server_follower.h", "if (found ? *found == followed : !found.error().is_refusal()) {", "if (found || !found.error().is_refusal()) {")]),
    ("source/toy", "servers_are_followed_by_turns", "a balancer over two servers has all tables read again and again",
     [("src/source/follow/server_follower.h", "left_->identity == identity && now - left_->at < kSeveralMax", "left_->identity == identity && now < left_->at")]),
    ("source/mysql", "rollbacks_are_commits", "rows that were logged and rolled back",
     [("src/source/mysql/log_applier.cpp", "return roll_back();", "return commit();")]),
    ("source/follow", "erasures_come_before_commits", "rows that all still see, while a replica must acknowledge them",
     [("src/source/mysql/log.cpp", "return place >= mark.end &&", "return")]),
    ("source/follow", "erasures_are_not_taken_back", "a row that is written again before its deletion is committed",
     [("src/source/follow/log_feed.h", "return !is_taken_back;", "return true;")]),
    ("source/follow", "erasures_come_before_xa_commits", "MariaDB logs XA COMMIT before its engine has done it",
     [("src/source/mysql/log.cpp", "(has_xa || !mark.is_xa_commit)", "(has_xa || !has_xa)")]),
    ("source/follow", "resumed_logs_prove_at_once", "the numbers of a log that was begun anew are believed",
     [("src/source/follow/table_set_log.h", "if (!state_.why_void.empty() || state_.applier->is_expecting()) {\n      return;\n    }\n    const auto at",
       "if (!state_.why_void.empty()) {\n    return;\n  }\n  const auto at")]),
    ("source/follow", "resumed_logs_erase_at_once", "the same of what was deleted",
     [("src/source/follow/table_set_log.h", "!state_.why_void.empty() || state_.applier->is_expecting()) {\n      return;\n    }\n    try {",
       "!state_.why_void.empty()) {\n      return;\n    }\n    try {")]),
    ("source/follow", "conditions_are_no_definition", "a checkpoint of other rows is taken up",
     [("src/source/mysql/log.cpp", "plan.condition.text(),", "std::string_view(),")]),
    ("source/follow", "restarts_forget_the_largest_id", "new rows behind ids that were given before are absent",
     [("src/source/follow/checkpoint.cpp", ".largest_id = *largest_id,", ".largest_id = 0,")]),
    ("source/mysql", "cascades_are_accepted", "ON DELETE CASCADE, which MariaDB does not log",
     [("src/source/mysql/table.cpp", "key.on_delete == Action::erase;", "false;")]),
    ("source/mysql", "crashes_are_slept_through", "deletions that a crash has undone hide their rows",
     [("src/source/mysql/log_applier.cpp", "  why_void_ = kCrashed;\n  return std::unexpected(std::string(kCrashed));", "  return !gtid_;")]),
    ("source/mysql", "shutdowns_are_crashes", "tables are read again whenever a server was started",
     [("src/source/mysql/log_applier.cpp", "std::holds_alternative<binlog::Stop>(decoded->body) ||", "")]),
    ("source/mysql", "a_crash_may_still_be_to_come", "something is proven before a resumed log has shown whether its server has crashed",
     [("src/source/mysql/log_applier.h", " || place() < resumed_until_", "")]),
    ("source/follow", "executed_is_logged", "what a server has executed and not logged is waited for as long as it runs",
     [("src/source/follow/position_proofs.h", "!applied.covers(unproven_.front().position);", "false;")]),
    ("keyspace", "what_is_chosen_is_only_left_out", "a condition chooses by bytes what SQL chooses by a collation",
     [("src/keyspace/row_condition.cpp", "use.only_excludes && term.test != Test::is_one_of", "use.only_excludes")]),
    ("app", "bypass_ends_without_a_hold", "what was written in bypass, by a reload, is absent",
     [("src/app/generation.cpp", "if (was.mode == Mode::bypass &&", "if (was.mode == Mode::bypass && was.mode == Mode::enforce &&")]),
    ("app", "removed_namespaces_are_told_of", "the states of a namespace that is not there any more",
     [("src/app/generation.cpp", "there.source->abandon(there.definition.name);", "(void)there;")]),
    ("io", "who_waits_is_reset", "clients in the backlog, when the guard is stopped",
     [("src/io/listener.cpp", "    accept_waiting(*acceptor);\n  }\n  let_go();", "  }\n  let_go();")]),

    # Clusters
    ("guard", "keys_of_other_nodes_are_answered", "in a cluster, where Redis says -MOVED or -ASK",
     [(READS, "slots.test(*(slot = of_key))", "slots.size() > *(slot = of_key)")]),
    ("guard", "keys_of_several_slots_are_answered", "in a cluster, where Redis says -CROSSSLOT",
     [(READS, "(may_differ || of_key == slot.value_or(of_key)) && ", "(may_differ || of_key < redis::kSlots) && ")]),
    ("guard", "replicas_answer_everybody", "in a cluster, also who has not said READONLY",
     [(READS, "redis.is_master.value_or(false) || question.client.reads_replica()", "redis.is_master.has_value()")]),
    ("redis", "asking_ends_with_its_reply", "the command behind it is answered, or sent elsewhere",
     [(STATE, "set(kAsked, is_last_asking_);", "set(kAsked, false);")]),
    ("proxy", "readers_of_replicas_share_with_all", "who has not said READONLY gets a replica's values in place of -MOVED",
     [(STATE, ", .reads_replica = reads_replica_", "")]),
    ("topology", "redirects_keep_their_addresses", "a cluster's clients are led around the guard",
     [("src/topology/topology_replies.cpp", "return is_error_ || (", "return (")]),
    ("cluster", "who_is_cut_off_is_believed", "the map of a minority counts as the majority's does",
     [("src/cluster/map.cpp", "place != kNobody && view.is_ok", "place != kNobody")]),
    ("cluster", "disputes_are_settled_by_order", "of two owners with one epoch the first that was asked counts",
     [("src/cluster/map.cpp", "        moving_.set(slot);\n      }\n    }\n  }\n}\n\nvoid Map::take_moving", "      }\n    }\n  }\n}\n\nvoid Map::take_moving")]),
    ("redis", "empty_tags_are_tags", "keys that begin with {} are all of one slot",
     [("src/redis/slot.cpp", "close == std::string_view::npos || close == open + 1", "close == std::string_view::npos")]),
    ("cluster", "hostnames_lead_around_the_guard", "clients that prefer them go to the nodes",
     [("src/cluster/rewriter.cpp", 'key == "ip" || key == "endpoint" || key == "hostname"', 'key == "ip" || key == "endpoint"')]),
    ("cluster", "unknown_nodes_are_not_counted", "a reply that names a new node is released",
     [("src/cluster/rewriter.cpp", "done_.unknown += node.is_in_handshake ? 0 : 1;", "done_.unknown += 0;")]),
    ("cluster", "open_hosts_are_named", "who reaches the guard by another way is sent where it cannot go",
     [("src/cluster/rewriter.cpp", "return host.empty() ? host : client_.host;", "return host.size() > 1000 ? host : client_.host;")]),
    # A cluster as one Redis
    ("routing", "redirected_commands_run_behind_later_ones", "a write that a later one has overtaken is run behind it",
     [(ROUTED, "overtaken->entry < run.entry &&", "overtaken->entry > run.entry &&")]),
    ("routing", "commands_pass_one_that_is_asked_elsewhere", "a later command of the slot is run first",
     [(ROUTED, "flight.link == &link && flight.again.empty() &&", "flight.again.empty() &&"),
      (ROUTED, "!worker_.routes.is_unsettled(slot, worker_.loop.now())", "slot != RoutedPart::kNoSlot")]),
    ("routing", "scripts_that_fail_are_run_again", "a script that says TRYAGAIN is run twice",
     [(ROUTED, "!part.may_fail_halfway && retry(flight, part)", "retry(flight, part)")]),
    ("routing", "nodes_are_not_waited_for", "behind a login that another node refuses a command is run as who the client was",
     [(ROUTED_STATE, "  if (awaited > 0) {", "  if (awaited > 100) {")]),
    ("routing", "moved_transactions_forget", "a transaction that moves twice runs without what it had queued",
     [(ROUTED_STATE, "      send_replay();\n", "      send_replay();\n      transaction_.replay.clear();\n")]),
    ("routing", "any_frame_confirms", "SSUBSCRIBE is taken for done when another channel's slot moves away",
     [(ROUTED, "link.owed.front().confirmed == parsed.command;", "!parsed.command.empty();")]),
    ("routing", "silent_nodes_are_asked", "who comes waits for a node that hangs, although any could answer",
     [("src/routing/nodes.h", "now - asked_at_ > kSilentFor &&", "now - asked_at_ > 1000 * kSilentFor &&")]),
    ("routed", "links_race", "what needs a connection of its own overtakes what is owed on the shared one",
     [(NODE_LINK, "owed.size() > waiting_replies_, {}", "false, {}")]),
    ("routed", "buffers_are_read_over", "of several clients' replies that come together some are lost",
     [("src/routing/routed_transport.cpp", "      lose();\n    }\n  }\n  proceed_later();", "      lose();\n    }\n  }\n  proceed();")]),
    ("routing", "clusters_that_are_down_have_no_nodes", "a cluster that is down is not heard",
     [("src/routing/slot_routes.cpp", "if (!is_up && map_ &&", "if (!is_up && !map_ &&")]),
    ("routing", "reset_leaves_the_login", "behind RESET a command is run as who the client was",
     [(ROUTED_STATE, "  ++beginnings_;\n", "")]),
    ("routing", "state_is_given_back", "another client gets a connection within a transaction",
     [("src/routing/routed_transport.cpp", "return link.subscriptions.any() || transaction_.link == &link ||", "return link.subscriptions.any() ||")]),
    ("routing", "refused_discards_end_transactions", "the same, by DISCARD with an argument",
     [(ROUTED_STATE, "    case Alone::discard:  // one that is refused leaves all as it was\n      if (!is_refused) {", "    case Alone::discard:\n      if (true) {")]),
    ("routing", "half_logged_in_is_nobody", "a client is lent a connection that HELLO has logged in and refused",
     [(ROUTED_STATE, "} else if (may_be_half_done(barrier.change)) {", "} else if (may_be_half_done(barrier.change) && told_.db > 0) {")]),
    ("routing", "large_commands_are_cut_into", "a command is sent in the middle of another one",
     [("src/routing/routed_commands.cpp", "home_->is_silent() && large_.link == nullptr", "home_->is_silent()")]),
    # RedisBloom's commands
    ("guard", "filters_say_no_without_proof", "BF.EXISTS says 0 of a row while the filter is not fresh",
     [(FILTERS, "verdict != Verdict::absent && verdict != Verdict::redis_first", "verdict == Verdict::may_exist")]),
    ("guard", "redis_is_asked_for_the_filter", "in MULTI a module says that nothing exists",
     [(OWN, "name_.assign(kUnknownPrefix).append(arguments[0]);", "name_.assign(arguments[0]);")]),
    # Filters that applications fill
    ("filled", "items_are_erased_from_any_layer", "of an item that two layers may hold the wrong one loses another item",
     [(FILLED + "filled_filter.cpp", "(holding == 1 && only->erase(hash)", "(holding != 0 && only->erase(hash)")]),
    ("filled", "layers_have_the_whole_rate", "a filter that has grown says too often that an item was there",
     [(FILLED + "filled_filter.cpp", "-static_cast<int>(layer) - 1", "0 * static_cast<int>(layer)")]),
    ("filled", "dumps_are_believed", "a dump with another shape than its layers have crashes the guard when it grows",
     [(FILLED + "filled_filter.cpp", "deletes != deletes_of(shape_) ||", "deletes == filter::DeleteMode(9) ||")]),
    ("filled", "limits_are_not_judged", "a client takes all memory by one filter",
     [(FILLED + "filters.cpp", "return bytes <= operation.bytes_max &&", "return bytes != 1 || ")]),
    ("filled", "entries_need_no_tag", "who may write to Redis changes filters",
     [(FILLED + "log_reader.cpp", "entry.writer.size() != kWriterBytes ||", "entry.writer.size() != kWriterBytes &&")]),
    ("filled", "entries_count_twice", "who may write to Redis has an old erasure done again",
     [(FILLED + "log_reader.cpp", "entry.counter <= writer->second.counter;", "entry.counter < writer->second.counter;")]),
    ("filled", "gaps_are_passed_over", "what a failover has lost is believed to be there",
     [(FILLED + "log_reader.cpp", "entry.seq == next ? Verdict::apply", "entry.seq >= next ? Verdict::apply")]),
    ("replicated", "the_last_entry_is_not_compared", "what a failover has lost is kept by one guard, and the others do not have it",
     [("src/replicated/replica.cpp", "if (!id_to_prove().empty() && last_tag", "if (false && last_tag")]),
    ("replicated", "a_master_of_before_is_believed", "an item that was added at the new master is not there",
     [("src/replicated/filter_log.cpp", "if (place_ && (!redis || !redis->is_at(*place_))) {", "if (place_ && !redis) {")]),
    ("replicated", "a_replica_is_believed", "an item that its master has is not there",
     [("src/replicated/filter_log.cpp", "if (tells_no_master(**written)) {", "if (false) {")]),
    ("guard", "asking_does_not_wait_for_adding", "BF.ADD, BF.EXISTS in one write: it is not there",
     [(OWN, "if (row.waits_for_promises && call.attempt.has_promises) {", "if (row.waits_for_promises && !call.attempt.has_room) {")]),
    ("filled/served", "filters_are_everybodys", "a user who may do nothing fills filters",
     [(OWN, "if (!call.access->is_unrestricted && !call.server.trusts(", "if (call.access == nullptr && !call.server.trusts(")]),
    ("filled/served", "what_is_past_its_time_is_added_to", "an item that was acknowledged goes with the filter of before",
     [(FILLED_COMMANDS, "if (expired != nullptr) {", "if (expired != nullptr && now == 0) {")]),
    ("filled/served", "what_may_be_missing_is_absent", "EXISTS says 0 while Redis has not told for a second",
     [(FILLED_COMMANDS, "return parts().store.is_current(now) &&", "return now != TimePoint{} &&")]),
    ("proxy", "redis_replies_before_promises", "a reply of Redis takes the place of one that was promised",
     [("src/proxy/session_held.cpp", "  if (order_.has_promises()) {\n    hold();\n  }\n  return order_.has_promises();", "  return false;")]),
    ("proxy", "promises_end_with_the_client", "who sends BF.ADD and closes its side hears nothing",
     [("src/proxy/session_held.cpp", "    return;  // it hears what was promised", "    end_when_written();\n    return;  // it hears what was promised")]),
    # Strict namespaces
    ("strict", "absent_before_the_proof", "a row just committed is told to be absent",
     [(JUDGE, "  if (space.is_strict()) {\n    finding = find_proven", "  if (space.is_strict() && reader.now == TimePoint()) {\n    finding = find_proven")]),
    ("strict", "a_question_before_the_read_proves", "the same, if its commit came between the two",
     [(JUDGE, "find_proven(sought, hash, reader.read_at, other)",
       "find_proven(sought, hash, reader.read_at - std::chrono::milliseconds(5), other)")]),
    ("strict", "what_comes_later_has_the_first_time", "a read that arrives while its client is held is answered by a question from before it",
     [("src/proxy/session.h", "    rest_ = at;\n  }\n  // Of the command", "    rest_ = before == 0 ? at : rest_;\n  }\n  // Of the command")]),
    ("strict", "one_source_of_two_proves", "a row of another namespace that has the key is told to be absent",
     [(JUDGE, "find_shared({*keyspace_, namespaces_, found, key}, freshness, other_identity_)",
       "find_shared({*keyspace_, namespaces_, found, key}, filter::Freshness{freshness.at}, other_identity_)")]),
    ("strict", "holds_without_bound", "a source that is stalled makes its readers wait",
     [(READS, "&& now < since + space.strict_hold &&", "&&")]),
    ("proxy", "silent_probes_are_waited_for", "all who have not logged in wait for a probe that the network has lost",
     [("src/upstream/login_probe.cpp", "if (left <= patience) {", "if (left <= 1000 * patience) {")]),
    ("proxy", "nobody_is_told_of_proofs", "absent keys wait as long as they may, and then go to Redis",
     [("src/proxy/client_lists.cpp", "  hears_.exchange(true, std::memory_order_acq_rel);\n", "")]),
    ("proxy", "others_wait_behind_a_held_read", "a multiplexing client's other commands wait for a proof",
     [("src/proxy/session_held.cpp", "if (action != guard::Action::answer && action != guard::Action::hold) {",
       "if (action == guard::Action::unread) {")]),
    ("guard", "judging_takes_tokens", "a read that waits uses up what is tolerated each time it is looked at",
     [(READS, "  missing_ = {};\n  const Decision decision", "  missing_ = {};\n  carried_out(question);\n  const Decision decision"),
      (READS, "  effects_.clear();\n  missing_", "  missing_")]),
    ("guard", "unproven_nils_are_replaced", "a nil becomes \"no such row\" although nothing has proven it",
     [("src/guard/guard_comparison.cpp", ".read_at = heard.read_at.value_or(now)", ".read_at = TimePoint()")]),
    ("guard", "fresh_ids_pass_strictly", "an attacker has ids just above the largest looked up without limit",
     [(JUDGE, "finding == filter::Finding::fresh_id && space.is_strict() &&", "finding == filter::Finding::fresh_id && false &&")]),
    # What the log shows of absent keys
    ("filter_concurrent", "looks_before_workers_have_passed", "a read that is just being recorded is missed",
     [(ABSENT_READS, "commit.epoch != passed && !epochs.passed(commit.epoch)", "commit.epoch != passed && false")]),
    ("filter_concurrent", "reads_before_the_commit_are_mistakes", "an alert for who looks for a name before taking it",
     [(ABSENT_READS, "is_hidden = read.at >= times.by", "is_hidden = read.at >= times.since")]),
    ("filter_concurrent", "half_a_read_is_found", "a read is judged by the time of another one",
     [(ABSENT_READS, "before, kBeingWritten, std::memory_order_relaxed", "before, hash, std::memory_order_relaxed")]),
    ("source/follow", "the_last_question_places_a_commit", "rows that lag has hidden count as read before their commit",
     [("src/source/follow/position_proofs.h", "        times.by = question.answered_at;\n        break;", "        times.by = question.answered_at;")]),
    ("guard", "waiting_reads_are_mistakes", "strict is blamed in observe for what it prevents in enforce",
     [("src/guard/guard_comparison.cpp", "is_observed ? Kind::would_wait : Kind::proof", "is_observed && now < read_at ? Kind::would_wait : Kind::proof")]),
    # One server behind an address, one filter under a key
    ("upstream", "one_connection_elsewhere_is_a_move", "all clients are closed in turn behind a balancer over two servers",
     [("src/upstream/control.cpp", "if (++others_ <= kSure) {", "if (++others_ <= 0) {")]),
    ("upstream", "several_servers_are_one", "rights of one of two servers are believed of both",
     [("src/upstream/control.cpp", "    if (others_ > 0) {\n", "    if (others_ > kSure) {\n")]),
    ("proxy", "suspended_processes_judge", "who was suspended gives up connections whose replies have come",
     [(SHARED, "loop_.now() > due + kLate", "loop_.now() > due + 1000 * kLate")]),
    ("proxy", "promises_wait_for_nobody", "a BF.ADD's reply is never sent",
     [("src/guard/known_replies.cpp", "  if (is_first) {", "  if (false && is_first) {")]),
    ("upstream", "a_server_that_was_left_is_believed", "a password that only the new server wants is never noticed",
     [("src/upstream/control.cpp", ".moved_from = next == LedTo::Next::moved ? led_to_.current() : \"\",", ".moved_from = \"\",")]),
    ("proxy", "a_redirected_exec_goes_on", "what a client writes after an EXEC that was led elsewhere is not learned",
     [(ORDER, '"-MOVED ",', '"-MOVED!",')]),
    ("guard", "refused_parts_are_not_learned", "what one node has deleted of a DEL that another one refuses stays absent",
     [(WRITES, "(may_be_split &&", "(may_be_split && keys_of_one_part &&"),
      (WRITES, "  const bool may_be_split =", "  const bool keys_of_one_part = false;\n  const bool may_be_split =")]),
    ("redis", "redirections_are_forgotten", "a replica's -REDIRECT becomes an absent answer",
     [(STATE, "is_redirected_ = true;", "is_redirected_ = is_redirected_ && true;")]),
    ("source/bloom", "layers_of_two_filters_are_one", "rows that are in both filters are absent for a moment",
     [("src/source/bloom/dump.cpp", "reading.must_have_stood_still = !has_one_layer;", "reading.must_have_stood_still = has_one_layer;")]),
    ("source/bloom", "pieces_of_two_texts_are_one", "the same of Guava's and seiflotfy's",
     [("src/source/bloom/key_origin.cpp", "      is_in_pieces &&", "      !is_in_pieces &&")]),
    ("replicated", "nobody_is_asked_for_a_lost_piece", "a guard that begins never becomes ready",
     [("src/replicated/filter_log.cpp", "      ask_for_snapshot();\n      return again(", "      return again(")]),
    ("replicated", "an_evicting_redis_is_believed", "an item that was acknowledged is gone",
     [("src/replicated/filter_log.cpp", 'info.contains("maxmemory_policy:allkeys-")', 'info.contains("maxmemory_policy:all-")')]),
    ("replicated", "each_flush_is_waited_for_longer", "filters are of no use for seconds after FLUSHALL",
     [("src/replicated/filter_log.cpp", "failure.has_begun_anew ? kPauseLeast", "failure.has_begun_anew ? std::clamp(2 * pause_, kPauseLeast, kPauseMost)")]),
    # Fleets
    ("fleet", "an_entry_follows_any", "an entry is applied to what it was not made for",
     [(CHAIN, "if (entry.before != at_.tag) {", "if (entry.before.empty()) {")]),
    ("fleet", "no_digest", "what has not been told, or not applied, is not noticed",
     [(CHAIN, "return change.version != before.version || digest == change.digest;", "return digest == change.digest || change.table != 0;")]),
    ("fleet", "a_question_read_too_late_is_answered", "a follower is fresh as of a moment after the database was asked",
     [("src/fleet/publisher.h", "*proven_at_ >= questions_at_;", "questions_at_ != TimePoint::max();")]),
    ("fleet", "answers_in_the_middle_of_a_transaction", "a builder that is woken appends again and again, and answers nobody",
     [("src/fleet/publisher.h", "!questions_.empty() && unmarked_ == 0 &&", "!questions_.empty() &&")]),
    ("fleet", "a_reader_wakes_nobody", "a strict read waits for the builder's next tick",
     [("src/fleet/follower/asker.cpp", "  ask.is_waiting = is_wanted;\n", "  ask.is_waiting = is_wanted = false;\n"),
      ("src/fleet/follower/asker.cpp", "const bool is_wanted = settings_", "bool is_wanted = settings_")]),
    ("fleet", "asks_whether_or_not_it_was_answered", "strict followers write to Redis faster than anybody answers",
     [("src/fleet/follower/asker.cpp", "[this] { return !open_; });", "[] { return true; });")]),
    ("fleet", "an_answer_ends_no_wait", "the next strict read waits for a quarter of a second",
     [("src/fleet/follower/asker.cpp", "if (open_ && at >= *open_) {", "if (open_ && at < *open_) {")]),
    ("fleet", "hears_a_wake_again_and_again", "a builder is kept awake by one reader",
     [("src/fleet/builder/wake_listener.cpp", "      last = std::move(id);\n      on_wake_", "      on_wake_")]),
    ("fleet", "a_path_to_another_root", "an answer of another entry counts",
     [("src/fleet/questions.cpp", "return cursor.at_end() && reached == root;", "return cursor.at_end() && !root.empty();")]),
    ("fleet", "anybody_signs", "who may write to Redis can hide a key",
     [("src/fleet/signature.cpp", "bytes.substr(text.size()))) {\n    return std::nullopt;",
       "bytes.substr(text.size())) && bytes.empty()) {\n    return std::nullopt;")]),
    ("fleet", "takes_over_while_behind", "a builder goes on where it has not been",
     [(PUBLISHER, "!at_.end.empty() && begins_at_->end == at_.end;", "true;")]),
    ("fleet", "tells_what_the_log_has", "rows that are in the log are told again",
     [(PUBLISHER, "    drop_mark();\n  }\n}\n\nvoid Publisher::drop_mark", "    begins_at_ = marks_[static_cast<std::size_t>(known) - 1];\n    break;\n  }\n}\n\nvoid Publisher::drop_mark")]),
    ("fleet", "leaves_what_the_one_before_has_deleted", "deleted rows stay after a takeover",
     [(PUBLISHER, "for (; hash->second > keeps; --hash->second) {", "for (; hash->second > keeps + 100; --hash->second) {")]),
    ("fleet", "says_to_be_further_than_it_is", "an entry's position is that of operations that come later",
     [(PUBLISHER, "    at_.end = marks_.front().end;\n", "    at_.end = marks_.back().end;\n")]),
    ("fleet", "goes_on_with_what_it_does_not_tell", "a table that a builder does not understand stays published",
     [(PUBLISHER, "if (!told_.contains(table)) {", "if (told_.empty() && table == 0) {")]),
    ("fleet", "a_cut_while_rows_wait", "a snapshot has rows that the log says will go",
     [(PUBLISHER, "if (!state.deleted.empty() || !deleted_[table].empty()) {", "if (!state.deleted.empty()) {")]),
    ("fleet", "a_cut_believes_what_was_told", "a filter that differs from what was told stays published",
     [(PUBLISHER, "is_published && state.digest == digest;", "is_published;")]),
    ("fleet", "keeps_copies_of_what_comes_and_goes", "followers' buckets fill up with copies",
     [("src/fleet/entry.cpp", "if (inserted.empty() || erased.empty()) {", "if (inserted.size() + erased.size() < 100) {")]),
    ("source/follow", "a_row_that_comes_back_is_not_told", "it is erased at followers",
     [(LOG_FEED, "        feed_.published().inserted({&hash, 1});\n        feed_.published().erased(hash);\n", "")]),
    ("source/follow", "what_waits_at_a_load_is_not_told", "a snapshot has rows that will go",
     [(LOG_FEED, "    erasures_.for_each([this](std::uint64_t hash) { feed_.published().deleted(hash); });\n", "")]),
    ("source/follow", "a_table_that_is_not_understood_is_told_of", "followers believe what is not told any more",
     [("src/source/follow/table_set_state.h", "      followed.feed->expire();\n      followed.feed->published().lost();\n    }\n    rows", "      followed.feed->expire();\n    }\n    rows")]),
    ("source/follow", "what_is_erased_is_not_marked", "it is told with the next transaction only",
     [("src/source/follow/table_set_log.h", "      state_.mark();\n    } catch", "    } catch")]),
    # Breakdown: who waits for whose load
    ("load", "held_beyond_hold", "a miss waits as long as somebody loads",
     [(LEASES, "client.state_ == Connection::State::waits && now < client.deadline_) {\n    wait_on", "client.state_ == Connection::State::waits) {\n    wait_on")]),
    ("load", "asked_again_from_the_beginning", "each time that it is asked again a miss may wait for hold once more",
     [(LEASES, "if (client.state_ == Connection::State::idle) {\n    client.since_ = now;", "{\n    client.since_ = now;"),
      (LEASES, "} else if (now >= client.deadline_) {", "}\n  if (now > client.deadline_) {")]),
    ("load", "next_byte_frees_nobody", "a client that sends more still waits for its miss",
     [(SESSION, "        give_up_miss();\n        begin_read();", "        begin_read();")]),
    ("load", "lease_outlives_its_owner", "a client that has gone goes on loading",
     [(LEASES, "    end_lease(at, LeaseEnd::gone, now);\n    hand_over(at, now);\n", "")]),
    ("load", "places_are_not_counted", "any number of clients load at once",
     [("src/breakdown/leases.h", "late_loads_ + asked_ < settings_", "late_loads_ + asked_ <= settings_")]),
    ("breakdown", "late_loads_free_their_place", "who loads longer than its lease lets one more load",
     [("src/breakdown/leases.h", "leased_ + late_loads_ +", "leased_ +")]),
    ("proxy", "misses_of_a_redis_unknown_leave", "after a restart of Redis, empty, all clients load",
     [("src/guard/guard_reads.cpp", "return {.may_be_load = reads_loads(question)};", "return {};")]),
    ("load", "pipelined_misses_wait", "a miss behind which others are in flight waits",
     [(SESSION, "decision.may_be_load && behind.empty() && !order_.is_waiting()", "decision.may_be_load")]),
    ("load", "later_commands_leave_it_watched", "the reply to a later command is taken for the miss's",
     [(SESSION, "  if (miss_) {\n    miss_->state = Miss::State::none;\n  }\n", "")]),
    ("breakdown", "never_the_last_one", "all connections of a pool wait",
     [("src/breakdown/addresses.cpp", "of.connections - of.held <= 1)", "of.connections == of.held)")]),
    ("breakdown", "who_never_sets_is_credited", "who takes leases and never sets is credited with what others set",
     [(LEASES, "return past.address != writer;", "return writer == 0;")]),
    ("breakdown", "slow_loads_are_not_learned", "a database that has become slow looks like clients that never set",
     [(LEASES, "= of.owner != nullptr || !others.empty();", "= of.owner != nullptr;")]),
    ("proxy", "refused_writes_free_who_waits", "a SET NX that did nothing counts as a write",
     [(WRITES, "!(key.is_nil && key.is_refused_by_nil)", "true")]),
    ("proxy", "redis_lost_takes_the_nil_with_it", "a client that waits has no reply when Redis is lost",
     [(SESSION, "void Session::on_upstream_lost() {\n  give_up_miss();", "void Session::on_upstream_lost() {"),
      ("src/proxy/session_held.cpp", "  give_up_miss();\n  if (phase_ >= Phase::ending) {\n    return;\n  }\n  phase_", "  if (phase_ >= Phase::ending) {\n    return;\n  }\n  phase_")]),
    # Runs: reads that are judged together
    ("filter", "a_batch_asks_for_freshness_last", "a row that came before a proof is absent by it, among other keys",
     [("src/filter/parts_lookup.h", "    if (!freshness.has(live) || !is_still(*set)) {\n      std::ranges::fill", "    if (!is_still(*set)) {\n      std::ranges::fill"),
      ("src/filter/parts_lookup.h", "    if (live.isolated() != nullptr) {\n      return false;", "    if (live.isolated() != nullptr || !freshness.has(live)) {\n      return false;")]),
    ("filter", "a_batch_knows_no_isolated_rows", "a row with several identities is absent among other keys",
     [("src/filter/parts_lookup.h", "    if (live.isolated() != nullptr) {\n      return false;", "    if (set->sole == nullptr) {\n      return false;")]),
    ("guard", "runs_pass_by_the_overlay", "a key just written is absent among other keys",
     [(JUDGE, ": space.overlay->holds(overlaid[i]) ? Verdict::overlaid", ": keys.size == 0 ? Verdict::overlaid")]),
    ("guard", "runs_pass_by_writes_in_flight", "a client's own write is absent among other keys",
     [(JUDGE, "reader.access.may(reader.command, found.ns) && !has_writes &&", "reader.access.may(reader.command, found.ns) &&")]),
    ("guard", "runs_of_another_database", "keys of another database are answered, among others",
     [(JUDGE, "space.db == reader.db && reader.access.may(reader.command, found.ns) && !has_writes", "reader.access.may(reader.command, found.ns) && !has_writes")]),
    ("guard", "runs_go_on_with_other_templates", "a key is looked up in another namespace's filter",
     [("src/guard/guard_runs.cpp", "found.template_index == template_index);", "found.template_index + template_index >= 0);")]),
    ("proxy", "runs_are_not_bounded_in_flight", "one client's pipeline may take all of a shared connection",
     [("src/proxy/session_run.cpp", "std::min<std::size_t>(commands.size(), route_.room())", "commands.size()")]),
    ("proxy", "runs_count_what_is_left", "commands that wait are counted twice",
     [("src/proxy/session_run.cpp", "carried_out_run(first, std::span(keys).first(done))", "carried_out_run(first, std::span(keys).first(run.commands))")]),
    ("proxy", "runs_are_answered_without_room", "a client that does not read makes the guard keep what it answers",
     [("src/proxy/session_run.cpp", "  if (room < reply.size()) {\n    return 0;\n  }\n", "")]),
    ("resp", "another_command_is_taken_for_alike", "a command is taken for another one",
     [("src/resp/request_scanner.cpp", "std::memcmp(at, head, front) == 0 && at[front] == '$'", "std::memcmp(at, head, 4) == 0 && at[front] == '$'")]),
]


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


# By what must notice it, but for the one under attack, which is run in both modes: program, seeds, tests.
SIMULATIONS = {"strict": ("strict_simulation_test", 200, "*"), "routed": ("simulation_test", 300, "RoutedSimulation.*"),
               "load": ("load_simulation_test", 200, "*")}


def killing_runs(killer):
    if killer in SIMULATIONS:
        program, runs, tests = SIMULATIONS[killer]
        return program, [["env", f"CUCKOOGUARD_RUNS={runs}", "CUCKOOGUARD_SEED=1", f"build/release/tests/simulation/{program}", "--gtest_brief=1",
                          f"--gtest_filter={tests}"]]
    if killer != "attack":
        folder = killer.removesuffix("_concurrent")
        program = killer.split("/")[-1] + "_test"
        path = killer + "_test" if killer.startswith("integration/") else f"tests/{folder}/{program}"
        return program, [[f"build/release/{path}", "--gtest_brief=1", "--gtest_fail_fast"]]
    simulation = ["env", f"CUCKOOGUARD_RUNS={RUNS}", "build/release/tests/simulation/attack_simulation_test"]
    return "attack_simulation_test", [[*simulation, f"--gtest_filter=*nobody*{mode}*"] for mode in ("shared", "pinned")]


# What has failed first.
def reason(output):
    lines = [line.strip() for line in output.splitlines()]
    failed = [line for line in lines if line.startswith("[  FAILED  ]")]
    seed = [line for line in lines if line.startswith(("Which is", "seed"))] if "replay it" in output else []
    return " ".join([*seed, *failed[:1]])[:200]


def try_mutant(tree, killer, name, edits):
    before = {}
    for path, old, new in edits:
        text = (tree / path).read_text()
        before.setdefault(path, text)
        if old not in text:
            return f"{name}: does not apply to {path} any more"
        (tree / path).write_text(text.replace(old, new, 1))
    try:
        target, runs = killing_runs(killer)
        built = run(["cmake", "--build", "build/release", "--target", target], tree)
        if built.returncode != 0:
            return f"{name}: does not build\n{built.stdout[-2000:]}"
        began = time.monotonic()
        for command in runs:
            died = run(command, tree)
            if died.returncode != 0:
                print(f"{name}: dead ({killer}, {time.monotonic() - began:.1f} s): {reason(died.stdout)}", flush=True)
                return None
        return f"{name}: SURVIVES {killer}"
    finally:
        for path, text in before.items():
            (tree / path).write_text(text)


def main():
    tree = pathlib.Path(sys.argv[1])
    wanted = sys.argv[2:]
    problems = []
    for killer, name, _, edits in MUTANTS:
        if not wanted or name in wanted:
            problem = try_mutant(tree, killer, name, edits)
            if problem:
                print(problem, flush=True)
                problems.append(name)
    print(f"mutants: tried={len(wanted) or len(MUTANTS)} alive={len(problems)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
