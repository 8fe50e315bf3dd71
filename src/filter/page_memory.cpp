#include "filter/page_memory.h"

#include <new>

#include <sys/mman.h>

namespace cuckooguard::filter {
namespace {

constexpr std::size_t kSmallPage = 4096;
constexpr std::size_t kHugePage = 2UL * 1024 * 1024;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::byte* map_pages(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return static_cast<std::byte*>(memory);
}

std::size_t whole_pages(std::size_t bytes) {
  return round_up(bytes, bytes < kHugePage ? kSmallPage : kHugePage);
}

// Maps one huge page more than asked for and gives back what sticks out of the aligned part.
std::byte* map_huge_pages(std::size_t bytes) {
  std::byte* const start = map_pages(bytes + kHugePage);
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const std::size_t before = round_up(address, kHugePage) - address;
  if (before != 0) {
    ::munmap(start, before);
  }
  if (before != kHugePage) {
    ::munmap(start + before + bytes, kHugePage - before);
  }
  ::madvise(start + before, bytes, MADV_HUGEPAGE);
  return start + before;
}

}  // namespace

PageMemory::PageMemory(std::uint64_t words)
    : bytes_(whole_pages(words * sizeof(std::uint64_t))),
      words_(reinterpret_cast<std::uint64_t*>(bytes_ < kHugePage ? map_pages(bytes_)
                                                                 : map_huge_pages(bytes_))) {}

PageMemory::~PageMemory() {
  ::munmap(words_, bytes_);
}

}  // namespace cuckooguard::filter
