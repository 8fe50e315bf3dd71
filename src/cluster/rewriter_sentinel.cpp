// What Sentinels tell, and what a Redis tells of its master and replicas. See rewriter.h.
#include <algorithm>
#include <array>
#include <utility>

#include "cluster/node_line.h"
#include "cluster/rewriter.h"

namespace cuckooguard::cluster {
namespace {

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    words.push_back(text::take_word(text));
  }
  return words;
}

// A text of which parts are replaced, from its beginning to its end.
class Edited {
 public:
  explicit Edited(std::string_view text) : text_(text) {}

  // From `first` to `last`, which are parts of it.
  void replace(std::string_view first, std::string_view last, std::string_view by) {
    const std::size_t begin = offset_of(first);
    done_.append(text_.substr(copied_, begin - copied_)).append(by);
    copied_ = offset_of(last) + last.size();
  }
  std::string whole() && { return std::move(done_.append(text_.substr(copied_))); }

 private:
  std::size_t offset_of(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - text_.data());
  }

  std::string_view text_;
  std::string done_;
  std::size_t copied_ = 0;
};

bool is_numbered(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) {
    return false;
  }
  line.remove_prefix(name.size());
  return text::number_of<std::uint32_t>(line.substr(0, line.find(':'))).has_value();
}

}  // namespace

// The listener, if they are replaced.
std::optional<std::uint16_t> Rewriter::replace_endpoint(const Item& host,
                                                        const Item& port,
                                                        bool is_master) {
  if (!host.is_text() || is_open(host.text)) {
    return std::nullopt;
  }
  const std::uint16_t number = text::number_of<std::uint16_t>(port.text).value_or(0);
  const auto listener = listener_of({.id = {}, .hosts = {host.text}, .ports = {number}}, is_master);
  if (listener) {
    replace_host(host);
    const std::string told = std::to_string(*listener);
    if (port.type == ':') {
      replace(port.begin, port.end, ':' + told + "\r\n");
    } else {
      replace_text(port, told);
    }
  }
  return listener;
}

// The next two values are a host and a port.
bool Rewriter::take_endpoint(bool is_master) {
  const auto host = cursor_.next();
  const auto port = cursor_.next();
  const bool is_port = port && (port->is_text() || port->type == ':');
  if (!host || !host->is_text() || !is_port) {
    return false;
  }
  replace_endpoint(*host, *port, is_master);
  return true;
}

bool Rewriter::take_master_address() {
  const auto list = cursor_.next();
  return list && (list->is_null || (list->is_list() && list->values == 2 && take_endpoint(true)));
}

// "name", "ip", "port", "flags" ... of a master, a replica or a Sentinel.
bool Rewriter::take_instance() {
  const auto map = cursor_.next();
  const auto fields = map ? take_fields(*map) : std::nullopt;
  if (!fields) {
    return false;
  }
  const auto find = [&fields](std::string_view name) {
    const auto found =
        std::ranges::find(*fields, name, [](const Field& field) { return field.key.text; });
    return found != fields->end() ? found->value : Item{};
  };
  const Item host = find("ip");
  const Item port = find("port");
  const Item name = find("name");
  const bool is_master = find("flags").text.starts_with("master");
  const auto listener = replace_endpoint(host, port, is_master);
  if (listener && name.text == std::string(host.text) + ':' + std::string(port.text)) {
    replace_text(name, std::string(client_.host) + ':' + std::to_string(*listener));
  }
  replace_endpoint(find("master-host"), find("master-port"), true);
  return true;
}

// "message", channel, text; "pmessage", pattern, channel, text. All else stays.
bool Rewriter::take_message() {
  const auto frame = cursor_.next();
  if (!frame || !frame->is_list()) {
    return frame.has_value();
  }
  std::array<Item, 4> parts;
  if (frame->values != 3 && frame->values != parts.size()) {
    return false;
  }
  for (std::size_t i = 0; i < frame->values; ++i) {
    const auto part = cursor_.next();
    if (!part || part->is_aggregate) {
      return false;
    }
    parts[i] = *part;
  }
  const Item& text = parts[frame->values - 1];
  if (text.is_text() && (parts[0].text == "message" || parts[0].text == "pmessage")) {
    const bool is_switch = parts[frame->values - 2].text == "+switch-master";
    replace_text(text, with_endpoints_rewritten(text.text, is_switch));
  }
  return true;
}

// "slave 127.0.0.1:6380 127.0.0.1 6380 @ name 127.0.0.1 6379", "master name 127.0.0.1 6379",
// "sentinel <id> 127.0.0.1 26380 @ name 127.0.0.1 6379"; of +switch-master "name 127.0.0.1 6379
// 127.0.0.1 6380", of which the first was the master and the last is.
std::string Rewriter::with_endpoints_rewritten(std::string_view text, bool is_switch) {
  const std::vector<std::string_view> words = words_in(text);
  Edited edited(text);
  const std::string host(client_.host);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto port =
        i + 1 < words.size() ? text::number_of<std::uint16_t>(words[i + 1]) : std::nullopt;
    const bool is_master =
        is_switch || (i == 2 && words[0] == "master") || (i > 1 && words[i - 2] == "@");
    const bool is_host = is_master || (i == 2 && (words[0] == "slave" || words[0] == "sentinel"));
    if (port && is_host && !is_open(words[i])) {
      const auto listener =
          listener_of({.id = {}, .hosts = {words[i]}, .ports = {*port}}, is_master);
      if (listener) {
        edited.replace(words[i], words[i + 1], host + ' ' + std::to_string(*listener));
      }
      ++i;
    } else if (const std::uint16_t listener = listener_named(words[i]); listener != 0) {
      edited.replace(words[i], words[i], host + ':' + std::to_string(listener));
    }
  }
  return std::move(edited).whole();
}

// Of "127.0.0.1:6380", a replica's name; 0: it is none.
std::uint16_t Rewriter::listener_named(std::string_view name) {
  const auto endpoint = endpoint_in(name);
  if (!endpoint || is_open(endpoint->host)) {
    return 0;
  }
  const auto listener = known_as({.id = {}, .hosts = {endpoint->host}, .ports = {endpoint->port}});
  done_.replaced += listener.value_or(0) != 0 ? 1 : 0;
  return listener.value_or(0);
}

// "master", offset, replicas; "slave", host, port of the master ...; "sentinel", names.
bool Rewriter::take_role() {
  const auto list = cursor_.next();
  if (!list || !list->is_list() || list->values == 0) {
    return list && list->is_null;
  }
  const auto role = cursor_.next();
  if (!role || !role->is_text()) {
    return false;
  }
  std::size_t left = list->values - 1;
  if (role->text == "master" && left == 2) {
    return cursor_.skip() && take_list(&Rewriter::take_role_s_replica);
  }
  if (role->text == "slave" && left >= 2) {
    left -= 2;
    if (!take_endpoint(true)) {
      return false;
    }
  }
  for (; left > 0; --left) {
    if (!cursor_.skip()) {
      return false;
    }
  }
  return true;
}

// Host, port, offset.
bool Rewriter::take_role_s_replica() {
  const auto list = cursor_.next();
  return list && list->is_list() && list->values == 3 && take_endpoint(false) && cursor_.skip();
}

bool Rewriter::take_info() {
  return take_text([this](std::string_view text) {
    NodeAddress master;
    std::string rewritten;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find("\r\n"));
      if (line.starts_with("master_host:")) {
        // The port is in the next line.
        master.hosts[0] = line.substr(line.find(':') + 1);
        std::string_view next = text.substr(std::min(line.size() + 2, text.size()));
        next = next.substr(0, next.find("\r\n"));
        const bool is_port = next.starts_with("master_port:");
        master.ports[0] =
            is_port ? text::number_of<std::uint16_t>(next.substr(next.find(':') + 1)).value_or(0)
                    : 0;
      }
      rewritten += with_info_line_rewritten(line, master);
      text.remove_prefix(line.size());
      const std::size_t end = std::min<std::size_t>(2, text.size());
      rewritten += text.substr(0, end);
      text.remove_prefix(end);
    }
    return rewritten;
  });
}

std::string Rewriter::with_info_line_rewritten(std::string_view line, const NodeAddress& master) {
  if (line.starts_with("master_host:") || line.starts_with("master_port:")) {
    return with_master_rewritten(line, master);
  }
  if (is_numbered(line, "slave")) {
    return with_replica_rewritten(line);
  }
  return is_numbered(line, "master") ? with_named_master_rewritten(line) : std::string(line);
}

// "master_host:127.0.0.1" and "master_port:6379".
std::string Rewriter::with_master_rewritten(std::string_view line, const NodeAddress& master) {
  const bool is_host = line.starts_with("master_host:");
  const auto listener = is_host ? listener_of(master, true) : known_as(master);
  const std::uint16_t port = listener.value_or(0) != 0 ? *listener : client_.master;
  Edited edited(line);
  if (listener && port != 0 && !is_open(master.hosts[0])) {
    const std::string_view value = line.substr(line.find(':') + 1);
    edited.replace(value, value, is_host ? std::string(client_.host) : std::to_string(port));
  }
  return std::move(edited).whole();
}

// "slave0:ip=127.0.0.1,port=6380,state=online ..."
std::string Rewriter::with_replica_rewritten(std::string_view line) {
  Edited edited(line);
  std::string_view rest = line.substr(line.find(':') + 1);
  std::string_view host = text::take_word(rest, ',');
  std::string_view port = text::take_word(rest, ',');
  if (text::take_word(host, '=') != "ip" || text::take_word(port, '=') != "port" || is_open(host)) {
    return std::string(line);
  }
  const std::uint16_t number = text::number_of<std::uint16_t>(port).value_or(0);
  if (const auto listener = listener_of({.id = {}, .hosts = {host}, .ports = {number}})) {
    edited.replace(host, port, std::string(client_.host) + ",port=" + std::to_string(*listener));
  }
  return std::move(edited).whole();
}

// Of a Sentinel "master0:name=shop,status=ok,address=127.0.0.1:6379,slaves=2 ...".
std::string Rewriter::with_named_master_rewritten(std::string_view line) {
  Edited edited(line);
  std::string_view rest = line.substr(line.find(':') + 1);
  std::string_view address;
  while (!rest.empty() && address.empty()) {
    std::string_view value = text::take_word(rest, ',');
    address = text::take_word(value, '=') == "address" ? value : std::string_view{};
  }
  const auto endpoint = endpoint_in(address);
  const auto listener =
      endpoint && !is_open(endpoint->host)
          ? listener_of({.id = {}, .hosts = {endpoint->host}, .ports = {endpoint->port}}, true)
          : std::nullopt;
  if (listener) {
    edited.replace(address, address, std::string(client_.host) + ':' + std::to_string(*listener));
  }
  return std::move(edited).whole();
}

}  // namespace cuckooguard::cluster
