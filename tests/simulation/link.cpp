#include "simulation/link.h"

#include <algorithm>

namespace cuckooguard::simulation {

Link::Link(SimLoop& on) : loop(on), is_unix(on.weather().rough && on.random().one_in(2)) {
  const Weather& weather = on.weather();
  heard_at = on.now();
  to_product.capacity = on.random().between(weather.capacity_min, weather.capacity_max);
  to_world.capacity = on.random().between(weather.capacity_min, weather.capacity_max);
}

std::chrono::nanoseconds Link::latency() const {
  const auto most = std::chrono::nanoseconds(loop.weather().latency_max).count();
  const std::chrono::nanoseconds drawn{loop.random().below(static_cast<std::uint64_t>(most) + 1)};
  return std::max<std::chrono::nanoseconds>(still_until - loop.now(), drawn);
}

std::size_t Link::piece_of(std::size_t bytes) const {
  if (!loop.weather().rough || bytes == 0) {
    return bytes;
  }
  switch (loop.random().below(8)) {
    case 0:
      return 1;
    case 1:
      return loop.random().between(1, std::min<std::size_t>(bytes, 16));
    case 2:
    case 3:
      return loop.random().between(1, bytes);
    default:
      return bytes;
  }
}

void Link::move_to_product() {
  if (!to_product_is_due_ && !is_dead && to_product.is_moving()) {
    to_product_is_due_ = true;
    loop.at(latency(), [self = shared_from_this()] { self->deliver_to_product(); });
  }
}

void Link::move_to_world() {
  if (!to_world_is_due_ && !is_dead && to_world.is_moving()) {
    to_world_is_due_ = true;
    loop.at(latency(), [self = shared_from_this()] { self->deliver_to_world(); });
  }
}

void Link::deliver_to_product() {
  to_product_is_due_ = false;
  if (is_dead) {
    return;
  }
  to_product.deliver(piece_of(to_product.in_flight()));
  if (product == nullptr) {
    to_product.lose_arrived();
  } else {
    product->touch();
  }
  move_to_product();
}

void Link::deliver_to_world() {
  to_world_is_due_ = false;
  if (is_dead) {
    return;
  }
  to_world.deliver(piece_of(to_world.in_flight()));
  heard_at = loop.now();
  if (world == nullptr || world->closed_) {
    if (to_world.unread() > 0) {
      reset();  // nobody reads that any more
      return;
    }
  } else {
    world->arrived();
  }
  move_to_world();
}

void Link::reset() {
  if (is_dead) {
    return;
  }
  is_dead = true;
  to_product.lose_in_flight();
  to_world.lose_in_flight();
  if (loop.weather().rough && loop.random().one_in(2)) {
    to_product.lose_arrived();
  }
  if (product != nullptr) {
    product->touch();
  }
  if (world != nullptr) {
    loop.at({}, [self = shared_from_this()] {
      if (self->world != nullptr) {
        self->world->arrived();
      }
    });
  }
}

}  // namespace cuckooguard::simulation
