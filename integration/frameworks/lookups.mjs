// lookups.py for node: the same look-ups, and the same lines. Here DATABASE is the Unix socket of a MariaDB with the database `shop`.
//
//   node PROGRAM FOLDER_OF_NODE_MODULES PORT DATABASE EXISTING ABSENT [LATER]
import { createRequire } from 'node:module';

const PATIENCE = 30_000; // ms; for a busy machine
const [, , modules, port, socketPath, existing, absent, ...later] = process.argv;

export const library = createRequire(`${modules}/package.json`);
export const redisUrl = `redis://127.0.0.1:${port}`;

// What the applications read their users from.
export class Users {
  queries = 0;

  constructor() {
    this.connection = library('mysql2/promise').createPool({ socketPath, user: 'root', database: 'shop' });
  }

  async name(id) {
    this.queries += 1;
    // A transaction is in the log, and so in the filter, a moment before others see its rows. A plain read in that moment
    // finds nothing, which the cache would keep; one that locks waits for the commit.
    const [rows] = await this.connection.query('SELECT name FROM user WHERE id = ? LOCK IN SHARE MODE', [id]);
    return rows.length > 0 ? rows[0].name : null;
  }
}

async function step(name, ids, users, nameOfUser) {
  const before = users.queries;
  let found = 0;
  for (const id of ids) {
    const text = await nameOfUser(id);
    if (text !== null && text !== `user ${id}`) {
      throw new Error(`user ${id} came back as ${text}`);
    }
    found += text === null ? 0 : 1;
  }
  console.log(`step=${name} lookups=${ids.length} found=${found} database_queries=${users.queries - before}`);
}

export async function run(users, nameOfUser) {
  await step('first', existing.split(','), users, nameOfUser);
  await step('again', existing.split(','), users, nameOfUser);
  await step('absent', [...absent.split(','), ...later], users, nameOfUser);
  for (const id of later) {
    const before = users.queries;
    const deadline = Date.now() + PATIENCE;
    while ((await nameOfUser(id)) === null) {
      if (Date.now() > deadline) {
        throw new Error(`user ${id} has not come (${users.queries - before} database queries)`);
      }
    }
    console.log(`step=later lookups=1 found=1 database_queries=${users.queries - before}`);
  }
  await users.connection.end();
}
