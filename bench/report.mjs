// node report.mjs MEASUREMENTS ABOUT: the table of bench/compare, in Markdown.
//
// MEASUREMENTS holds a line of JSON from record.mjs for each measurement, ABOUT says on what and of what they were made.
import { readFileSync } from "node:fs";

const [measurements_file, about_file] = process.argv.slice(2);
const measurements = readFileSync(measurements_file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line));
const about = JSON.parse(readFileSync(about_file, "utf8"));

const all_columns = [
  { title: "drain, 1 worker<br>tasks/s", workload: "drain", key: "drained_per_s" },
  { title: "drain, 4 workers<br>tasks/s", workload: "drain4", key: "drained_per_s" },
  { title: "bulk enqueue<br>tasks/s", workload: "enqueue", key: "bulk_per_s" },
  { title: "single enqueue<br>tasks/s", workload: "enqueue", key: "single_per_s" },
  { title: "pick-up p50<br>ms", workload: "latency", key: "pick_up_p50_ms", less_is_better: true },
  { title: "pick-up p99<br>ms", workload: "latency", key: "pick_up_p99_ms", less_is_better: true },
  { title: "fail once, retry<br>attempts/s", workload: "retry", key: "attempts_per_s" },
];
const columns = all_columns.filter(({ workload }) => about.workloads.includes(workload));

const show = (value) =>
  value >= 100
    ? Math.round(value).toLocaleString("en")
    : value.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

// Median by the nearest rank, as `dogged bench` does, and the range; null where nothing was measured.
function summary(contender, { workload, key }) {
  const of_it = measurements.filter((m) => m.contender === contender && m.workload === workload);
  if (of_it.some((m) => m.refused)) return { refused: true };
  const values = of_it.map((m) => m.figures[key]).filter((value) => value !== undefined);
  if (values.length === 0) return null;
  values.sort((a, b) => a - b);
  return { median: middle(values), min: values[0], max: values.at(-1), count: values.length };
}

function cell(found) {
  if (found === null) return "–";
  if (found.refused) return "refused";
  if (found.count === 1) return show(found.median);
  return `${show(found.median)} (${show(found.min)}–${show(found.max)})`;
}

const middle = (sorted) => sorted[Math.ceil(sorted.length / 2) - 1];

// dogged's figures by those of that one of `others` beside which it is worst. This is the median of the quotients of each
// round: figures that were measured at about the same time can be compared better than others.
function quotient(column, others) {
  const by_round = (contender) =>
    new Map(
      measurements
        .filter((m) => m.contender === contender && m.workload === column.workload && m.figures?.[column.key] !== undefined)
        .map((m) => [m.round, m.figures[column.key]]),
    );
  const mine = by_round("dogged");
  const found = others
    .filter((name) => summary(name, column)?.median !== undefined) // none that was refused
    .map((name) => {
      const quotients = [...by_round(name)]
        .filter(([round, theirs]) => mine.has(round) && theirs !== 0)
        .map(([round, theirs]) => mine.get(round) / theirs);
      return { name, times: middle(quotients.sort((x, y) => x - y)) };
    })
    .filter(({ times }) => times !== undefined)
    .sort((x, y) => (column.less_is_better ? y.times - x.times : x.times - y.times));
  if (summary("dogged", column)?.median === undefined || found.length === 0) return "–";
  const times = found[0].times.toFixed(2);
  return others.length > 1 ? `${times} (${found[0].name})` : times;
}

const row = (title, cells) => `| ${[title, ...cells].join(" | ")} |`;
const peers = about.contenders.filter((name) => name in about.peers);
const names = {
  dogged: `dogged ${about.dogged}`,
  floor: "floor: bare SQL",
  ...Object.fromEntries(peers.map((name) => [name, `${name} ${about.peers[name].version}`])),
};
const lines = [
  `**${about.date}, ${about.cpu}, ${about.cores} cores, PostgreSQL ${about.postgresql}, ` +
    [names.dogged, ...peers.map((name) => names[name]), `Node.js ${about.node}`].join(", ") +
    `, ${about.rounds} ${about.rounds === 1 ? "round" : "rounds"} of ${about.tasks.toLocaleString("en")} tasks**`,
  "",
  row("", columns.map(({ title }) => title)),
  `|---|${"---:|".repeat(columns.length)}`,
  ...["dogged", ...peers, "floor"]
    .filter((name) => about.contenders.includes(name))
    .map((name) => row(names[name], columns.map((column) => cell(summary(name, column))))),
];
for (const [title, others] of [
  ["dogged / best peer", peers],
  ["dogged / floor", about.contenders.includes("floor") ? ["floor"] : []],
]) {
  if (!about.contenders.includes("dogged") || others.length === 0) continue;
  lines.push(row(title, columns.map((column) => quotient(column, others))));
}
lines.push(
  "",
  `${about.rounds === 1 ? "One round." : "Medians, and the range of the rounds; as ratio the median of those of each round."} In the columns ` +
    "in ms less is better. bench/README.md says what each figure means and what cannot be compared.",
  "",
);
if (about.contenders.includes("dogged")) {
  lines.push("- dogged: the defaults, 10 handlers at once in each worker. The delay of a retry: 1 ms.");
}
for (const name of peers) {
  const { settings, retry_delay } = about.peers[name];
  lines.push(`- ${name}: ${settings}. The shortest delay of a retry that it takes: ${retry_delay}.`);
}
for (const reason of about.left_out) lines.push(`- Left out: ${reason}.`);
console.log(lines.join("\n"));
