#include <array>
#include <new>

#include <openssl/bio.h>

#include "io/tls_transport.h"

namespace cuckooguard::io {
namespace {

Wire& wire_of(BIO* bio) {
  return *static_cast<Wire*>(BIO_get_data(bio));
}

int read_bytes(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  Wire& wire = wire_of(bio);
  const Transfer transfer = wire.transport->read({into, static_cast<std::size_t>(size)});
  switch (transfer.status) {
    case Status::ok:
      return static_cast<int>(transfer.bytes);
    case Status::closed:
      wire.has_ended = true;
      return 0;
    case Status::would_block:
      BIO_set_retry_read(bio);
      return -1;
    case Status::failed:
      break;
  }
  return -1;
}

int write_bytes(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const std::array<std::string_view, 1> pieces{
      std::string_view(bytes, static_cast<std::size_t>(size))};
  const Transfer transfer = wire_of(bio).transport->write(pieces);
  if (transfer.status == Status::ok) {
    return static_cast<int>(transfer.bytes);
  }
  if (transfer.status == Status::would_block) {
    BIO_set_retry_write(bio);
  }
  return -1;
}

long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;  // nothing is kept here
    case BIO_CTRL_EOF:
      return wire_of(bio).has_ended ? 1 : 0;
    default:
      return 0;
  }
}

BIO_METHOD* make_method() {
  BIO_METHOD* const method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cuckooguard transport");
  if (method == nullptr) {
    throw std::bad_alloc();
  }
  BIO_meth_set_read(method, read_bytes);
  BIO_meth_set_write(method, write_bytes);
  BIO_meth_set_ctrl(method, control);
  return method;
}

}  // namespace

bio_st* new_transport_bio(Wire& wire) {
  static const BIO_METHOD* const kMethod = make_method();  // as long as the process
  BIO* const bio = BIO_new(kMethod);
  if (bio == nullptr) {
    throw std::bad_alloc();
  }
  BIO_set_data(bio, &wire);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace cuckooguard::io
