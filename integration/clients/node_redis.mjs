// What applications do with node-redis, in its default settings, through the guard or straight. PROTOCOL is 2 or 3.
//
//   node node_redis.mjs FOLDER_OF_NODE_MODULES PROTOCOL PORT ABSENT_REPLY
//
// Prints one line of JSON, as python_redis.py does.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [, , modules, protocol, port, absentReply] = process.argv;
const { createClient, createClientPool, RESP_TYPES } = createRequire(`${modules}/package.json`)('redis');

const counts = { checks: 0, absent_asked: 0, absent_answered: 0 };
let nextAbsent = 3_000_000;
const absentKey = () => `user:${nextAbsent++}`;

function check(actual, expected) {
  assert.deepEqual(actual, expected);
  counts.checks += 1;
}

function countAbsent(...replies) {
  for (const reply of replies) {
    counts.absent_asked += 1;
    if (reply !== null) {
      check(reply.toString(), absentReply);
      counts.absent_answered += 1;
    }
  }
}

const options = (RESP, more = {}) => ({ url: `redis://127.0.0.1:${port}`, RESP, ...more });

async function open(RESP, more) {
  const client = createClient(options(RESP, more));
  client.on('error', (error) => { throw error; });
  return client.connect();
}

async function dataTypes(r) {
  check(await r.set('user:1', 'Ann'), 'OK');
  check(await r.get('user:1'), 'Ann');
  check(await r.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get('user:1'), Buffer.from('Ann'));
  check(await r.hSet('user:2', { name: 'Bob', age: '7' }), 2);
  check({ ...(await r.hGetAll('user:2')) }, { name: 'Bob', age: '7' });
  check(await r.rPush('user:3', ['a', 'b']), 2);
  check(await r.zAdd('user:4', [{ score: 1, value: 'one' }, { score: 2.5, value: 'two' }]), 2);
  check(await r.zRangeWithScores('user:4', 0, -1),
    [{ value: 'one', score: 1 }, { value: 'two', score: 2.5 }]);
  check(await r.zScore('user:4', 'two'), 2.5);
  check(await r.exists(['user:1', 'user:2', absentKey()]), 2);
  await assert.rejects(r.incr('user:1'), /ERR value is not an integer/);
  const [first, second, third] = await r.mGet([absentKey(), 'user:1', absentKey()]);
  countAbsent(first, third);
  check(second, 'Ann');
  for (let i = 0; i < 10; i += 1) {
    countAbsent(await r.get(absentKey()));
  }
  // All in one write of the client's own.
  countAbsent(...(await Promise.all(Array.from({ length: 200 }, () => r.get(absentKey())))));
  const key = absentKey();
  countAbsent(await r.get(key));
  await r.set(key, 'mine');
  check(await r.get(key), 'mine');
}

async function transactions(r, RESP) {
  check(await r.multi().set('counter', 1).incr('counter').get(absentKey()).exec(), ['OK', 2, null]);
  countAbsent(await r.get(absentKey()));
  countAbsent(...(await r.multi().get(absentKey()).get(absentKey()).execAsPipeline()));
  await r.watch('counter');
  check(await r.get(absentKey()), null);
  const other = await open(RESP);
  await other.set('counter', 10);
  await assert.rejects(r.multi().set('counter', 11).exec(), (error) => error.constructor.name === 'WatchError');
  countAbsent(await r.get(absentKey()));
  check(await r.get('counter'), '10');
  other.destroy();
}

async function publishAndSubscribe(r) {
  const subscriber = await r.duplicate().connect();
  const waiting = [];
  const heard = () => new Promise((resolve) => { waiting.push(resolve); });
  await subscriber.subscribe('news', (message) => waiting.shift()(message));
  await subscriber.pSubscribe('s*', (message, channel) => waiting.shift()(channel));
  for (let i = 0; i < 20; i += 1) {
    const message = heard();
    await r.publish('news', String(i));
    check(await message, String(i));
  }
  const channel = heard();
  await r.publish('sport', 'x');
  check(await channel, 'sport');
  await subscriber.unsubscribe('news');
  await subscriber.pUnsubscribe('s*');
  check(String(await subscriber.set('after', 'subscribing')), 'OK');
  await subscriber.close();
}

async function blocking(r) {
  const waiting = await r.duplicate().connect();
  const popped = waiting.blPop('jobs', 30);
  while (!(await r.info('clients')).includes('blocked_clients:1'));
  countAbsent(await r.get(absentKey()));
  await r.rPush('jobs', 'job');
  check({ ...(await popped) }, { key: 'jobs', element: 'job' });
  check(await waiting.blPop('jobs', 0.01), null);
  await waiting.close();
}

async function scansAndScripts(r) {
  await r.flushAll();
  await r.mSet(Array.from({ length: 500 }, (_, i) => [`user:${i + 1}`, String(i)]));
  const keys = new Set();
  for await (const some of r.scanIterator({ MATCH: 'user:*', COUNT: 50 })) {
    some.forEach((key) => keys.add(key));
  }
  check(keys.size, 500);
  const script = "redis.call('set', KEYS[1], ARGV[1]); return redis.call('get', KEYS[1])";
  const key = absentKey();
  check(await r.eval(script, { keys: [key], arguments: ['by script'] }), 'by script');
  check(await r.get(key), 'by script');
  check(await r.evalSha(await r.scriptLoad(script), { keys: [key], arguments: ['again'] }), 'again');
}

async function pools(RESP) {
  const pool = await createClientPool(options(RESP), { minimum: 2, maximum: 5 }).connect();
  countAbsent(...(await Promise.all(Array.from({ length: 100 }, () => pool.get(absentKey())))));
  await pool.set('user:1', 'pooled');
  check(await pool.get('user:1'), 'pooled');
  await pool.close();
}

async function connections(r, RESP) {
  const otherDb = await open(RESP, { database: 1, name: 'in_db_1' });
  check(await otherDb.clientGetName(), 'in_db_1');
  check(await otherDb.get(absentKey()), null);
  await otherDb.close();
  const monitor = await r.duplicate().connect();
  let seen;
  const line = new Promise((resolve) => { seen = resolve; });
  await monitor.monitor((reply) => { if (reply.includes('"seen"')) { seen(reply); } });
  await r.set('seen', 'x');
  assert.match(String(await line), /"SET" "seen" "x"/);
  monitor.destroy();
}

// CLIENT TRACKING: another's write is announced, and the next read is Redis's.
async function clientSideCache(r) {
  const caching = await open(3, { clientSideCache: { ttl: 0, maxEntries: 0 } });
  const key = absentKey();
  check(await caching.get(key), null);
  await r.set(key, 'written');
  while ((await caching.get(key)) === null) {
    await new Promise(setImmediate); // an answer from the cache leaves no room for the push
  }
  check(await caching.get(key), 'written');
  await caching.close();
}

const RESP = Number(protocol);
const r = await open(RESP);
await r.flushAll();
for (const part of [dataTypes, transactions, publishAndSubscribe, blocking, scansAndScripts]) {
  await part(r, RESP);
}
await pools(RESP);
await connections(r, RESP);
if (RESP === 3) {
  await clientSideCache(r);
}
await r.close();
console.log(JSON.stringify(counts));
