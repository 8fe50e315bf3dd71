// What applications do with ioredis, through the guard or straight.
//
//   node ioredis.mjs FOLDER_OF_NODE_MODULES PORT ABSENT_REPLY
//
// Prints one line of JSON, as python_redis.py does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';

const [, , modules, port, absentReply] = process.argv;
const { Redis } = createRequire(`${modules}/package.json`)('ioredis');

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

const open = (options = {}) => new Redis({ port: Number(port), maxRetriesPerRequest: 1, ...options });

async function dataTypes(r) {
  check(await r.set('user:1', 'Ann'), 'OK');
  check(await r.get('user:1'), 'Ann');
  check(await r.getBuffer('user:1'), Buffer.from('Ann'));
  check(await r.hset('user:2', { name: 'Bob', age: 7 }), 2);
  check(await r.hgetall('user:2'), { name: 'Bob', age: '7' });
  check(await r.hgetall('nobody'), {});
  check(await r.rpush('user:3', 'a', 'b'), 2);
  check(await r.lrange('user:3', 0, -1), ['a', 'b']);
  check(await r.zadd('user:4', 1, 'one', 2.5, 'two'), 2);
  check(await r.zrange('user:4', 0, -1, 'WITHSCORES'), ['one', '1', 'two', '2.5']);
  check(await r.exists('user:1', 'user:2', absentKey()), 2);
  await assert.rejects(r.incr('user:1'), /ERR value is not an integer/);
  const [first, second, third] = await r.mget(absentKey(), 'user:1', absentKey());
  countAbsent(first, third);
  check(second, 'Ann');
  for (let i = 0; i < 10; i += 1) {
    countAbsent(await r.get(absentKey()));
    countAbsent(await r.getBuffer(absentKey()));
  }
  const key = absentKey();
  countAbsent(await r.get(key));
  await r.set(key, 'mine');
  check(await r.get(key), 'mine');
}

async function pipelines(r) {
  const pipeline = r.pipeline();
  for (let i = 0; i < 100; i += 1) {
    pipeline.set(`user:${i + 1}`, i).get(`user:${i + 1}`).get(absentKey());
  }
  const replies = await pipeline.exec();
  replies.forEach(([error, reply], i) => {
    check(error, null);
    if (i % 3 === 1) {
      check(reply, String(Math.floor(i / 3)));
    } else if (i % 3 === 2) {
      countAbsent(reply);
    }
  });
  const auto = open({ enableAutoPipelining: true });
  countAbsent(...(await Promise.all(Array.from({ length: 200 }, () => auto.get(absentKey())))));
  auto.disconnect();
}

async function transactions(r) {
  check(await r.multi().set('counter', 1).incr('counter').get(absentKey()).exec(),
    [[null, 'OK'], [null, 2], [null, null]]);
  countAbsent(await r.get(absentKey()));
  await r.watch('counter');
  check(await r.get(absentKey()), null);
  const other = open();
  await other.set('counter', 10);
  check(await r.multi().set('counter', 11).exec(), null);
  countAbsent(await r.get(absentKey()));
  await assert.rejects(r.multi().set('counter').exec(), /EXECABORT/);
  check(await r.get('counter'), '10');
  other.disconnect();
}

async function publishAndSubscribe(r) {
  const subscriber = open();
  check(await subscriber.subscribe('news', 'weather'), 2);
  check(await subscriber.psubscribe('s*'), 3);
  for (let i = 0; i < 20; i += 1) {
    const [[channel, message]] = await Promise.all([once(subscriber, 'message'), r.publish('news', i)]);
    check([channel, message], ['news', String(i)]);
  }
  const [[, channel]] = await Promise.all([once(subscriber, 'pmessage'), r.publish('sport', 'x')]);
  check(channel, 'sport');
  await subscriber.unsubscribe('news', 'weather');
  await subscriber.punsubscribe('s*');
  check(await subscriber.set('after', 'subscribing'), 'OK');
  await subscriber.quit();
}

async function blocking(r) {
  const waiting = open();
  const popped = waiting.blpop('jobs', 30);
  while (!(await r.info('clients')).includes('blocked_clients:1'));
  countAbsent(await r.get(absentKey()));
  await r.rpush('jobs', 'job');
  check(await popped, ['jobs', 'job']);
  check(await waiting.blpop('jobs', 0.01), null);
  waiting.disconnect();
}

async function scansAndScripts(r) {
  await r.flushall();
  await r.mset(Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`user:${i + 1}`, i])));
  const keys = new Set();
  for await (const some of r.scanStream({ match: 'user:*', count: 50 })) {
    some.forEach((key) => keys.add(key));
  }
  check(keys.size, 500);
  r.defineCommand('put', {
    numberOfKeys: 1,
    lua: "redis.call('set', KEYS[1], ARGV[1]); return redis.call('get', KEYS[1])",
  });
  const key = absentKey();
  check(await r.put(key, 'by script'), 'by script');
  check(await r.get(key), 'by script');
  await r.script('FLUSH');
  check(await r.put(key, 'again'), 'again');
}

async function connections(r) {
  const otherDb = open({ db: 1, connectionName: 'in_db_1' });
  check(await otherDb.client('GETNAME'), 'in_db_1');
  check(await otherDb.get(absentKey()), null);
  otherDb.disconnect();
  const monitor = await r.monitor();
  const line = once(monitor, 'monitor');
  await r.set('seen', 'x');
  check((await line)[1].map((word) => word.toLowerCase()), ['set', 'seen', 'x']);
  monitor.disconnect();
  const strings = open({ stringNumbers: true, showFriendlyErrorStack: true });
  check(await strings.incr('counting'), '1');
  check(await strings.quit(), 'OK');
}

const r = open();
await r.flushall();
for (const part of [dataTypes, pipelines, transactions, publishAndSubscribe, blocking, scansAndScripts, connections]) {
  await part(r);
}
await r.quit();
console.log(JSON.stringify(counts));
