#include "config/read_tls.h"

#include <utility>

namespace cuckooguard::config {
namespace {

void check_key(const Reading& reading, const Section& section, const UpstreamTls& tls) {
  if (tls.cert.empty() != tls.key.empty()) {
    reading.report.add(section.place_of(tls.cert.empty() ? "key" : "cert"),
                       "cert and key are of use only together");
  }
}

// `tls:` with settings of its own; else it is on or off, and off by default.
bool is_section(const Section& section) {
  const Entry* const entry = section.find("tls");
  return entry != nullptr && entry->value.kind != TreeNode::Kind::scalar;
}

bool read_switch(const Section& section) {
  bool is_on = false;
  section.read("tls", is_on, parse_bool);
  return is_on;
}

}  // namespace

std::optional<ListenTls> read_listen_tls(const Reading& reading, const Section& listen) {
  if (is_section(listen)) {
    const Section section = listen.inside("tls", schema::kListenTls);
    ListenTls tls;
    section.require("cert");
    section.read("cert", tls.cert, parse_text);
    section.require("key");
    section.read("key", tls.key, parse_text);
    section.read_text("client_ca", tls.client_ca);
    return tls;
  }
  if (read_switch(listen)) {
    reading.report.add(listen.place_of("tls"),
                       "tls: a server needs a certificate: tls: { cert: FILE, key: FILE }");
  }
  return std::nullopt;
}

void read_upstream_tls(const Reading& reading, const Section& upstream, Upstream& out) {
  UpstreamTls tls;
  if (is_section(upstream)) {
    const Section section = upstream.inside("tls", schema::kUpstreamTls);
    section.read_text("ca", tls.ca);
    section.read_text("cert", tls.cert);
    section.read_text("key", tls.key);
    section.read_text("server_name", tls.server_name);
    section.read("verify", tls.verify, parse_bool);
    check_key(reading, section, tls);
  } else if (!read_switch(upstream)) {
    return;
  }
  if (tls.verify && tls.server_name.empty() && out.address.is_unix()) {
    reading.report.add(upstream.place_of("tls"),
                       "tls: a Unix socket has no host that a certificate could be for: give the "
                       "server_name that it is for, or verify: false");
  }
  out.tls = std::move(tls);
}

}  // namespace cuckooguard::config
