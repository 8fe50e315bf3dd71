// Writes that are read again while the cluster changes, until SIGTERM, by ioredis.
//
//   node ioredis_cluster_writes.mjs FOLDER_OF_NODE_MODULES PORT ABSENT_REPLY FIRST_ID PROGRESS
//
// What it does and prints: see python_cluster_writes.py.
import { createWriteStream } from 'node:fs';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';

const [, , modules, port, absentReply, first, progressFile] = process.argv;
const { Cluster } = createRequire(`${modules}/package.json`)('ioredis');

const firstId = Number(first);
const keys = Array.from({ length: 100 }, (_, i) => `user:${firstId + i}`);
const counts = { operations: 0, wrong: 0, lost: 0, errors: {}, absent_asked: 0, absent_answered: 0 };
const acknowledged = new Map(keys.map((key) => [key, 0]));  // versions; 0: never written
const tried = new Map(acknowledged);
let askedToEnd = false;
process.on('SIGTERM', () => { askedToEnd = true; });

const r = new Cluster([{ host: '127.0.0.1', port: Number(port) }], {
  redisOptions: { maxRetriesPerRequest: 1 },
  slotsRefreshTimeout: 30_000,  // for a busy machine
});
r.on('error', () => {});  // of the library's own asking; what fails is counted where it was asked for
// Of commands that the library sends by itself and does not wait for, as it does when a connection closes right after it was opened.
process.on('unhandledRejection', (error) => countError(`own ${error.message}`));

function countError(name) {
  counts.errors[name] = (counts.errors[name] ?? 0) + 1;
}

async function write(key) {
  const version = tried.get(key) + 1;
  tried.set(key, version);
  counts.wrong += (await r.set(key, `${key} ${version}`)) === 'OK' ? 0 : 1;
  acknowledged.set(key, version);
}

async function read(key) {
  const found = await r.get(key);
  const [whose, number] = found === null ? [key, '0'] : found.split(' ');
  const version = whose === key && /^\d+$/.test(number ?? '') ? Number(number) : -1;
  if (version < 0 || version > tried.get(key)) {
    counts.wrong += 1;
  } else if (version < acknowledged.get(key)) {
    counts.lost += 1;
    acknowledged.set(key, version);
  }
}

async function writeAbsent(key) {
  await r.set(key, key);
  counts.wrong += [key, null].includes(await r.get(key)) ? 0 : 1;
  await r.del(key);
}

async function readAbsent() {
  counts.absent_asked += 1;
  counts.absent_answered += (await r.get(`user:${1_000_000 + dice(100_000)}`)) === absentReply ? 1 : 0;
}

async function inPipeline() {
  const key = `{user}:${firstId}`;
  const replies = await r.pipeline().set(key, 1).get(key).exec();
  const failed = replies.find(([error]) => error !== null);
  if (failed) {
    throw failed[0];
  }
  counts.wrong += replies[1][1] === '1' ? 0 : 1;
}

async function attempt(operation, ...its) {
  try {
    await operation(...its);
    counts.operations += 1;
    return true;
  } catch (error) {
    countError(error.name);
    await pause(20);
    return false;
  }
}

let state = firstId;
function dice(sides) {  // a linear congruential generator will do
  state = (state * 1664525 + 1013904223) % 4294967296;
  return Math.floor((state / 4294967296) * sides);
}

const progress = createWriteStream(progressFile);
while (!askedToEnd) {
  const done = [
    await attempt(write, keys[dice(keys.length)]),
    await attempt(read, keys[dice(keys.length)]),
    await attempt(readAbsent),
    await attempt(writeAbsent, `user:${2_000_000 + firstId + dice(100)}`),
    await attempt(inPipeline),
  ];
  if (done.every(Boolean)) {
    progress.write('.\n');
  }
}
for (const key of keys) {
  const end = Date.now() + 30_000;
  while (!(await attempt(read, key)) && Date.now() < end);
}
counts.ports = r.nodes().map((node) => node.options.port).sort();
console.log(JSON.stringify(counts));
process.exit(0);
