// A cache-aside application on node: all clients of the herd (herd.h) share one connection to Redis, in which their commands are in flight
// together.
//
//   node herd.mjs ioredis|node-redis FOLDER_OF_NODE_MODULES PORT HERD CLIENTS
//
// PORT is Redis's, or the guard's.
import { createRequire } from 'node:module';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';

const TTL = 300; // seconds
const [, , kind, modules, port, herdPort, clients] = process.argv;
const library = createRequire(`${modules}/package.json`);

async function connect() {
  if (kind === 'ioredis') {
    const redis = new (library('ioredis'))({ port: Number(port) });
    return { get: (key) => redis.get(key), set: (key, value) => redis.set(key, value, 'EX', TTL), end: () => redis.disconnect() };
  }
  const redis = library('redis').createClient({ url: `redis://127.0.0.1:${port}` });
  await redis.connect();
  return { get: (key) => redis.get(key), set: (key, value) => redis.set(key, value, { EX: TTL }), end: () => redis.destroy() };
}

async function client(cache) {
  const herd = createConnection({ port: Number(herdPort), host: '127.0.0.1', noDelay: true });
  const lines = createInterface({ input: herd })[Symbol.asyncIterator]();
  const ask = async (line) => {
    herd.write(`${line}\n`);
    return (await lines.next()).value;
  };
  for (let order = await ask('ready'); order !== 'end'; ) {
    const id = order.slice('read '.length);
    const begin = process.hrtime.bigint();
    let value = await cache.get(`user:${id}`);
    if (value === null) {
      value = await ask(`load ${id}`);
      await cache.set(`user:${id}`, value);
    }
    order = await ask(`took ${(process.hrtime.bigint() - begin) / 1000n} ${value}`);
  }
  herd.end();
}

const cache = await connect();
await Promise.all(Array.from({ length: Number(clients) }, () => client(cache)));
cache.end();
