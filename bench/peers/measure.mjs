// node measure.mjs PEER WORKLOAD URL OPTIONS: one round of a workload; prints its figures as a line of JSON.
//
//   PEER      graphile-worker, pg-boss, pgmq-delete or pgmq-archive
//   WORKLOAD  drain, enqueue, latency or retry, as `dogged bench` defines them; or about, which measures nothing
//   OPTIONS   JSON: tasks, workers, batch, seconds, samples
//
// It makes the peer's schema anew, drops it at the end, and checks there that each job ended. Where one did not, it says so
// and exits with 1. It gives up when nothing happens for five minutes.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";

const patience_ms = 300_000;
const here = dirname(fileURLToPath(import.meta.url));
const [peer_name, workload, url, options_json] = process.argv.slice(2);
const peer = await import(`./${peer_name}.mjs`);

class Refused extends Error {}

const now_ns = () => process.hrtime.bigint();
const seconds_between = (begin_ns, end_ns) => Number(end_ns - begin_ns) / 1e9;

async function until(condition, what, every_ms = 5) {
  let last_change = now_ns();
  let last_state;
  for (;;) {
    const { done, state } = await condition();
    if (done) return;
    if (state !== last_state) {
      last_state = state;
      last_change = now_ns();
    } else if (seconds_between(last_change, now_ns()) * 1000 > patience_ms) {
      throw new Refused(`for five minutes nothing happened while it waited until ${what}`);
    }
    await pause(every_ms);
  }
}

// Gives when the question was asked that got the answer yes.
async function until_yes(client, question, what) {
  let asked;
  await until(async () => {
    asked = now_ns();
    return { done: (await client.query(question)).rows[0].yes };
  }, what);
  return asked;
}

async function enqueue_in_bulk(client, { tasks, batch }, payload) {
  const enqueuer = await peer.bulk_enqueuer(client, url);
  const begin = now_ns();
  for (let done = 0; done < tasks; done += batch) {
    await enqueuer.enqueue(Array(Math.min(batch, tasks - done)).fill(payload));
  }
  const end = now_ns();
  await enqueuer.close();
  return seconds_between(begin, end);
}

class Workers {
  constructor(count, failures) {
    this.begun = new Map(); // by slot
    this.started = []; // when each began
    this.ready = 0;
    this.handled_by = Array(count).fill(0);
    this.processes = this.handled_by.map((_, index) => {
      const child = fork(join(here, "worker.mjs"), [peer_name, url, String(failures)]);
      child.on("message", (message) => this.take(index, message));
      child.on("exit", (code) => {
        if (code === 0 && this.stopping) return;
        console.error(`measure: a worker of ${peer_name} ended by itself, with ${code}`);
        process.exit(1);
      });
      return child;
    });
  }

  take(index, { ready, started, slot, begun, handled }) {
    if (ready) this.ready += 1;
    if (started) this.started.push(BigInt(started));
    if (slot !== undefined) this.begun.set(slot, BigInt(begun));
    if (handled !== undefined) this.handled_by[index] = handled;
  }

  get handled() {
    return this.handled_by.reduce((sum, handled) => sum + handled, 0);
  }

  // Gives when the first of them began.
  async start() {
    const all = this.processes.length;
    await until(async () => ({ done: this.ready === all, state: this.ready }), "the workers are connected");
    for (const child of this.processes) child.send("start");
    await until(async () => ({ done: this.started.length === all }), "the workers have started");
    return this.started.reduce((least, at) => (at < least ? at : least));
  }

  until_handled(count) {
    return until(async () => ({ done: this.handled >= count, state: this.handled }), `${count} handlers have run`);
  }

  async stop() {
    this.stopping = true;
    const ended = this.processes.map((child) => new Promise((resolve) => child.once("exit", resolve)));
    for (const child of this.processes) child.send("stop");
    await Promise.all(ended);
  }
}

async function require_verified(client, workers, jobs, failures) {
  const runs = jobs * (failures + 1);
  if (workers.handled !== runs) throw new Refused(`handlers ran ${workers.handled} times, where ${runs} are right`);
  const wrong = await peer.verify(client, jobs, failures);
  if (wrong) throw new Refused(wrong);
}

async function drain(client, options, failures = 0) {
  const { tasks } = options;
  const attempts = tasks * (failures + 1);
  await enqueue_in_bulk(client, options, failures > 0 ? { failures } : {});
  await client.query(peer.vacuum(failures));
  const workers = new Workers(options.workers, failures);
  const began = await workers.start();
  let not_counted_s = 0;
  if (failures > 0 && peer.skip_delay) {
    await workers.until_handled(tasks);
    const waiting = await until_yes(client, peer.skip_delay.is_waiting, "all jobs have failed");
    await client.query(peer.skip_delay.end_wait);
    not_counted_s = seconds_between(waiting, now_ns());
  }
  await workers.until_handled(attempts);
  const ended = await until_yes(client, peer.is_done, "all jobs have ended");
  const seconds = seconds_between(began, ended) - not_counted_s;
  await workers.stop();
  await require_verified(client, workers, tasks, failures);
  return failures > 0 ? { attempts_per_s: attempts / seconds } : { drained_per_s: tasks / seconds };
}

async function enqueue(client, options) {
  const bulk_s = await enqueue_in_bulk(client, options, {});
  const enqueuer = await peer.single_enqueuer(url);
  await enqueuer.enqueue({}); // so that it is connected
  const begin = now_ns();
  let singly = 0;
  let single_s = 0;
  while (single_s < options.seconds) {
    await enqueuer.enqueue({});
    singly += 1;
    single_s = seconds_between(begin, now_ns());
  }
  await enqueuer.close();
  const { jobs } = (await client.query(peer.count)).rows[0];
  const enqueued = options.tasks + 1 + singly;
  if (jobs !== enqueued) throw new Refused(`${enqueued} jobs were enqueued, and ${jobs} are there`);
  return { bulk_per_s: options.tasks / bulk_s, single_per_s: singly / single_s };
}

// By the nearest rank, as `dogged bench` does.
function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(Math.ceil(q * sorted.length), 1) - 1];
}

async function latency(client, { samples }) {
  const unmeasured = 5; // what is compiled and planned at first use
  const workers = new Workers(1, 0);
  await workers.start();
  await pause(1000); // it comes to rest, and listens
  const enqueuer = await peer.single_enqueuer(url);
  const pick_up_ms = [];
  for (let slot = 0; slot < unmeasured + samples; slot += 1) {
    await enqueuer.enqueue({ slot });
    const answered = now_ns();
    await until(async () => ({ done: workers.begun.has(slot) }), "a job that was enqueued runs", 1);
    const since = seconds_between(answered, workers.begun.get(slot)) * 1000;
    if (slot >= unmeasured) pick_up_ms.push(Math.max(since, 0));
    await pause(10 + Math.random() * 20);
  }
  await enqueuer.close();
  await until_yes(client, peer.is_done, "all jobs have ended");
  await workers.stop();
  await require_verified(client, workers, unmeasured + samples, 0);
  return { pick_up_p50_ms: quantile(pick_up_ms, 0.5), pick_up_p99_ms: quantile(pick_up_ms, 0.99) };
}

// Of a peer that is a package of its own, its package.json says which version it is.
const package_version = () =>
  JSON.parse(readFileSync(join(dirname(createRequire(import.meta.url).resolve(peer_name)), "../package.json"), "utf8")).version;

const about = () => ({
  version: peer.version ? peer.version() : package_version(),
  settings: peer.settings,
  retry_delay: peer.retry_delay,
});

async function measure() {
  if (workload === "about") return about();
  const options = JSON.parse(options_json);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await peer.install(client, url, workload);
  const workloads = { drain, enqueue, latency, retry: (c, o) => drain(c, o, 1) };
  const figures = await workloads[workload](client, options);
  await peer.uninstall(client);
  await client.end();
  return figures;
}

try {
  console.log(JSON.stringify(await measure()));
  process.exit(0);
} catch (error) {
  console.error(`measure: ${peer_name}, ${workload}: ${error instanceof Refused ? error.message : error.stack}`);
  process.exit(1);
}
