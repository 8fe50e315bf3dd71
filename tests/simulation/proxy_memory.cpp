#include "simulation/proxy_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

// Before each block: its size, 0 if it does not count.
struct alignas(std::max_align_t) Label {
  std::size_t bytes;
};

}  // namespace

void* operator new(std::size_t bytes) {
  auto* const label = static_cast<Label*>(std::malloc(sizeof(Label) + bytes));
  if (label == nullptr) {
    throw std::bad_alloc();
  }
  auto& memory = cuckooguard::simulation::proxy_memory();
  label->bytes = memory.counting ? bytes : 0;
  memory.live += label->bytes;
  memory.peak = std::max(memory.peak, memory.live);
  return label + 1;
}

// Else a sanitizer's own would be freed by the one below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void operator delete(void* block) noexcept {
  if (block != nullptr) {
    auto* const label = static_cast<Label*>(block) - 1;
    cuckooguard::simulation::proxy_memory().live -= label->bytes;
    std::free(label);
  }
}

void operator delete(void* block, std::size_t) noexcept {
  ::operator delete(block);
}
