#include <utility>

#include "config/read_config.h"
#include "config/section_table.h"

namespace cuckooguard::config {
namespace {

constexpr auto kListenTls =
    section<ListenTls>("listen.tls",
                       value("cert", &ListenTls::cert, parse_text).required(),
                       value("key", &ListenTls::key, parse_text).required(),
                       text("client_ca", &ListenTls::client_ca));

constexpr auto kUpstreamTls =
    section<UpstreamTls>("upstream.tls",
                         text("ca", &UpstreamTls::ca),
                         text("cert", &UpstreamTls::cert),
                         text("key", &UpstreamTls::key),
                         text("server_name", &UpstreamTls::server_name),
                         value("verify", &UpstreamTls::verify, parse_bool))
        .checked_by([](const Section& section, UpstreamTls& tls) {
          if (tls.cert.empty() != tls.key.empty()) {
            section.report(section.place_of(tls.cert.empty() ? "key" : "cert"),
                           "cert and key are of use only together");
          }
        });

// What the section has, or the defaults where TLS is only switched on.
template <typename Table, typename Struct>
bool read_tls(const Section& outer, const Table& table, Struct& out) {
  const Entry* const entry = outer.find("tls");
  if (entry != nullptr && entry->value.kind != TreeNode::Kind::scalar) {
    table.read(outer.inside("tls", table.keys()), out);
    return true;
  }
  bool is_on = false;
  outer.read("tls", is_on, parse_bool);
  return is_on;
}

}  // namespace

void read_listen_tls(const Section& section, Listen& out) {
  ListenTls tls;
  if (!read_tls(section, kListenTls, tls)) {
    return;
  }
  if (const Entry* const entry = section.find("tls"); entry->value.kind == TreeNode::Kind::scalar) {
    section.report(entry->value.place,
                   "tls: a server needs a certificate: tls: { cert: FILE, key: FILE }");
    return;
  }
  out.tls = std::move(tls);
}

std::span<const KeyList> listen_tls_sections() {
  static constexpr KeyList kKeys = kListenTls.keys();
  return {&kKeys, 1};
}

void read_upstream_tls(const Section& upstream, Upstream& out) {
  UpstreamTls tls;
  if (!read_tls(upstream, kUpstreamTls, tls)) {
    return;
  }
  if (tls.verify && tls.server_name.empty() && out.address.is_unix()) {
    upstream.report(upstream.place_of("tls"),
                    "tls: a Unix socket has no host that a certificate could be for: give the "
                    "server_name that it is for, or verify: false");
  }
  out.tls = std::move(tls);
}

std::span<const KeyList> upstream_tls_sections() {
  static constexpr KeyList kKeys = kUpstreamTls.keys();
  return {&kKeys, 1};
}

}  // namespace cuckooguard::config
