// What `./dev bench proxy` measures: a cell is one kind of load, with so many clients and such a
// pipeline.
//
// Threads: any; no I/O.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cuckooguard::bench {

// mget: ten keys at once, of which every second one is no row's. hit_4k, hit_64k: of large values,
// with kPromisedClients only.
enum class Load : std::uint8_t { hit, absent, half, set, mget, hit_4k, hit_64k };
inline constexpr std::array<std::string_view, 7> kLoadNames{
    "hit", "absent", "half", "set", "mget", "hit-4k", "hit-64k"};

struct Cell {
  Load load = Load::hit;
  unsigned clients = 0;
  unsigned pipeline = 0;
  auto operator<=>(const Cell&) const = default;
};

// The cells that the README's promises are about have so many clients.
inline constexpr unsigned kPromisedClients = 50;
// Those that are measured in every round, even by --quick.
bool is_promised(const Cell& cell);

std::vector<Cell> all_cells();
std::string name(const Cell& cell);  // "hit P=1 c=50"

// Rows have the ids from kFirstRow on: 13 digits, of which redis-benchmark writes all but the first
// at random. They are canonical integers, as a table's ids are. No row's id begins with another
// digit.
inline constexpr std::uint64_t kFirstRow = 1'000'000'000'000;
inline constexpr std::uint64_t kFirstAbsent = 2'000'000'000'000;
inline constexpr std::uint64_t kRows = 100'000;
inline constexpr std::size_t kValueBytes = 64;
// Rows whose values are large: as many of each size.
struct LargeRows {
  std::uint64_t first = 0;
  std::size_t value_bytes = 0;
};
inline constexpr std::uint64_t kLargeRows = 500;
inline constexpr std::array kLarge{LargeRows{4'000'000'000'000, 4096},
                                   LargeRows{5'000'000'000'000, 65'536}};

std::string key(std::uint64_t id);  // user:1000000000042
std::string value(std::size_t bytes = kValueBytes);

// redis-benchmark, with its arguments, for the load of a cell on 127.0.0.1:port. Of `half`, every
// second key is a row's. `is_cluster`: on a node, which tells of the others; keys begin with what
// redis-benchmark chooses for each of them, user:{tag}:.
std::vector<std::string> load_command(const Cell& cell,
                                      std::uint16_t port,
                                      std::uint64_t requests,
                                      bool is_cluster = false);

// How many requests take about so long; a whole number of pipelines for every client.
std::uint64_t requests_for(const Cell& cell, double per_second, double seconds);

}  // namespace cuckooguard::bench
