// Replaces addresses in one reply: the inside of topology_reply.h.
//
// Threads: one. Lifetimes: keeps references to what it is made of.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/topology_reply.h"

namespace cuckooguard::cluster {

// Goes through one whole reply, value by value: of an aggregate its header first, then what is in
// it.
//
// Threads: one. Lifetimes: views into the reply.
// Errors: nothing, at the end, for bytes that are not RESP, and for what no reply of CLUSTER has:
//   attributes, and aggregates of unknown length. The caller then sets the cursor back.
// Cost: linear; no recursion.
class ReplyCursor {
 public:
  struct Item {
    char type = '\0';
    std::size_t begin = 0;      // of the whole value; of an aggregate, of its header
    std::size_t end = 0;        // behind its CRLF
    std::string_view text;      // a line's, or a string's
    std::size_t values = 0;     // that are in it; of a map keys and values
    bool is_aggregate = false;  // not a null one
    bool is_null = false;

    bool is_text() const { return type == '$' && !is_null; }
    bool is_list() const { return is_aggregate && type != '%'; }
  };

  explicit ReplyCursor(std::string_view reply) : reply_(reply) {}

  std::optional<Item> next();
  // A value with all that is in it. False as `next` gives nothing.
  bool skip();

  std::size_t at() const { return at_; }
  void set_back(std::size_t at) { at_ = at; }
  char peek() const { return at_ < reply_.size() ? reply_[at_] : '\0'; }

 private:
  std::optional<std::string_view> take_line();
  bool take_body(Item& item, std::string_view length);

  std::string_view reply_;
  std::size_t at_ = 0;
};

class Rewriter {
 public:
  Rewriter(std::string_view reply,
           const Addresses& addresses,
           const ClientView& client,
           std::span<const Nested> nested)
      : reply_(reply), cursor_(reply), addresses_(addresses), client_(client), nested_(nested) {}

  // Takes one value. False: not understood, and not taken.
  bool take(TopologyReply kind);

  Rewritten finish() &&;

 private:
  using Item = ReplyCursor::Item;
  // What a reply says of one node; `id` may be empty.
  struct NodeAddress {
    std::string_view id;
    std::array<std::string_view, 3> hosts{};  // any of which may be empty
    std::array<std::uint16_t, 2> ports{};     // 0: none
    bool is_in_handshake = false;
  };
  // "ip", "127.0.0.1"; of a map in RESP3, of every two elements of an array in RESP2.
  struct Field {
    Item key;
    Item value;
  };
  struct Edit {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string text;
  };

  using Part = bool (Rewriter::*)();

  // A value that `take` does not understand stays as it is. False: there is no value.
  template <typename Take>
  bool take_or_leave(const Take& take);
  // A text, which may be verbatim; `rewrite` gives what it is to be.
  template <typename Rewrite>
  bool take_text(const Rewrite& rewrite);
  bool take_each(std::size_t values, Part part);
  bool take_redirect();
  bool take_nested();
  bool take_list(Part part);
  bool take_slots_entry();
  bool take_slots_node();
  bool take_shard();
  bool take_shard_node();
  bool take_nodes_text();
  bool take_replica();

  // Replies of Sentinels and single nodes: in a file of their own.
  std::optional<std::uint16_t> replace_endpoint(const Item& host, const Item& port, bool is_master);
  bool take_endpoint(bool is_master);
  bool take_master_address();
  bool take_instance();
  bool take_message();
  std::string with_endpoints_rewritten(std::string_view text, bool is_switch);
  bool take_role();
  bool take_role_s_replica();
  bool take_info();
  std::uint16_t listener_named(std::string_view name);
  std::string with_info_line_rewritten(std::string_view line, const NodeAddress& master);
  std::string with_master_rewritten(std::string_view line, const NodeAddress& master);
  std::string with_replica_rewritten(std::string_view line);
  std::string with_named_master_rewritten(std::string_view line);

  // Without those whose values are aggregates.
  std::optional<std::vector<Field>> take_fields(const Item& map);
  static NodeAddress address_in(std::span<const Field> fields);
  void replace_ports(const Item& map, std::span<const Field> fields, std::uint16_t listener);
  std::string with_lines_rewritten(std::string_view text);
  std::string with_line_rewritten(std::string_view line);

  // The listener in front of it. Nothing: it has none, which is counted. `is_master`: the reply
  // says so.
  std::optional<std::uint16_t> listener_of(const NodeAddress& node, bool is_master = false);
  std::optional<std::uint16_t> known_as(const NodeAddress& node) const;
  std::string_view told_for(std::string_view host) const;
  void replace_host(const Item& item);
  void replace_text(const Item& item, std::string_view text);
  void replace(std::size_t begin, std::size_t end, std::string text);

  std::string_view reply_;
  ReplyCursor cursor_;
  const Addresses& addresses_;
  const ClientView& client_;
  std::span<const Nested> nested_;
  std::vector<Edit> edits_;
  Rewritten done_;
};

template <typename Rewrite>
bool Rewriter::take_text(const Rewrite& rewrite) {
  const auto text = cursor_.next();
  if (!text || (text->type != '$' && text->type != '=')) {
    return false;
  }
  if (text->is_null) {
    return true;
  }
  constexpr std::size_t kFormat = 4;  // "txt:"
  const std::size_t in_front = text->type == '=' ? std::min(kFormat, text->text.size()) : 0;
  std::string rewritten(text->text.substr(0, in_front));
  rewritten += rewrite(text->text.substr(in_front));
  std::string value = text->type + std::to_string(rewritten.size()) + "\r\n" + rewritten + "\r\n";
  replace(text->begin, text->end, std::move(value));
  return true;
}

}  // namespace cuckooguard::cluster
