#include "upstream/tls_relay.h"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace cuckooguard::upstream {

TlsRelay::Opened TlsRelay::open(const config::Upstream& settings,
                                std::shared_ptr<const io::TlsCredentials> credentials) {
  std::unique_ptr<TlsRelay> relay(new TlsRelay(settings, std::move(credentials)));
  std::future<std::string> outcome = relay->outcome_.get_future();
  relay->worker_.loop().post([made = relay.get()] {
    Connection::Owner& owner = *made;
    made->redis_ = std::make_unique<Connection>(made->worker_.loop(), made->settings_, owner);
  });
  relay->worker_.start();
  if (std::string trouble = outcome.get(); !trouble.empty()) {
    return std::unexpected(std::move(trouble));
  }
  return relay;
}

TlsRelay::TlsRelay(const config::Upstream& settings,
                   std::shared_ptr<const io::TlsCredentials> credentials)
    : settings_(settings), worker_({}), to_local_(worker_.loop().chunks()) {
  credentials_.set(std::move(credentials));
  worker_.loop().encrypt_connects(credentials_,
                                  [this](const std::string& why) { trouble_ = "TLS: " + why; });
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) < 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  socket_ = ends[0];
  local_ = worker_.loop().adopt(ends[1]);
  local_->bind(*this);
}

TlsRelay::~TlsRelay() {
  worker_.stop_and_join();
  if (redis_) {
    redis_->close();  // with a farewell
  }
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

int TlsRelay::take_socket() {
  return std::exchange(socket_, -1);
}

void TlsRelay::on_upstream_up() {
  was_up_ = true;
  local_->watch(io::Interest::read);
  outcome_.set_value({});
}

void TlsRelay::on_upstream_bytes(std::string_view bytes) {
  to_local_.append(bytes);
  flush();
}

void TlsRelay::on_upstream_lost() {
  if (!was_up_) {
    outcome_.set_value(trouble_.empty() ? "no TLS connection to " + settings_.address.text()
                                        : trouble_);
  }
  end();
}

void TlsRelay::on_ready(io::Readiness readiness) {
  if (readiness.writable) {
    flush();
  }
  if (!readiness.readable || !local_->is_open()) {
    return;
  }
  const std::span<char> buffer = worker_.loop().read_buffer();
  const io::Transfer transfer = local_->read(buffer);
  if (transfer.status == io::Status::ok) {
    redis_->send({buffer.data(), transfer.bytes});
  } else if (transfer.status != io::Status::would_block) {
    end();
  }
}

void TlsRelay::flush() {
  std::array<std::string_view, io::Transport::kPiecesMax> pieces;
  while (!to_local_.is_empty()) {
    const io::Transfer transfer = local_->write(to_local_.front(pieces));
    if (transfer.status == io::Status::would_block) {
      break;
    }
    if (transfer.status != io::Status::ok) {
      end();
      return;
    }
    to_local_.consume(transfer.bytes);
  }
  local_->watch(to_local_.is_empty() ? io::Interest::read : io::Interest::both);
  redis_->set_reading(to_local_.size() < kQueuedMost);
}

void TlsRelay::end() {
  to_local_.clear();
  local_->close();
  redis_->close();
}

}  // namespace cuckooguard::upstream
