// GUARD.TOP namespace [absent | read | clients]: a map.
//
//   pattern            of absent reads (traffic/pattern.h)
//   absent_per_second  reads of keys without a row, and all reads of the namespace's keys
//   read_per_second
//   absent, read       the ten most frequent, in their order: of keys an array of the key (cut to
//                      KeyText::kBytes), its key_hash as in the log, reads per second and share; of
//                      clients of the network, reads per second and share
//
// Who may: a user who may GET every key of the namespace, since these are keys that others have
// sent; and `clients`, who may do everything in Redis, or is an operator.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "guard/own_commands.h"
#include "guard/process.h"
#include "redis/word.h"
#include "resp/reply_writer.h"
#include "traffic/traffic.h"

namespace cuckooguard::traffic {
namespace {

using guard::Call;
using guard::OwnDecision;
using Kind = Sketches::Kind;

constexpr std::string_view kInDoubt =
    "ERR rights unknown: the guard cannot determine whether this user may GET every key of the "
    "namespace";
constexpr std::size_t kEchoBytesMax = 128;

struct TopCall : Call {
  explicit TopCall(const Call& call) : Call(call) {}

  OwnDecision top() const {
    const auto ns = guard.parts().keyspace.find(arguments[1]);
    if (!ns) {
      return error("ERR no such namespace: " + quoted(arguments[1]));
    }
    if (const auto words = refusal(*ns, kInDoubt)) {
      return error(*words);
    }
    const Sketches* const sketches = sketches_of(guard.parts().namespaces[*ns]);
    const std::string_view list = arguments.size() > 2 ? arguments[2] : "absent";
    const bool is_clients = redis::is_word(list, "clients");
    const bool is_read = redis::is_word(list, "read");
    if (sketches == nullptr || (!is_clients && !is_read && !redis::is_word(list, "absent"))) {
      return error("ERR no such list: " + quoted(list) + "; use absent, read or clients");
    }
    if (is_clients && !access->is_unrestricted && !is_operator()) {
      return no_permission(
          "client addresses are shown to users who may run all commands on all keys, and to those "
          "listed in admin.operators");
    }
    const guard::TimePoint now = attempt.now;
    const Ranking absent =
        is_clients ? sketches->clients(Kind::absent, now) : sketches->keys(Kind::absent, now);
    const Ranking read =
        is_clients ? sketches->clients(Kind::read, now) : sketches->keys(Kind::read, now);
    reply.clear();
    resp::append_map_header(reply, version(), is_clients ? 5 : 4);
    add("pattern", name_of(pattern_of(guard.parts(), *ns, now)));
    add("absent_per_second", text_of(absent.per_second, 1));
    add("read_per_second", text_of(read.per_second, 1));
    if (!is_read) {
      add("absent", absent, is_clients);
    }
    if (is_read || is_clients) {
      add("read", read, is_clients);
    }
    return answer();
  }

 private:
  bool is_operator() const {
    return std::ranges::count(guard.parts().process->operators.users, client.user()) > 0;
  }
  static std::string quoted(std::string_view text) {
    return "'" + std::string(text.substr(0, kEchoBytesMax)) + "'";
  }
  void add(std::string_view field, std::string_view value) const {
    resp::append_bulk(reply, field);
    resp::append_bulk(reply, value);
  }
  void add(std::string_view field, const Ranking& ranking, bool is_clients) const {
    resp::append_bulk(reply, field);
    resp::append_array_header(reply, ranking.rows.size());
    for (const Row& row : ranking.rows) {
      resp::append_array_header(reply, is_clients ? 3 : 4);
      if (is_clients) {
        resp::append_bulk(reply, row.from.text());
      } else {
        resp::append_bulk(reply, row.key.view());
        resp::append_bulk(reply, guard.parts().process->key_hash(row.key.view()));
      }
      resp::append_bulk(reply, text_of(row.per_second, 1));
      resp::append_bulk(reply, text_of(row.share, 3));
    }
  }
};

OwnDecision run_top(const Call& call) {
  return TopCall(call).top();
}

// clang-format off
constexpr auto kRows = std::to_array<guard::CommandRow>({
    {"guard.top", 2, 3, guard::Needs::rights, run_top,
     "TOP <namespace> [ABSENT|READ|CLIENTS]\n"
     "    Return the most frequent keys without a row, keys, or client networks in a sample of\n"
     "    the last minutes' reads, and the pattern of keys without a row."},
});
// clang-format on

std::unique_ptr<guard::CommandServer> commands(guard::Guard& guard) {
  return std::make_unique<guard::CommandServer>(guard, kRows);
}

std::unique_ptr<guard::Traffic> make(std::size_t workers) {
  return std::make_unique<Sketches>(workers);
}

}  // namespace

const app::TrafficGuest kGuest{.make = make, .commands = commands, .show = show};

}  // namespace cuckooguard::traffic
