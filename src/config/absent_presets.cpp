#include "config/absent_presets.h"

#include <algorithm>

namespace cuckooguard::config {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using Kind = TimeField::Kind;

constexpr AbsentForm kEmpty[] = {{""sv}};
constexpr AbsentForm kStar[] = {{"*"sv}};
constexpr AbsentForm kSponge[] = {{"*"sv}, {""sv}};

// Java's serialization of the enum-like NullValue.INSTANCE, which has no fields.
constexpr AbsentForm kSpring[] = {
    {"\xac\xed\x00\x05sr\x00+org.springframework.cache.support.NullValue"
     "\x00\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00xp"sv}};

// The header of JetCache's Java encoder, and a serialized CacheValueHolder: accessTime, expireTime,
// and value = null. Now >= expireTime is a miss; a local cache in front of Redis keeps it until
// then, hence the few seconds.
constexpr AbsentForm kJetcache[] = {
    {"J\x95:\x80\xac\xed\x00\x05sr\x00#com.alicp.jetcache.CacheValueHolder"
     "\x91W\x92\x86\xbd\x9fTm\x02\x00\x03J\x00\naccessTimeJ\x00\nexpireTimeL\x00\x05valuet\x00\x12"
     "Ljava/lang/Object;xp\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0p"sv,
     {{{Kind::binary, 115, 8, 0ms}, {Kind::binary, 123, 8, 5000ms}}}}};

// None in each protocol of pickle, any of which any Python from 3.8 on reads: Django writes the
// newest (5), django-redis Python's default (4); 0 and 1 have no header.
constexpr AbsentForm kDjango[] = {
    {"\x80\x05N."sv}, {"\x80\x04N."sv}, {"\x80\x03N."sv}, {"\x80\x02N."sv}, {"N."sv}};

// The second: igbinary's version and its null, which is written where that extension is loaded.
constexpr AbsentForm kSymfony[] = {{"N;"sv}, {"\x00\x00\x00\x02\x00"sv}};
constexpr AbsentForm kHyperf[] = {{"N;"sv}};

// With a TTL it is written with the time when it expires; Keyv 4 writes null for none.
constexpr AbsentForm kKeyv[] = {
    {R"({"value":null})"sv},
    {R"({"value":null,"expires":0})"sv, {{{Kind::decimal, 24, 1, 0ms}}}},
    {R"({"value":null,"expires":null})"sv}};

// Signature, type 1 (Marshal), expires_at as a double (-1: never), version of -1 bytes (none), and
// Marshal's nil.
constexpr AbsentForm kRails[] = {
    {"\x00\x11\x01\x00\x00\x00\x00\x00\x00\xf0\xbf\xff\xff\xff\xff\x04\b0"sv},
    {"\x00\x11\x01\x00\x00\x00\x00\x00\x00\xf0\xbf\xff\xff\xff\xff\x04\b0"sv,
     {{{Kind::binary, 3, 8, 0ms}}}}};

// A value created longer ago than the region's expiration_time is a miss, hence the time.
constexpr AbsentForm kDogpile[] = {
    {"{\"ct\": 0000000000.000, \"v\": 2}|\x80\x04N."sv, {{{Kind::decimal, 7, 14, 0ms}}}},
    {"{\"ct\": 0000000000.000, \"v\": 2}|\x80\x05N."sv, {{{Kind::decimal, 7, 14, 0ms}}}}};

constexpr AbsentForm kGormCache[] = {{"recordNotFound"sv}};

constexpr AbsentPreset kPresets[] = {
    {.name = "empty",
     .framework = "your own code, if it caches \"\" for \"no such row\"; go-redis/cache (Once)",
     .constant = "go-redis/cache 6cf87880, cache.go:370 (len(b) == 0)",
     .keys = "as in your code, such as cache:shop:{id}",
     .caution =
         "code that treats an empty string as a miss still asks the database; go-zero does so",
     .forms = kEmpty},
    {.name = "go-zero",
     .framework = "go-zero: stores/cache, sqlc, monc",
     .constant = "go-zero 11f21098, core/stores/cache/cachenode.go:21 (notFoundPlaceholder)",
     .keys = "cache:{db}:{table}:{column}:{value}, as goctl writes them; without a db "
             "cache:{table}:...",
     .caution = "go-zero deletes values that it cannot parse and asks the database, so no other "
                "preset works. Its Insert deletes the row's keys before the transaction commits: "
                "set overlay.ttl longer than your transactions take",
     .forms = kStar},
    {.name = "jetcache-go",
     .framework = "jetcache-go (mgtv-tech)",
     .constant = "jetcache-go 1dc55c63, cache.go (notFoundPlaceholder)",
     .keys = "the key as given; {key}:{id} by MGet",
     .caution = "the application gets the error that it set with WithErrNotFound",
     .forms = kStar},
    {.name = "sponge",
     .framework = "sponge (go-dev-frame, zhufuyi)",
     .constant = "sponge 09058691, pkg/cache/cache.go:18 (NotFoundPlaceholder), redis.go:78",
     .keys = "{prefix}:{key}, such as user:{id}",
     .caution = "Get returns ErrPlaceholder; MultiGet of older versions treats it as a miss",
     .forms = kSponge},
    {.name = "spring",
     .framework = "Spring Cache with RedisCacheManager, any value serializer",
     .constant = "spring-data-redis a1bd5674, RedisCache.java:60 (BINARY_NULL_VALUE)",
     .keys = "{cacheName}::{key}",
     .caution = "not with spring.cache.redis.cache-null-values=false (disableCachingNullValues): "
                "the bytes would reach "
                "the value serializer, which fails",
     .forms = kSpring},
    {.name = "jetcache",
     .framework = "JetCache (Alibaba), valueEncoder java, kryo, kryo5 or fastjson2",
     .constant =
         "jetcache 55edc37b, SerialPolicy.java:31 (0x4A953A80), CacheValueHolder (serialVersionUID "
         "-7973743507831565203)",
     .keys = "{name}{key}, such as user.{id}; before 2.7 prefixed with the area",
     .caution = "expires 5 s after it is sent, also in a local cache, by the clock of this "
                "machine; does not work with a custom valueDecoder",
     .forms = kJetcache},
    {.name = "django",
     .framework = "Django's RedisCache, django-redis; with pickle, which is their default",
     .constant = "django, core/cache/backends/redis.py (RedisSerializer), base.py (get_or_set); "
                 "django-redis 755dfb24, "
                 "serializers/pickle.py",
     .keys = "{KEY_PREFIX}:{VERSION}:{key}, such as :1:user:{id}",
     .caution = "get_or_set does not ask the database; code that tests `cache.get(key) is None` "
                "still does. With a JSON serializer use \"bytes:null\"",
     .forms = kDjango},
    {.name = "symfony",
     .framework = "Symfony Cache, RedisAdapter, with or without igbinary",
     .constant = "symfony/cache 20021102, Marshaller/DefaultMarshaller.php (unmarshall)",
     .keys = "{namespace}:{item}; the namespace of a framework pool is a hash: find it with "
             "redis-cli --scan",
     .caution =
         "get() returns null without calling its callback; a tag-aware pool treats it as a miss",
     .forms = kSymfony},
    {.name = "hyperf",
     .framework = "Hyperf, #[Cacheable] with PhpSerializerPacker",
     .constant = "hyperf/cache, Driver/RedisDriver.php (fetch), Aspect/CacheableAspect.php",
     .keys = "c:{prefix}:{value}; c: is the prefix in config/autoload/cache.php",
     .caution =
         "another packer serializes \"no such row\" differently: write its bytes as \"hex:...\"",
     .forms = kHyperf},
    {.name = "keyv",
     .framework = "Keyv 5, cache-manager 7, the cache module of Nest",
     .constant = "cache-manager 7.2.9, index.ts (wrap: only undefined is a miss); keyv 5.6.0",
     .keys = "createKeyv(url): {key}, with a namespace {namespace}::{key}; new Keyv({ store }): "
             "{namespace}::{namespace}:{key}, such as keyv::keyv:{key}",
     .caution = "wrap() does not ask the database; get() returns null, after which your own code "
                "may ask it",
     .forms = kKeyv},
    {.name = "rails",
     .framework = "Rails 7.1 or later, RedisCacheStore, with cache_format_version 7.1",
     .constant = "activesupport 7.1, lib/active_support/cache/coder.rb",
     .keys = "{namespace}:{name}; without a namespace {name}",
     .caution = "fetch returns nil without calling its block; does not work with "
                "cache_format_version 7.0 or 6.1, which use other bytes",
     .forms = kRails},
    {.name = "dogpile",
     .framework = "dogpile.cache (Python), Redis backend, with pickle, which is its default",
     .constant = "dogpile.cache 1.1.8, region.py:49 (value_version = 2)",
     .keys = "the key as given; {module}:{function}|{arguments} by cache_on_arguments",
     .caution = "carries the time at which it was sent, so that no expiration_time has passed; "
                "does not work with a key_mangler that hashes keys, nor before dogpile.cache 1.1",
     .forms = kDogpile},
    {.name = "gorm-cache",
     .framework = "gorm-cache (asjdf), its search cache",
     .constant = "gorm-cache 9609ddc3, cache/query.go:241",
     .keys = "gormcache:{instance}:s:{table}:{sql}:{values}",
     .caution = "the instance is random unless you set it, and each template covers a single SQL "
                "statement",
     .forms = kGormCache},
};

}  // namespace

std::span<const AbsentPreset> absent_presets() noexcept {
  return kPresets;
}

const AbsentPreset* find_absent_preset(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kPresets, name, &AbsentPreset::name);
  return found == std::ranges::end(kPresets) ? nullptr : found;
}

std::string_view frameworks_without_preset() noexcept {
  return "No preset is possible for Laravel (Cache::remember treats null as a miss), rockscache "
         "and Redisson (scripts over\n"
         "hashes), FusionCache and .NET's IDistributedCache (hashes), J2Cache and layering-cache "
         "(objects of their own\n"
         "serializers). With these, use absent_reply: nil and one line of code that asks "
         "GUARD.CHECK before the database.\n";
}

}  // namespace cuckooguard::config
