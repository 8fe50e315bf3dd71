// A shop that caches with Keyv in Redis, by hand: a key that is not there is undefined, "no such user" is a null that is there.
import { Users, library, redisUrl, run } from '../lookups.mjs';

const { default: Keyv } = library('keyv');
const { default: KeyvRedis } = library('@keyv/redis');

const users = new Users();
const cache = new Keyv({ store: new KeyvRedis(redisUrl), ttl: 300_000 });

async function nameOfUser(id) {
  const cached = await cache.get(`user:${id}`);
  if (cached !== undefined) {
    return cached;
  }
  const name = await users.name(id);
  await cache.set(`user:${id}`, name);
  return name;
}

await run(users, nameOfUser);
await cache.disconnect();
