// A shop that caches with cache-manager (which Nest's cache module is made of), its store a Keyv in Redis.
import { Users, library, redisUrl, run } from '../lookups.mjs';

const { createCache } = library('cache-manager');
const { default: Keyv } = library('keyv');
const { default: KeyvRedis } = library('@keyv/redis');

const users = new Users();
const cache = createCache({ stores: [new Keyv({ store: new KeyvRedis(redisUrl) })], ttl: 300_000 });

await run(users, (id) => cache.wrap(`user:${id}`, () => users.name(id)));
await cache.disconnect();
