// pgmq for measure.mjs and worker.mjs, by way of pgmq-delete.mjs and pgmq-archive.mjs.
//
// pgmq is functions in SQL. npm has them in a package for another PostgreSQL, of which this takes the SQL alone, as pgmq's page
// "Installation" does without an extension. There is no worker: a loop reads a batch, and deletes or archives it.
//
// Settings: batches of 1000 over two connections, so that one reads while the other deletes. Notifications, a trigger for each
// row that is inserted, are there for pick-up alone. Without them a loop looks every 10 ms, and enqueueing is faster.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";

const archive = join(dirname(createRequire(import.meta.url).resolve("@electric-sql/pglite-pgmq")), "pgmq.tar.gz");
const extracted = (file) =>
  execFileSync("tar", ["-xzOf", archive, `share/postgresql/extension/${file}`], { encoding: "utf8" });

const connections = 2;
const batch = 1000;
const look_every_ms = 10;
const visibility_s = 60;

async function connected(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

const enqueuing = (client, text, value_of) => ({
  enqueue: (given) => client.query({ name: text, text, values: [value_of(given)] }),
});

// finish: `delete` or `archive`, the function that ends a message.
export function pgmq(finish) {
  const version = () => /default_version = '(.*)'/.exec(extracted("pgmq.control"))[1];

  async function uninstall(client) {
    await client.query("set client_min_messages = warning; drop schema if exists pgmq cascade");
  }

  async function install(client, url, workload) {
    await uninstall(client);
    await client.query(extracted(`pgmq--${version()}.sql`));
    await client.query("select pgmq.create('bench')");
    if (workload === "latency") await client.query("select pgmq.enable_notify_insert('bench', 0)");
  }

  async function bulk_enqueuer(client) {
    const to_texts = (payloads) => payloads.map((payload) => JSON.stringify(payload));
    return { ...enqueuing(client, "select pgmq.send_batch('bench', $1::jsonb[])", to_texts), close: async () => {} };
  }

  async function single_enqueuer(url) {
    const client = await connected(url);
    return { ...enqueuing(client, "select pgmq.send('bench', $1::jsonb)", JSON.stringify), close: () => client.end() };
  }

  // Messages that were deleted are gone; of those that were archived it is known how often each was read.
  async function verify(client, jobs, failures) {
    const left = (await client.query("select count(*)::int as jobs from pgmq.q_bench")).rows[0].jobs;
    if (left !== 0) return `${left} messages are left`;
    if (finish === "delete") return null;
    const { rows } = await client.query("select count(*)::int as there, coalesce(sum(read_ct), 0)::int as reads from pgmq.a_bench");
    const { there, reads } = rows[0];
    if (there === jobs && reads === jobs * (failures + 1)) return null;
    return `of ${jobs} messages ${there} are in the archive, and were read ${reads} times`;
  }

  async function prepare_worker(url, { handle }) {
    const clients = await Promise.all(Array.from({ length: connections }, () => connected(url)));
    let stopping = false;
    let wake = () => {};
    clients[0].on("notification", () => wake());
    await clients[0].query('listen "pgmq.q_bench.INSERT"');

    const rest = () => Promise.race([pause(look_every_ms), new Promise((resolve) => (wake = resolve))]);
    const call = (client, text, values) => client.query({ name: text, text, values });

    async function work(client) {
      while (!stopping) {
        const { rows } = await call(client, "select msg_id, read_ct, message from pgmq.read('bench', $1, $2)", [visibility_s, batch]);
        if (rows.length === 0) {
          await rest();
          continue;
        }
        const done = [];
        const failed = [];
        for (const { msg_id, read_ct, message } of rows) {
          try {
            handle(message, read_ct - 1);
            done.push(msg_id);
          } catch {
            failed.push(msg_id);
          }
        }
        if (failed.length > 0) await call(client, "select from pgmq.set_vt('bench', $1::bigint[], 0)", [failed]);
        if (done.length > 0) await call(client, `select from pgmq.${finish}('bench', $1::bigint[])`, [done]);
      }
    }

    return async (started) => {
      started();
      const loops = Promise.all(clients.map(work));
      return async () => {
        stopping = true;
        await loops;
        await Promise.all(clients.map((client) => client.end()));
      };
    };
  }

  return {
    settings:
      `read, handle and ${finish} batches of ${batch} over ${connections} connections, a look every ${look_every_ms} ms, and for ` +
      "pick-up enable_notify_insert without throttling",
    retry_delay: "0 s, by set_vt",
    version,
    install,
    uninstall,
    bulk_enqueuer,
    single_enqueuer,
    vacuum: () => "vacuum (analyze) pgmq.q_bench",
    is_done: "select not exists (select from pgmq.q_bench) as yes",
    count: "select count(*)::int as jobs from pgmq.q_bench",
    verify,
    prepare_worker,
  };
}
