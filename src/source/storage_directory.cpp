#include "source/storage_directory.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include "filter/filter_file.h"
#include "text/ascii.h"
#include "text/hex.h"
#include "text/try.h"

namespace cuckooguard::source {
namespace {

constexpr std::string_view kFilterEnding = ".filter";
constexpr std::string_view kNodesName = "cluster-nodes";
constexpr std::string_view kFilledName = "filled";
constexpr std::string_view kOverlaysName = "overlays";
constexpr std::string_view kPositionEnding = ".position";
constexpr std::string_view kSnapshotEnding = ".snapshot";
constexpr std::size_t kNameBytesMax = 200;

std::string reason(int error) {
  return std::generic_category().message(error);
}

// What is around it belongs to others: it is not for the guard to be given.
std::string way_to_make(const std::string& path, int error) {
  if (error != EACCES && error != EPERM && error != EROFS) {
    return "";
  }
  const std::string process = filter::ids_of_process();
  const std::size_t colon = process.find(':');
  return ": this process runs as " + process +
         "; create the directory for that user: install -d -m 0700 -o " + process.substr(0, colon) +
         " -g " + process.substr(colon + 1) + " " + path;
}

bool is_plain(char byte) {
  return text::is_alphanumeric(byte) || byte == '_' || byte == '-';
}

// Every name gives another file's name, whatever bytes it has.
void append_name(std::string& to, std::string_view name) {
  for (const char byte : name) {
    if (is_plain(byte)) {
      to += byte;
    } else {
      to += '%';
      text::append_hex(to, static_cast<unsigned char>(byte));
    }
  }
}

std::string cut(std::string name) {
  if (name.size() > kNameBytesMax) {
    const std::string hash = std::to_string(filter::hash_of_definition(name));
    name.resize(kNameBytesMax);
    name += '-' + hash;
  }
  return name;
}

bool is_kept(std::string_view name) {
  return name.ends_with(kFilterEnding) || name.ends_with(kPositionEnding);
}

// SOURCE.NAMESPACE.TABLE.filter.aB3xYz: written, but not in its place when its process ended.
bool is_left_over(std::string_view name) {
  constexpr std::size_t kRandomBytes = 7;  // .XXXXXX
  const std::size_t dot = name.size() - std::min(name.size(), kRandomBytes);
  return name.substr(dot).starts_with('.') &&
         (is_kept(name.substr(0, dot)) || name.substr(0, dot) == kNodesName ||
          name.substr(0, dot) == kFilledName || name.substr(0, dot) == kOverlaysName);
}

}  // namespace

StorageDirectory::StorageDirectory(std::string path,
                                   filter::FileDescriptor lock,
                                   const filter::HashSecret& secret,
                                   const filter::HashSecret& own_secret)
    : path_(std::move(path)), lock_(std::move(lock)), secret_(secret), own_secret_(own_secret) {}

std::expected<StorageDirectory, std::string> StorageDirectory::open(
    const std::string& path, const std::string& secret_file) {
  std::error_code error;
  std::filesystem::create_directory(path, error);
  if (error || !std::filesystem::is_directory(path)) {
    return std::unexpected(path + ": cannot create the directory: " +
                           (error ? error.message() + way_to_make(path, error.value())
                                  : "a file with this name exists"));
  }
  const std::string lock_path = path + "/lock";
  filter::FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.is_open()) {
    const int why = errno;
    return std::unexpected(
        lock_path + ": cannot open the file: " +
        filter::write_error(why, std::filesystem::exists(lock_path, error) ? lock_path : path));
  }
  if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) {
    return std::unexpected(
        errno == EWOULDBLOCK
            ? path + " is in use by another process; give each process its own directory"
            : lock_path + ": cannot lock the file: " + reason(errno));
  }
  const auto own_secret = TRY(filter::read_or_create_secret(path + "/secret"));
  const auto secret =
      secret_file.empty() ? own_secret : TRY(filter::read_secret(secret_file, true));
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (is_left_over(entry.path().filename().string())) {
      std::filesystem::remove(entry.path(), error);
    }
  }
  return StorageDirectory(path, std::move(lock), secret, own_secret);
}

std::string StorageDirectory::filter_path(std::string_view source,
                                          std::string_view ns,
                                          std::string_view table) const {
  std::string name;
  append_name(name, source);
  name += '.';
  append_name(name, ns);
  name += '.';
  append_name(name, table);
  return path_ + '/' + cut(std::move(name)) + std::string(kFilterEnding);
}

std::string StorageDirectory::position_path(std::string_view source) const {
  std::string name;
  append_name(name, source);
  return path_ + '/' + cut(std::move(name)) + std::string(kPositionEnding);
}

std::string StorageDirectory::snapshot_path(std::string_view source, std::string_view name) const {
  std::string file;
  append_name(file, source);
  file += '.';
  append_name(file, name);
  return path_ + '/' + cut(std::move(file)) + std::string(kSnapshotEnding);
}

std::vector<std::string> StorageDirectory::snapshots(std::string_view source) const {
  std::string begins;
  append_name(begins, source);
  begins += '.';
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(std::string_view(begins).substr(0, kNameBytesMax)) &&
        name.ends_with(kSnapshotEnding)) {
      paths.push_back(entry.path().string());
    }
  }
  return paths;
}

std::string StorageDirectory::nodes_path() const {
  return path_ + '/' + std::string(kNodesName);
}

std::string StorageDirectory::filled_path() const {
  return path_ + '/' + std::string(kFilledName);
}

std::string StorageDirectory::overlays_path() const {
  return path_ + '/' + std::string(kOverlaysName);
}

std::expected<void, std::string> StorageDirectory::remove_filters(std::string_view source) const {
  std::string begins;
  append_name(begins, source);
  begins += '.';
  std::error_code error;
  std::filesystem::directory_iterator entry(path_, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begins) && is_kept(name)) {
      std::filesystem::remove(entry->path(), error);
    }
    if (!error) {
      entry.increment(error);
    }
  }
  return error ? std::expected<void, std::string>(
                     std::unexpected(path_ + ": cannot remove old files: " + error.message()))
               : std::expected<void, std::string>();
}

}  // namespace cuckooguard::source
