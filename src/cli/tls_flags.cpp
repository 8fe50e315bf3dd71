#include "cli/tls_flags.h"

#include <string>

#include <CLI/CLI.hpp>

namespace cuckooguard::cli {

CLI::Option* TlsFlags::add(CLI::App& command) {
  CLI::Option* const flag = command.add_flag("--tls", is_tls, "Use TLS");
  const auto add_file = [&](const char* name, std::string& file, const char* what) {
    return command.add_option(name, file, what)->type_name("FILE")->needs(flag);
  };
  add_file("--cacert", tls.ca, "Whose certificates are trusted; else those of the system's");
  CLI::Option* const cert = add_file("--cert", tls.cert, "A certificate to show");
  CLI::Option* const key = add_file("--key", tls.key, "Its key");
  cert->needs(key);
  key->needs(cert);
  command.add_option("--sni", tls.server_name, "Name the certificate must match, if not the host")
      ->type_name("NAME")
      ->needs(flag);
  command.add_flag("!--insecure", tls.verify, "Do not verify the certificate")->needs(flag);
  return flag;
}

}  // namespace cuckooguard::cli
