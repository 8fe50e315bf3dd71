// What applications do with ioredis and a cluster, through the guard or straight.
//
//   node ioredis_cluster.mjs FOLDER_OF_NODE_MODULES PORT ABSENT_REPLY
//
// Prints one line of JSON, and stays until SIGTERM, as python_cluster.py does.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';

const [, , modules, port, absentReply] = process.argv;
const { Cluster } = createRequire(`${modules}/package.json`)('ioredis');

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
      check(reply, absentReply);
      counts.absent_answered += 1;
    }
  }
}

const patience = { slotsRefreshTimeout: 30_000 };  // for a busy machine
const open = (options = {}) => new Cluster([{ host: '127.0.0.1', port: Number(port) }], { ...patience, ...options });
process.on('SIGTERM', () => process.exit(0));

async function dataTypes(r) {
  for (let i = 1; i <= 100; i += 1) {
    check(await r.set(`user:${i}`, i), 'OK');
    check(await r.get(`user:${i}`), String(i));
    countAbsent(await r.get(absentKey()));
  }
  check(await r.hset('hash', { name: 'Bob', age: 7 }), 2);
  check(await r.hgetall('hash'), { name: 'Bob', age: '7' });
  check(await r.rpush('list', 'a', 'b'), 2);
  check(await r.lrange('list', 0, -1), ['a', 'b']);
  check(await r.incr('counter'), 1);
  await assert.rejects(r.incr('list'), /WRONGTYPE/);
  check(await r.mset({ '{user}:1': 'one', '{user}:2': 'two' }), 'OK');
  const [first, second, third] = await r.mget('{user}:3000001', '{user}:1', '{user}:3000002');
  countAbsent(first, third);
  check(second, 'one');
  await assert.rejects(r.mget('user:1', 'user:2', absentKey()), /CROSSSLOT/);
  for (let i = 0; i < 20; i += 1) {
    const key = absentKey();
    countAbsent(await r.get(key));
    check(await r.set(key, 'mine'), 'OK');
    check(await r.get(key), 'mine');
  }
}

async function pipelines(r) {
  const pipeline = r.pipeline();  // ioredis has all its keys on one node
  for (let i = 0; i < 50; i += 1) {
    pipeline.set('{user}:7', i).get('{user}:7').get(`{user}:${3_500_000 + i}`);
  }
  (await pipeline.exec()).forEach(([error, reply], i) => {
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
  check(await r.multi().set('{user}:8', 1).incr('{user}:8').get('{user}:3000200').exec(),
    [[null, 'OK'], [null, 2], [null, null]]);
}

async function publishAndSubscribe(r) {
  const subscriber = open();
  check(await subscriber.subscribe('news'), 1);
  for (let i = 0; i < 20; i += 1) {
    const [[channel, message]] = await Promise.all([once(subscriber, 'message'), r.publish('news', i)]);
    check([channel, message], ['news', String(i)]);
  }
  subscriber.disconnect();
}

// Of each master a channel: only its own node has them.
async function shardedPublishAndSubscribe(r) {
  const subscriber = open({ shardedSubscribers: true });
  await once(subscriber, 'ready');
  const channels = Array.from({ length: 12 }, (_, i) => `shard${i}`);
  for (const channel of channels) {
    await subscriber.ssubscribe(channel);
  }
  for (const channel of channels) {
    const [[from, message]] = await Promise.all([once(subscriber, 'smessage'), r.spublish(channel, 'x')]);
    check([from, message], [channel, 'x']);
  }
  subscriber.disconnect();
}

async function replicas() {
  const r = open({ scaleReads: 'slave' });
  for (let i = 0; i < 50; i += 1) {
    countAbsent(await r.get(absentKey()));
  }
  r.disconnect();
}

const r = open();
await Promise.all((await once(r, 'ready'), r.nodes('master')).map((node) => node.flushall()));
for (const part of [dataTypes, pipelines, publishAndSubscribe, shardedPublishAndSubscribe, replicas]) {
  await part(r);
}
counts.ports = r.nodes().map((node) => node.options.port).sort();
console.log(JSON.stringify(counts));
