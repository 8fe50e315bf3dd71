#include "cluster/rewriter.h"

#include "cluster/node_line.h"
#include "resp/reply_shape.h"
#include "resp/reply_writer.h"

namespace cuckooguard::cluster {
namespace {

bool is_port(std::string_view key) {
  return key == "port" || key == "tls-port";
}

bool is_host(std::string_view key) {
  return key == "ip" || key == "endpoint" || key == "hostname";
}

std::string bulk_of(std::string_view text) {
  std::string bulk;
  resp::append_bulk(bulk, text);
  return bulk;
}

std::string integer_of(std::uint16_t port) {
  return ':' + std::to_string(port) + "\r\n";
}

}  // namespace

std::optional<std::string_view> ReplyCursor::take_line() {
  const std::size_t end = reply_.find("\r\n", at_);
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view line = reply_.substr(at_, end - at_);
  at_ = end + 2;
  return line;
}

std::optional<ReplyCursor::Item> ReplyCursor::next() {
  Item item{.type = peek(), .begin = at_};
  const auto line = take_line();
  if (!line || line->empty()) {
    return std::nullopt;
  }
  item.text = line->substr(1);
  item.end = at_;
  if (resp::shape_of(item.type) == resp::Shape::line) {
    item.is_null = item.type == '_';
    return item;
  }
  if (item.text == "-1" && resp::may_be_null(item.type)) {
    item.text = {};
    item.is_null = true;
    return item;
  }
  return take_body(item, item.text) ? std::optional(item) : std::nullopt;
}

// What follows the length, or is announced by it.
bool ReplyCursor::take_body(Item& item, std::string_view length) {
  const auto count = text::number_of<std::uint32_t>(length);
  const std::size_t left = reply_.size() - at_;
  if (!count) {
    return false;
  }
  switch (resp::shape_of(item.type)) {
    case resp::Shape::elements:
    case resp::Shape::pairs:
      item.text = {};
      item.is_aggregate = true;
      item.values = std::size_t{*count} * (item.type == '%' ? 2 : 1);
      return item.values <= left;  // none is smaller than a byte
    case resp::Shape::text:
      if (left < 2 || *count > left - 2 || reply_.substr(at_ + *count, 2) != "\r\n") {
        return false;
      }
      item.text = reply_.substr(at_, *count);
      at_ += *count + 2;
      item.end = at_;
      return true;
    default:
      return false;
  }
}

bool ReplyCursor::skip() {
  for (std::size_t wanted = 1; wanted != 0; --wanted) {
    const auto item = next();
    if (!item) {
      return false;
    }
    wanted += item->values;
  }
  return true;
}

Rewritten Rewriter::finish() && {
  std::ranges::sort(edits_, {}, &Edit::begin);
  std::size_t copied = 0;
  for (const Edit& edit : edits_) {
    done_.reply.append(reply_.substr(copied, edit.begin - copied)).append(edit.text);
    copied = edit.end;
  }
  done_.reply.append(reply_.substr(copied));
  return std::move(done_);
}

template <typename Take>
bool Rewriter::take_or_leave(const Take& take) {
  const std::size_t at = cursor_.at();
  const std::size_t edits = edits_.size();
  Rewritten before = done_;
  if (take()) {
    return true;
  }
  edits_.resize(edits);
  done_ = std::move(before);
  done_.is_malformed = true;
  cursor_.set_back(at);
  return cursor_.skip();
}

bool Rewriter::take_each(std::size_t values, Part part) {
  for (std::size_t i = 0; i < values; ++i) {
    if (!take_or_leave([this, part] { return (this->*part)(); })) {
      return false;
    }
  }
  return true;
}

bool Rewriter::take_list(Part part) {
  const auto list = cursor_.next();
  return list && (list->is_null || (list->is_list() && take_each(list->values, part)));
}

bool Rewriter::take(TopologyReply kind) {
  switch (cursor_.peek()) {
    case '-':
      return take_redirect();
    case '+':
    case '!':
    case '_':
      return cursor_.skip();
    default:
      break;
  }
  switch (kind) {
    case TopologyReply::slots:
      return take_list(&Rewriter::take_slots_entry);
    case TopologyReply::shards:
      return take_list(&Rewriter::take_shard);
    case TopologyReply::nodes:
      return take_nodes_text();
    case TopologyReply::replicas:
      return take_list(&Rewriter::take_replica);
    case TopologyReply::master_address:
      return take_master_address();
    case TopologyReply::instance:
      return take_instance();
    case TopologyReply::instances:
      return take_list(&Rewriter::take_instance);
    case TopologyReply::message:
      return take_message();
    case TopologyReply::role:
      return take_role();
    case TopologyReply::info:
      return take_info();
    case TopologyReply::exec:
      return take_nested();
    case TopologyReply::none:
      break;
  }
  return cursor_.skip();
}

// "-MOVED 3999 127.0.0.1:6381"
bool Rewriter::take_redirect() {
  const auto error = cursor_.next();
  if (!error) {
    return false;
  }
  const std::string_view line = reply_.substr(error->begin, cursor_.at() - error->begin);
  if (redirect_in(line) == Redirect::none) {
    return true;
  }
  const auto named = named_node_in(line);
  if (!named) {
    return false;
  }
  const auto listener = listener_of({.id = {}, .hosts = {named->host}, .ports = {named->port}});
  if (listener) {
    replace(static_cast<std::size_t>(named->host.data() - reply_.data()),
            cursor_.at() - 2,
            std::string(told_for(named->host)) + ':' + std::to_string(*listener));
  }
  return true;
}

bool Rewriter::take_nested() {
  const auto list = cursor_.next();
  if (!list || !list->is_list()) {
    return list.has_value();
  }
  auto wanted = nested_.begin();
  for (std::size_t i = 0; i < list->values; ++i) {
    while (wanted != nested_.end() && wanted->index < i) {
      ++wanted;
    }
    const bool is_wanted = wanted != nested_.end() && wanted->index == i;
    const TopologyReply kind = is_wanted ? wanted->kind : TopologyReply::none;
    if (!take_or_leave([this, kind] { return take(kind); })) {
      return false;
    }
  }
  return true;
}

// First slot, last slot, nodes.
bool Rewriter::take_slots_entry() {
  const auto entry = cursor_.next();
  constexpr std::size_t kSlotNumbers = 2;
  return entry && entry->is_list() && entry->values >= kSlotNumbers && cursor_.skip() &&
         cursor_.skip() && take_each(entry->values - kSlotNumbers, &Rewriter::take_slots_node);
}

// Host, port, and of newer servers the id, and what else is known of the address.
bool Rewriter::take_slots_node() {
  const auto node = cursor_.next();
  if (!node || !node->is_list() || node->values < 2) {
    return false;
  }
  const auto host = cursor_.next();
  const auto port = cursor_.next();
  if (!host || !port || !(host->is_text() || host->is_null) || port->type != ':') {
    return false;
  }
  NodeAddress address{.id = {},
                      .hosts = {host->text},
                      .ports = {text::number_of<std::uint16_t>(port->text).value_or(0)}};
  std::vector<Field> hosts;
  for (std::size_t i = 2; i < node->values; ++i) {
    const auto item = cursor_.next();
    if (!item) {
      return false;
    }
    if (!item->is_aggregate) {
      address.id = i == 2 ? item->text : address.id;
      continue;
    }
    auto fields = take_fields(*item);
    if (!fields) {
      return false;
    }
    std::erase_if(*fields, [](const Field& field) { return !is_host(field.key.text); });
    hosts.insert(hosts.end(), fields->begin(), fields->end());
  }
  for (std::size_t i = 0; i < std::min(hosts.size(), address.hosts.size() - 1); ++i) {
    address.hosts[i + 1] = hosts[i].value.text;
  }
  if (const auto listener = listener_of(address)) {
    replace_host(*host);
    replace(port->begin, port->end, integer_of(*listener));
    for (const Field& field : hosts) {
      replace_host(field.value);
    }
  }
  return true;
}

std::optional<std::vector<Rewriter::Field>> Rewriter::take_fields(const Item& map) {
  if (!map.is_aggregate || map.values % 2 != 0) {
    return std::nullopt;
  }
  std::vector<Field> fields;
  for (std::size_t i = 0; i < map.values; i += 2) {
    const auto key = cursor_.next();
    const std::size_t at = cursor_.at();
    const auto value = cursor_.next();
    if (!key || !key->is_text() || !value) {
      return std::nullopt;
    }
    if (!value->is_aggregate) {
      fields.push_back({*key, *value});
      continue;
    }
    cursor_.set_back(at);
    if (!cursor_.skip()) {
      return std::nullopt;
    }
  }
  return fields;
}

// "slots" and "nodes".
bool Rewriter::take_shard() {
  const auto shard = cursor_.next();
  if (!shard || !shard->is_aggregate || shard->values % 2 != 0) {
    return false;
  }
  for (std::size_t i = 0; i < shard->values; i += 2) {
    const auto key = cursor_.next();
    if (!key || !key->is_text() ||
        !(key->text == "nodes" ? take_list(&Rewriter::take_shard_node) : cursor_.skip())) {
      return false;
    }
  }
  return true;
}

Rewriter::NodeAddress Rewriter::address_in(std::span<const Field> fields) {
  NodeAddress address;
  for (const auto& [key, value] : fields) {
    if (key.text == "id") {
      address.id = value.text;
    } else if (is_port(key.text)) {
      address.ports[key.text == "port" ? 0 : 1] =
          text::number_of<std::uint16_t>(value.text).value_or(0);
    } else if (is_host(key.text)) {
      address.hosts[key.text == "ip" ? 0 : key.text == "endpoint" ? 1 : 2] = value.text;
    }
  }
  return address;
}

bool Rewriter::take_shard_node() {
  const auto map = cursor_.next();
  const auto fields = map ? take_fields(*map) : std::nullopt;
  if (!fields) {
    return false;
  }
  const NodeAddress address = address_in(*fields);
  if (const auto listener = listener_of(address)) {
    replace_ports(*map, *fields, *listener);
    for (const auto& [key, value] : *fields) {
      if (is_host(key.text)) {
        replace_host(value);
      }
    }
  }
  return true;
}

// One is left, the one that is of our listeners' kind.
void Rewriter::replace_ports(const Item& map,
                             std::span<const Field> fields,
                             std::uint16_t listener) {
  std::size_t ports = 0;
  for (const auto& [key, value] : fields) {
    if (!is_port(key.text)) {
      continue;
    }
    const bool is_first = ports++ == 0;
    replace(key.begin,
            value.end,
            is_first ? bulk_of(client_.has_tls ? "tls-port" : "port") + integer_of(listener) : "");
  }
  if (ports > 1) {
    const std::size_t values = map.values - (ports - 1) * 2;
    const std::size_t length = map.type == '%' ? values / 2 : values;
    replace(map.begin, map.end, map.type + std::to_string(length) + "\r\n");
  }
}

bool Rewriter::take_nodes_text() {
  return take_text([this](std::string_view text) { return with_lines_rewritten(text); });
}

bool Rewriter::take_replica() {
  const auto line = cursor_.next();
  if (!line || !line->is_text()) {
    return false;
  }
  replace(line->begin, line->end, bulk_of(with_lines_rewritten(line->text)));
  return true;
}

std::string Rewriter::with_lines_rewritten(std::string_view text) {
  std::string rewritten;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    rewritten += with_line_rewritten(line);
    text.remove_prefix(line.size());
    if (!text.empty()) {
      rewritten += '\n';
      text.remove_prefix(1);
    }
  }
  return rewritten;
}

std::string Rewriter::with_line_rewritten(std::string_view line) {
  const auto node = node_line_in(line);
  done_.is_malformed = done_.is_malformed || (!node && !line.empty());
  const auto listener =
      node ? listener_of({.id = node->id,
                          .hosts = {node->endpoint.host, node->hostname.value_or("")},
                          .ports = {node->endpoint.port},
                          .is_in_handshake = node->has("handshake")})
           : std::nullopt;
  if (!listener) {
    return std::string(line);
  }
  std::string rewritten(node->id);
  rewritten.append(" ").append(told_for(node->endpoint.host));
  rewritten.append(":").append(std::to_string(*listener)).append(node->bus);
  if (node->hostname) {
    rewritten.append(",").append(told_for(*node->hostname));
  }
  std::string_view more = node->more;
  while (!more.empty()) {
    const std::string_view name = text::take_word(more, ',');
    if (!name.starts_with("tls-port=") && !name.starts_with("tcp-port=")) {
      rewritten.append(",").append(name);
    }
  }
  const std::size_t rest = node->id.size() + 1 + node->address.size();
  return rewritten.append(line.substr(rest));
}

std::optional<std::uint16_t> Rewriter::listener_of(const NodeAddress& node, bool is_master) {
  const bool has_address = node.ports[0] != 0 || node.ports[1] != 0;
  if (!has_address) {
    return std::nullopt;
  }
  auto listener = known_as(node);
  if (is_master && listener == 0) {
    listener = client_.master;
  }
  if (!listener) {
    done_.unknown += node.is_in_handshake ? 0 : 1;
    return std::nullopt;
  }
  if (*listener == 0) {
    ++done_.direct;
    return std::nullopt;
  }
  ++done_.replaced;
  return listener;
}

std::optional<std::uint16_t> Rewriter::known_as(const NodeAddress& node) const {
  auto listener = node.id.empty() ? std::nullopt : addresses_.find_by_id(node.id);
  const bool is_on_open_host = std::ranges::all_of(node.hosts, is_open);
  for (const std::string_view host : node.hosts) {
    for (const std::uint16_t port : node.ports) {
      if (!listener && port != 0 && is_open(host) == is_on_open_host) {
        listener = addresses_.find_by_endpoint(host, port, client_.host_of_this_node);
      }
    }
  }
  return listener;
}

std::string_view Rewriter::told_for(std::string_view host) const {
  return host.empty() ? host : client_.host;
}

void Rewriter::replace_host(const Item& item) {
  if (item.is_text() && !item.text.empty()) {
    replace_text(item, client_.host);
  }
}

void Rewriter::replace_text(const Item& item, std::string_view text) {
  replace(item.begin, item.end, bulk_of(text));
}

void Rewriter::replace(std::size_t begin, std::size_t end, std::string text) {
  edits_.push_back({begin, end, std::move(text)});
}

}  // namespace cuckooguard::cluster
