// Loaded into a guard under test (LD_PRELOAD): the name "server.moving" is 127.0.0.1 with the port
// that stands in the file CUCKOOGUARD_MOVING_NAME at that moment. All other names are looked up as
// ever.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <dlfcn.h>
#include <netdb.h>

extern "C" int getaddrinfo(const char* node,
                           const char* service,
                           const addrinfo* hints,
                           addrinfo** result) {
  using Lookup = int(const char*, const char*, const addrinfo*, addrinfo**);
  static auto* const kLookUp = reinterpret_cast<Lookup*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the guard sets no variables
  const char* const file = std::getenv("CUCKOOGUARD_MOVING_NAME");
  if (node == nullptr || file == nullptr || std::strcmp(node, "server.moving") != 0) {
    return kLookUp(node, service, hints, result);
  }
  std::string port;
  std::ifstream(file) >> port;
  return kLookUp("127.0.0.1", port.c_str(), hints, result);
}
