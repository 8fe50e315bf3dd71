// To be preloaded: a database server whose files, locks and threads now and then take long, as on a
// busy machine. What lies between two steps of a commit, and is over in microseconds, is seen so.
//
// CUCKOOGUARD_SLOW: of how many calls one waits, and for up to how many milliseconds: "60 400". Of
// servers with a log alone, not while they are installed.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

struct Pace {
  unsigned one_of = 0;  // 0: nothing waits
  unsigned milliseconds_max = 1;
};

Pace pace_of_this_process() {
  std::ifstream arguments("/proc/self/cmdline");
  const std::string all{std::istreambuf_iterator<char>(arguments), {}};
  const bool is_server = all.find("--log-bin") != std::string::npos ||
                         all.find("wal_level=logical") != std::string::npos;
  Pace pace;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before main()
  const char* const wanted = std::getenv("CUCKOOGUARD_SLOW");
  if (is_server && all.find("--bootstrap") == std::string::npos && wanted != nullptr) {
    // NOLINTNEXTLINE(cert-err34-c): what cannot be read leaves all as fast as it is
    (void)std::sscanf(wanted, "%u %u", &pace.one_of, &pace.milliseconds_max);
  }
  return pace;
}

const Pace kPace = pace_of_this_process();

void perhaps_wait(unsigned less_often = 1) {
  if (kPace.one_of == 0) {
    return;
  }
  thread_local std::minstd_rand random(static_cast<unsigned>(pthread_self()) ^
                                       static_cast<unsigned>(getpid()));
  if (random() % (kPace.one_of * less_often) == 0) {
    ::poll(nullptr, 0, static_cast<int>(random() % (kPace.milliseconds_max + 1)));
  }
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int fsync(int file) {
  static auto* const kReal = next<int(int)>("fsync");
  perhaps_wait();
  return kReal(file);
}

int fdatasync(int file) {
  static auto* const kReal = next<int(int)>("fdatasync");
  perhaps_wait();
  return kReal(file);
}

ssize_t pwrite64(int file, const void* bytes, std::size_t size, off64_t at) {
  static auto* const kReal = next<ssize_t(int, const void*, std::size_t, off64_t)>("pwrite64");
  perhaps_wait();
  return kReal(file, bytes, size, at);
}

ssize_t write(int file, const void* bytes, std::size_t size) {
  static auto* const kReal = next<ssize_t(int, const void*, std::size_t)>("write");
  perhaps_wait();
  return kReal(file, bytes, size);
}

int unlink(const char* path) noexcept {
  static auto* const kReal = next<int(const char*)>("unlink");
  perhaps_wait();
  return kReal(path);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const kReal = next<int(const char*, const char*)>("rename");
  perhaps_wait();
  return kReal(from, to);
}

// A thread that is stopped between two steps.
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  constexpr unsigned kLessOften = 100;
  static auto* const kReal = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  perhaps_wait(kLessOften);
  return kReal(mutex);
}

}  // extern "C"
