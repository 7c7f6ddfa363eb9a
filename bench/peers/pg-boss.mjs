// pg-boss for measure.mjs and worker.mjs.
//
// Settings: its pages "Workers" and "Queues" name what makes it fast. These are large batches, fetching on while batches are
// full, some fetchers side by side, and notifications in place of polling. Finished jobs stay, as they do by default.
import { PgBoss } from "pg-boss";

export const settings =
  "batchSize 1000, localConcurrency 2, burstWhenBatchFull, notify and useListenNotify, pollingIntervalSeconds and " +
  "notifyPollingIntervalSeconds 0.5";
export const retry_delay = "0 s";

const queue = "bench";

function connect(url, options) {
  const boss = new PgBoss({ connectionString: url, schedule: false, ...options });
  boss.on("error", (error) => {
    console.error(error);
    process.exit(1);
  });
  return boss.start();
}

export async function uninstall(client) {
  await client.query("drop schema if exists pgboss cascade");
}

export async function install(client, url) {
  await uninstall(client);
  const boss = await connect(url, { max: 1 });
  await boss.createQueue(queue, { notify: true, retryLimit: 2, retryDelay: 0 });
  await boss.stop();
}

export async function bulk_enqueuer(client, url) {
  const boss = await connect(url, { max: 1, supervise: false });
  return {
    enqueue: (payloads) => boss.insert(queue, payloads.map((data) => ({ data }))),
    close: () => boss.stop(),
  };
}

export async function single_enqueuer(url) {
  const boss = await connect(url, { max: 1, supervise: false });
  return {
    enqueue: (payload) => boss.send(queue, payload),
    close: () => boss.stop(),
  };
}

export const vacuum = () => "vacuum (analyze) pgboss.job";
export const is_done = `select not exists (select from pgboss.job
                                            where name = '${queue}' and state < 'completed') as yes`;
export const count = `select count(*)::int as jobs from pgboss.job where name = '${queue}'`;

export async function verify(client, jobs, failures) {
  const { rows } = await client.query(
    `select count(*) filter (where state = 'completed')::int as completed, count(*)::int as there,
            coalesce(sum(retry_count), 0)::int as retries
       from pgboss.job where name = $1`,
    [queue],
  );
  const { completed, there, retries } = rows[0];
  if (completed === jobs && there === jobs && retries === jobs * failures) return null;
  return `of ${jobs} jobs ${there} are there, and ${completed} are completed, after ${retries} retries`;
}

export async function prepare_worker(url, { handle, failures }) {
  const boss = await connect(url, { useListenNotify: true });
  const options = {
    batchSize: 1000,
    localConcurrency: 2,
    burstWhenBatchFull: true,
    pollingIntervalSeconds: 0.5, // the least it takes
    notifyPollingIntervalSeconds: 0.5, // a retry notifies nobody; by default the next look may come after 30 s
  };
  // A batch without failures is completed by one statement for all. With failures each job has a result of its own.
  const run_all = async (jobs) => {
    for (const job of jobs) handle(job.data, 0);
  };
  const run_each = async (jobs) =>
    jobs.map(({ id, data, retryCount }) => {
      try {
        handle(data, retryCount);
        return { id, status: "completed" };
      } catch (error) {
        return { id, status: "failed", output: { message: error.message } };
      }
    });
  return async (started) => {
    started();
    if (failures === 0) await boss.work(queue, options, run_all);
    else await boss.work(queue, { ...options, includeMetadata: true, perJobResults: true }, run_each);
    return () => boss.stop();
  };
}
