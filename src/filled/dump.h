// A filter as bytes: what BF.SCANDUMP and CF.SCANDUMP give here, and what is kept of it between
// runs and for other guards.
//
//   u64 bytes of all, "CGFILTER", shape, u64 items, u64 erased, u32 layers,
//   for each u64 bytes and a filter file (filter/filter_file.h); u64 checksum of all before it
//
// Threads: any; dump_of() on the filter's writer's. Errors: a sentence. Limits: none of its own.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "filled/filled_filter.h"

namespace cuckooguard::filled {

std::string dump_of(const FilledFilter& filter);
// How long a dump is that begins like this; nothing: it is none.
std::optional<std::uint64_t> bytes_of_dump(std::string_view front);
std::expected<std::unique_ptr<FilledFilter>, std::string> read_dump(
    std::string_view dump, const filter::HashSecret& secret);

}  // namespace cuckooguard::filled
