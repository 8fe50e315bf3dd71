// Creates rows with the database's driver and reads each with GET at once. The tasks of a process share one connection of ioredis, so that
// other reads are in flight before each read. integration/frameworks/creator.h documents arguments and output; the first argument here is
// the folder of node_modules.
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';

const ABSENT = '__ABSENT__'; // the guard's reply for a row that does not exist
const TASKS = 4; // per process; each has its own connection to the database
const PATIENCE = 60_000; // ms; for a busy machine
const [, , modules, port, address, table, processes, rows, when, interval] = process.argv;
const library = createRequire(`${modules}/package.json`);

// A connection: query(sql) returns the id that the database has generated, if any.
async function connectToPostgres() {
  const client = new (library('pg').Client)({ connectionString: address });
  await client.connect();
  return {
    query: async (sql) => (await client.query(sql)).rows[0]?.id,
    insertVisit: 'INSERT INTO visit (name) VALUES (1) RETURNING id',
    end: () => client.end(),
  };
}

async function connectToMysql() {
  const connection = await library('mysql2/promise').createConnection(address);
  return {
    query: async (sql) => (await connection.query(sql))[0].insertId,
    insertVisit: 'INSERT INTO visit (name) VALUES (1)',
    end: () => connection.end(),
  };
}

async function connectToSqlite() {
  const database = new (library('better-sqlite3'))(address, { timeout: PATIENCE });
  return {
    query: async (sql) => database.prepare(sql).run().lastInsertRowid,
    insertVisit: 'INSERT INTO visit (name) VALUES (1)',
    end: async () => database.close(),
  };
}

function connect() {
  if (address.startsWith('postgresql:')) {
    return connectToPostgres();
  }
  return address.startsWith('mysql:') ? connectToMysql() : connectToSqlite();
}

class Creator {
  rows = 0;
  absent = 0;

  constructor(cache) {
    this.cache = cache;
  }

  async insert(connection) {
    if (table === 'visit') {
      return connection.query(connection.insertVisit);
    }
    const id = randomUUID();
    await connection.query(`INSERT INTO letter VALUES ('${id}')`);
    return id;
  }

  async read(id) {
    this.absent += (await this.cache.get(`${table}:${id}`)) === ABSENT ? 1 : 0;
  }

  async work() {
    const connection = await connect();
    while (this.rows < Number(rows)) {
      this.rows += 1;
      if (when === 'inside') {
        await connection.query('BEGIN');
        await this.read(await this.insert(connection));
        await connection.query('COMMIT');
      } else {
        await this.read(await this.insert(connection));
      }
      await pause(Number(interval));
    }
    await connection.end();
  }
}

async function createAndRead() {
  const { Redis } = library('ioredis');
  const cache = new Redis(Number(port));
  const creator = new Creator(cache);
  // Inside transactions one task reads: the rate must stay below what is tolerated.
  await Promise.all(Array.from({ length: when === 'inside' ? 1 : TASKS }, () => creator.work()));
  await cache.quit();
  console.log(`rows=${creator.rows} absent=${creator.absent}`);
}

if (process.env.IS_CHILD) {
  await createAndRead();
} else {
  console.log('ready');
  for (let i = 0; i < Number(processes); i += 1) {
    fork(process.argv[1], process.argv.slice(2), { env: { ...process.env, IS_CHILD: '1' } }).on('exit', (code) => {
      process.exitCode = process.exitCode || code || 0;
    });
  }
}
