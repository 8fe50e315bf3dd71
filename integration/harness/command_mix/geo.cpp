#include "harness/command_mix/forms.h"

namespace cuckooguard::harness {
namespace {

constexpr std::string_view kGeo[] = {
    "GEOADD {k} 13.361389 38.115556 {f}",
    "GEOADD {k} 15.087269 37.502669 {f} 2.349 48.853 {f}",
    "GEOADD {k} NX 13.4 52.5 {f}",
    "GEOADD {k} 500 500 {f}",
    "GEOPOS {r} {f} {f}",
    "GEOPOS {r}",
    "GEOHASH {r} {f} none",
    "GEODIST {r} {f} {f} km",
    "GEOSEARCH {r} FROMLONLAT 15 37 BYRADIUS 2000 km ASC",
    "GEOSEARCH {r} FROMMEMBER {f} BYBOX 4000 4000 km DESC WITHCOORD WITHDIST WITHHASH",
    "GEOSEARCHSTORE {k} {r} FROMLONLAT 15 37 BYRADIUS 2000 km",
    "GEORADIUS {r} 15 37 2000 km ASC COUNT 2",
    "GEORADIUS_RO {r} 15 37 2000 km ASC",
    "GEORADIUSBYMEMBER_RO {r} {f} 2000 km ASC",
    "GEORADIUS {r} 15 37 900 km STORE {k}",
    "ZCARD {r}",
};

}  // namespace

std::span<const std::string_view> geo_forms() {
  return kGeo;
}

}  // namespace cuckooguard::harness
