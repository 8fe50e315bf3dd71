#include "io/output_queue.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace cuckooguard::io {
namespace {

std::string contents(const OutputQueue& queue) {
  std::array<std::string_view, 64> pieces;
  std::string all;
  for (const std::string_view piece : queue.front(pieces)) {
    all.append(piece);
  }
  return all;
}

std::string letters(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) {
    text[i] = static_cast<char>('a' + i % 23);
  }
  return text;
}

TEST(OutputQueue, bytes_leave_in_the_order_they_came_at_every_size_around_a_chunk) {
  constexpr std::size_t kChunk = Chunk::kBytes;
  for (const std::size_t size : {std::size_t{1},
                                 kChunk - 1,
                                 kChunk,
                                 kChunk + 1,
                                 2 * kChunk - 1,
                                 2 * kChunk,
                                 2 * kChunk + 1}) {
    ChunkPool pool;
    OutputQueue queue(pool);
    const std::string text = letters(size);
    queue.append(text);
    EXPECT_EQ(queue.size(), size);
    EXPECT_EQ(contents(queue), text) << size;
    queue.append("tail");
    queue.consume(size);
    EXPECT_EQ(contents(queue), "tail") << size;
  }
}

TEST(OutputQueue, any_mix_of_appending_and_consuming_is_a_queue_of_bytes) {
  std::minstd_rand random(4);
  ChunkPool pool;
  OutputQueue queue(pool);
  std::string expected;
  const std::string source = letters(40'000);
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2 == 0 && expected.size() < 300'000) {
      const std::string_view bytes =
          std::string_view(source).substr(random() % 1000, random() % 30'000);
      queue.append(bytes);
      expected.append(bytes);
    } else {
      const std::size_t bytes = random() % (expected.size() + 1);
      queue.consume(bytes);
      expected.erase(0, bytes);
    }
    ASSERT_EQ(queue.size(), expected.size());
    ASSERT_EQ(queue.is_empty(), expected.empty());
    ASSERT_EQ(contents(queue), expected);
  }
}

TEST(OutputQueue, front_shows_no_more_pieces_than_there_is_room_for_and_none_is_empty) {
  ChunkPool pool;
  OutputQueue queue(pool);
  queue.append(letters(5 * Chunk::kBytes));
  queue.consume(Chunk::kBytes);
  std::array<std::string_view, 3> pieces;
  const auto front = queue.front(pieces);
  ASSERT_EQ(front.size(), 3U);
  EXPECT_TRUE(std::ranges::none_of(front, [](std::string_view piece) { return piece.empty(); }));
}

TEST(OutputQueue, an_empty_queue_owns_no_chunk) {
  ChunkPool pool;
  OutputQueue queue(pool);
  queue.append(letters(3 * Chunk::kBytes));
  EXPECT_EQ(pool.pooled(), 0U);
  queue.consume(2 * Chunk::kBytes);
  EXPECT_EQ(pool.pooled(), 2U);  // as they are written, not at the end
  queue.consume(Chunk::kBytes);
  EXPECT_EQ(pool.pooled(), 3U);
}

TEST(OutputQueue, chunks_are_used_again_by_other_queues_and_start_empty) {
  ChunkPool pool;
  OutputQueue first(pool);
  OutputQueue second(pool);
  first.append(letters(Chunk::kBytes));
  first.consume(100);
  first.clear();
  second.append("fresh");
  EXPECT_EQ(pool.pooled(), 0U);
  EXPECT_EQ(contents(second), "fresh");
}

TEST(OutputQueue, what_is_queued_goes_back_to_the_pool_with_the_queue) {
  ChunkPool pool;
  {
    OutputQueue queue(pool);
    queue.append(letters(3 * Chunk::kBytes));
  }
  EXPECT_EQ(pool.pooled(), 3U);
}

TEST(OutputQueue, what_nobody_has_needed_for_a_while_is_freed) {
  ChunkPool pool;
  OutputQueue queue(pool);
  queue.append(letters(5 * Chunk::kBytes));
  queue.clear();
  EXPECT_FALSE(pool.free_unneeded()) << "all were in use a moment ago";
  queue.append(letters(2 * Chunk::kBytes));
  queue.clear();
  EXPECT_TRUE(pool.free_unneeded());
  EXPECT_EQ(pool.pooled(), 2U);
  EXPECT_TRUE(pool.free_unneeded());
  EXPECT_EQ(pool.pooled(), 0U);
  EXPECT_EQ(pool.bytes_in_use(), 0U);
}

TEST(OutputQueue, the_pool_keeps_no_more_than_its_limit_after_a_burst) {
  ChunkPool pool;
  OutputQueue queue(pool);
  queue.append(letters((ChunkPool::kPooledChunksMax + 30) * Chunk::kBytes));
  queue.clear();
  EXPECT_EQ(pool.pooled(), ChunkPool::kPooledChunksMax);
  EXPECT_TRUE(queue.is_empty());
}

}  // namespace
}  // namespace cuckooguard::io
