// graphile-worker for measure.mjs and worker.mjs.
//
// Settings: its page "Performance" gives those of its own benchmark. 24 jobs run at once, 500 are fetched at a time, and
// completions and failures are written in batches without a delay. A look for due jobs comes every 100 ms instead of every 2 s.
import { EventEmitter } from "node:events";
import { Logger, run, runMigrations } from "graphile-worker";
import pg from "pg";

export const settings =
  "localQueue of 500, 24 jobs at once, completeJobBatchDelay and failJobBatchDelay 0, pollInterval 100 ms";
export const retry_delay =
  "exp(1) = 2.7 s, which no setting changes; when all jobs have failed, reschedule_jobs makes them due, and that call is " +
  "not counted";

const logger = new Logger(() => () => {}); // it would write a line for each failure
const preset = {
  worker: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    pollInterval: 100,
  },
};

export async function uninstall(client) {
  await client.query("drop schema if exists graphile_worker cascade");
}

export async function install(client, url) {
  await uninstall(client);
  await runMigrations({ connectionString: url, logger });
}

// Over one connection. From node, as what is enqueued comes from an application.
export async function bulk_enqueuer(client) {
  return {
    enqueue: (payloads) =>
      client.query({
        name: "bulk",
        text: `select id from graphile_worker.add_jobs(array(
                 select json_populate_recordset(null::graphile_worker.job_spec, $1::json)))`,
        values: [JSON.stringify(payloads.map((payload) => ({ identifier: "bench", payload })))],
      }),
    close: async () => {},
  };
}

// By its SQL function, as a prepared statement: its utility for node prepares none, and is a fifth slower.
export async function single_enqueuer(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    enqueue: (payload) =>
      client.query({
        name: "single",
        text: "select id from graphile_worker.add_job('bench', $1::json)",
        values: [JSON.stringify(payload)],
      }),
    close: () => client.end(),
  };
}

// After an ANALYZE of jobs that nobody has locked yet, the statement that writes failures has a bad plan: a join of all that
// a worker has locked with all of the batch. It makes 2,500 attempts/s, and 13,500 without statistics. A drain is faster with
// them.
export const vacuum = (failures) => `vacuum ${failures > 0 ? "" : "(analyze)"} graphile_worker._private_jobs`;
export const is_done = "select not exists (select from graphile_worker._private_jobs) as yes";
export const count = "select count(*)::int as jobs from graphile_worker._private_jobs";

// Finished jobs are deleted, and so all of them have ended when none is left. How often each ran, the workers count.
export async function verify(client) {
  const { jobs } = (await client.query(count)).rows[0];
  return jobs === 0 ? null : `${jobs} jobs are left`;
}

// Where the shortest delay of a retry is long: whether all jobs have failed once, and what makes them due.
export const skip_delay = {
  is_waiting: `select not exists (select from graphile_worker._private_jobs
                                   where attempts = 0 or attempts = 1 and locked_at is not null) as yes`,
  end_wait: `select count(*) from graphile_worker.reschedule_jobs(
               array(select id from graphile_worker._private_jobs where locked_at is null), run_at => now())`,
};

// Connects, and gives a function that starts to work; `started` is called when it does, before the first job is fetched.
export async function prepare_worker(url, { handle }) {
  return async (started) => {
    const events = new EventEmitter();
    events.once("pool:create", started);
    const runner = await run({
      connectionString: url,
      preset,
      events,
      logger,
      noHandleSignals: true,
      taskList: { bench: async (payload, { job }) => handle(payload, job.attempts - 1) },
    });
    return () => runner.stop();
  };
}
