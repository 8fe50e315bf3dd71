// What ioredis does as a client of Sentinel, through the guard.
//
//   node ioredis_sentinel.mjs FOLDER_OF_NODE_MODULES PORT ABSENT_REPLY FILE
//
// Works until the file is there. Prints one line of JSON, as python_sentinel.py does.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';

const [, , modules, port, absentReply, end] = process.argv;
const { Redis } = createRequire(`${modules}/package.json`)('ioredis');

const sentinels = [{ host: '127.0.0.1', port: Number(port) }];
const open = (options) => new Redis({ sentinels, name: 'shop', maxRetriesPerRequest: null, failoverDetector: true, ...options });
const counts = { operations: 0, since_failure: 0, failures: 0, wrong: 0, not_replicated: 0, absent_asked: 0, absent_answered: 0 };
const told = new Set();
const heard = [];

const master = open({ role: 'master' });
const replica = open({ role: 'slave' });
const sentinel = new Redis(sentinels[0]);
const subscriber = new Redis(sentinels[0]);
for (const client of [master, replica, sentinel, subscriber]) {
  client.on('error', () => {});
}
for (const client of [master, replica]) {
  client.on('connect', () => told.add(`${client.stream.remoteAddress}:${client.stream.remotePort}`));
}
subscriber.on('pmessage', (pattern, channel, text) => heard.push(`${channel} ${text}`));
await subscriber.psubscribe('*');

for (let number = 1; !existsSync(end); number += 1) {
  const key = `user:${(number % 1000) + 1}`;
  try {
    const [host, at] = await sentinel.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'shop');
    told.add(`${host}:${at}`);
    await master.set(key, String(number));
    const read = await master.get(key);
    if (read === null || Number(read) % 1000 === number % 1000) {
      // What the key was before: another node's, who has not been told of the write.
      counts.not_replicated += read === String(number) ? 0 : 1;
    } else {
      counts.wrong += 1;
    }
    counts.absent_asked += 1;
    counts.absent_answered += (await master.get(`user:${1_000_000 + number}`)) === absentReply ? 1 : 0;
    await replica.get(key);
    counts.operations += 1;
    counts.since_failure += 1;
    if (counts.operations === 10) {
      console.log('begun');
    }
  } catch {
    counts.failures += 1; // a failover
    counts.since_failure = 0;
    await pause(20);
  }
}
console.log(JSON.stringify({ ...counts, told: [...told].sort(), heard }));
process.exit(0);
