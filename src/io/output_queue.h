// Bytes waiting to be written to one peer: a list of pooled chunks, so that an idle connection owns
// nothing and a burst's memory goes back to the pool as it is written.
//
//   head -> [....written|waiting] -> [waiting] -> [waiting|free....] <- tail
//
// Threads: a pool and its queues belong to one worker.
// Limits: the pool keeps at most kPooledChunksMax free chunks (1 MiB) and returns the rest to the
//   allocator, also those that nobody has needed between two calls of free_unneeded(). A queue has
//   no limit of its own: its user looks at size() first (proxy/session.h says what happens at each
//   limit).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace cuckooguard::io {

struct Chunk {
  static constexpr std::size_t kBytes = 16 * 1024 - 16;
  std::unique_ptr<Chunk> next;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::array<char, kBytes> bytes;  // left uninitialised on purpose: written before read
};

class ChunkPool {
 public:
  static constexpr std::size_t kPooledChunksMax = 64;

  ChunkPool() = default;
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;
  ~ChunkPool();

  std::unique_ptr<Chunk> take();
  void give_back(std::unique_ptr<Chunk> chunk);
  std::size_t pooled() const { return pooled_; }
  // Those that were free ever since the last call. Whether there were any.
  bool free_unneeded();
  // Of chunks that are taken, and of HeldBytes.
  std::size_t bytes_in_use() const { return taken_ * sizeof(Chunk) + held_; }

 private:
  friend class HeldBytes;

  std::unique_ptr<Chunk> free_;
  std::size_t pooled_ = 0;
  std::size_t pooled_min_ = 0;  // since the last free_unneeded()
  std::size_t taken_ = 0;
  std::size_t held_ = 0;
};

// What is kept for a peer outside of chunks, and counts like them. It outlives nobody's pool.
class HeldBytes {
 public:
  explicit HeldBytes(ChunkPool& pool) : pool_(&pool) {}
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  ~HeldBytes() { set(0); }

  void set(std::size_t bytes) {
    pool_->held_ += bytes - bytes_;
    bytes_ = bytes;
  }

 private:
  ChunkPool* pool_;
  std::size_t bytes_ = 0;
};

class OutputQueue {
 public:
  explicit OutputQueue(ChunkPool& pool) : pool_(&pool) {}
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;
  ~OutputQueue();

  void append(std::string_view bytes);

  // Pieces for one write: chunks are large, and most queues have one.
  static constexpr std::size_t kPiecesAtOnce = 16;
  // The front of the queue as pieces to write, at most as many as `pieces` has room for. Valid
  // until the next change.
  std::span<const std::string_view> front(std::span<std::string_view> pieces) const;

  // The first `bytes` of the queue are written.
  void consume(std::size_t bytes);

  void clear();

  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }
  ChunkPool& pool() const { return *pool_; }

 private:
  ChunkPool* pool_;
  std::unique_ptr<Chunk> head_;
  Chunk* tail_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cuckooguard::io
