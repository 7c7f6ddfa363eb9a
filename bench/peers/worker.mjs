// node worker.mjs PEER URL FAILURES: a worker process of measure.mjs, which talks to it by messages.
//
// The worker says that it is ready when it is connected, and starts when it is told to. Then it says when it started, how
// many handlers it has run, and for a job with a slot when its handler began. Times are of the monotonic clock, which
// processes share.
const [peer_name, url, failures] = process.argv.slice(2);
const peer = await import(`./${peer_name}.mjs`);

const now = () => process.hrtime.bigint().toString();
let handled = 0;
let reported = 0;

function handle({ slot, failures: wanted = 0 }, retries) {
  if (slot !== undefined) process.send({ slot, begun: now() });
  handled += 1;
  if (retries < wanted) throw new Error("as the benchmark wants it");
}

const start = await peer.prepare_worker(url, { handle, failures: Number(failures) });
setInterval(() => {
  if (handled === reported) return;
  reported = handled;
  process.send({ handled });
}, 10);

process.on("disconnect", () => process.exit(1)); // measure.mjs has ended
process.once("message", async () => {
  const stop = await start(() => process.send({ started: now() }));
  process.once("message", async () => {
    await stop();
    process.send({ handled }, () => process.exit(0));
  });
});
process.send({ ready: true });
