#include "filled/operation.h"

#include <bit>

namespace cuckooguard::filled {
namespace {

bool is_possible(const Shape& shape, std::uint8_t kind) {
  return kind <= static_cast<std::uint8_t>(Kind::set) &&
         (!shape.exact || kind == static_cast<std::uint8_t>(Kind::cuckoo)) && shape.capacity != 0 &&
         shape.capacity <= kItemsMax && shape.false_positive_rate > 0 &&
         shape.false_positive_rate < 1 && shape.expansion <= kExpansionMax;
}

}  // namespace

void put(std::string& out, const Shape& shape) {
  put(out, static_cast<std::uint8_t>(shape.kind));
  put(out, shape.capacity);
  put(out, std::bit_cast<std::uint64_t>(shape.false_positive_rate));
  put(out, static_cast<std::uint8_t>((shape.scales ? 1U : 0U) | (shape.exact ? 2U : 0U)));
  put(out, shape.expansion);
  put(out, shape.bucket_size);
  put(out, shape.iterations_max);
}

std::optional<Shape> take_shape(text::LittleEndianCursor& from) {
  Shape shape;
  const auto kind = from.take<std::uint8_t>();
  shape.capacity = from.take<std::uint64_t>();
  shape.false_positive_rate = std::bit_cast<double>(from.take<std::uint64_t>());
  const auto flags = from.take<std::uint8_t>();
  shape.scales = (flags & 1U) != 0;
  shape.exact = (flags & 2U) != 0;
  shape.expansion = from.take<std::uint32_t>();
  shape.bucket_size = from.take<std::uint32_t>();
  shape.iterations_max = from.take<std::uint32_t>();
  if (!from.ok() || flags > 3 || !is_possible(shape, kind)) {
    return std::nullopt;
  }
  shape.kind = static_cast<Kind>(kind);
  return shape;
}

void put(std::string& out, const Operation& operation) {
  put(out, static_cast<std::uint8_t>(operation.kind));
  text::put_text(out, operation.filter);
  // One byte for both: no dump is loaded into a filter that is there. Guards before there were tags
  // read over it.
  put(out,
      operation.kind == Operation::Kind::load ? static_cast<std::uint8_t>(operation.must_be_tagged)
                                              : static_cast<std::uint8_t>(operation.missing));
  put(out, operation.shape);
  put(out, static_cast<std::uint32_t>(operation.hashes.size()));
  for (const std::uint64_t hash : operation.hashes) {
    put(out, hash);
  }
  put(out, operation.until);
  put(out, operation.piece);
  put(out, operation.incarnation);
  text::put_text(out, operation.blob);
  put(out, operation.filters_max);
  put(out, operation.bytes_max);
}

std::optional<Operation> take_operation(text::LittleEndianCursor& from) {
  Operation operation;
  const auto kind = from.take<std::uint8_t>();
  operation.filter = from.take_text();
  const auto missing = from.take<std::uint8_t>();
  const auto shape = take_shape(from);
  for (auto left = from.take<std::uint32_t>(); left > 0 && from.ok(); --left) {
    operation.hashes.push_back(from.take<std::uint64_t>());
  }
  operation.until = from.take<std::uint64_t>();
  operation.piece = from.take<std::uint64_t>();
  operation.incarnation = from.take<std::uint64_t>();
  operation.blob = from.take_text();
  operation.filters_max = from.take<std::uint64_t>();
  operation.bytes_max = from.take<std::uint64_t>();
  if (!from.ok() || !shape || kind > static_cast<std::uint8_t>(Operation::Kind::load) ||
      missing > static_cast<std::uint8_t>(Operation::Missing::is_made)) {
    return std::nullopt;
  }
  operation.kind = static_cast<Operation::Kind>(kind);
  if (operation.kind == Operation::Kind::load) {
    operation.must_be_tagged = missing != 0;
  } else {
    operation.missing = static_cast<Operation::Missing>(missing);
  }
  operation.shape = *shape;
  return operation;
}

}  // namespace cuckooguard::filled
