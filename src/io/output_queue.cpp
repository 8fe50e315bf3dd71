#include "io/output_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cuckooguard::io {
namespace {

// One by one: a chain of unique_ptr destructors would recurse once per chunk.
void free_chain(std::unique_ptr<Chunk> chunk) {
  while (chunk) {
    chunk = std::move(chunk->next);
  }
}

}  // namespace

ChunkPool::~ChunkPool() {
  free_chain(std::move(free_));
}

std::unique_ptr<Chunk> ChunkPool::take() {
  ++taken_;
  if (!free_) {
    return std::make_unique_for_overwrite<Chunk>();  // make_unique would zero 16 KiB
  }
  std::unique_ptr<Chunk> chunk = std::move(free_);
  free_ = std::move(chunk->next);
  --pooled_;
  chunk->begin = 0;
  chunk->end = 0;
  return chunk;
}

void ChunkPool::give_back(std::unique_ptr<Chunk> chunk) {
  --taken_;
  if (pooled_ == kPooledChunksMax) {
    return;
  }
  chunk->next = std::move(free_);
  free_ = std::move(chunk);
  ++pooled_;
}

OutputQueue::~OutputQueue() {
  clear();
}

void OutputQueue::append(std::string_view bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    if (tail_ == nullptr || tail_->end == Chunk::kBytes) {
      std::unique_ptr<Chunk> chunk = pool_->take();
      Chunk* const added = chunk.get();
      (tail_ == nullptr ? head_ : tail_->next) = std::move(chunk);
      tail_ = added;
    }
    const std::size_t room = Chunk::kBytes - tail_->end;
    const std::size_t taken = std::min(room, bytes.size());
    std::memcpy(tail_->bytes.data() + tail_->end, bytes.data(), taken);
    tail_->end += static_cast<std::uint32_t>(taken);
    bytes.remove_prefix(taken);
  }
}

std::span<const std::string_view> OutputQueue::front(std::span<std::string_view> pieces) const {
  std::size_t count = 0;
  for (const Chunk* chunk = head_.get(); chunk != nullptr && count < pieces.size();
       chunk = chunk->next.get()) {
    pieces[count] = {chunk->bytes.data() + chunk->begin, chunk->end - chunk->begin};
    ++count;
  }
  return pieces.first(count);
}

void OutputQueue::consume(std::size_t bytes) {
  size_ -= bytes;
  while (bytes > 0) {
    const std::size_t waiting = head_->end - head_->begin;
    if (bytes < waiting) {
      head_->begin += static_cast<std::uint32_t>(bytes);
      return;
    }
    bytes -= waiting;
    std::unique_ptr<Chunk> written = std::move(head_);
    head_ = std::move(written->next);
    if (!head_) {
      tail_ = nullptr;
    }
    pool_->give_back(std::move(written));
  }
}

void OutputQueue::clear() {
  consume(size_);
}

}  // namespace cuckooguard::io
