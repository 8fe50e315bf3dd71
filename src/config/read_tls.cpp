#include "config/read_tls.h"

namespace cuckooguard::config {
namespace {

void check_key(const Reading& reading, const Section& section, const UpstreamTls& tls) {
  if (tls.cert.empty() != tls.key.empty()) {
    reading.report.add(section.place_of(tls.cert.empty() ? "key" : "cert"),
                       "cert and key are of use only together");
  }
}

}  // namespace

std::optional<ListenTls> read_listen_tls(const Reading& reading, const Section& listen) {
  const Entry* const entry = listen.find("tls");
  if (entry == nullptr) {
    return std::nullopt;
  }
  const Section section(reading, *entry, schema::kListenTls);
  ListenTls tls;
  section.require("cert");
  section.read("cert", tls.cert, parse_text);
  section.require("key");
  section.read("key", tls.key, parse_text);
  section.read_text("client_ca", tls.client_ca);
  return tls;
}

void read_upstream_tls(const Reading& reading, const Section& upstream, Upstream& out) {
  const Entry* const entry = upstream.find("tls");
  if (entry == nullptr) {
    return;
  }
  UpstreamTls tls;
  if (entry->value.kind == TreeNode::Kind::scalar) {
    bool is_on = false;
    upstream.read("tls", is_on, parse_bool);
    if (!is_on) {
      return;
    }
  } else {
    const Section section(reading, *entry, schema::kUpstreamTls);
    section.read_text("ca", tls.ca);
    section.read_text("cert", tls.cert);
    section.read_text("key", tls.key);
    section.read_text("server_name", tls.server_name);
    section.read("verify", tls.verify, parse_bool);
    check_key(reading, section, tls);
  }
  if (tls.verify && tls.server_name.empty() && out.address.is_unix()) {
    reading.report.add(upstream.place_of("tls"),
                       "tls: a Unix socket has no host that a certificate could be for: give the "
                       "server_name that it is for, or verify: false");
  }
  out.tls = std::move(tls);
}

}  // namespace cuckooguard::config
