// node record.mjs ROUND CONTENDER WORKLOAD: reads the figures of one measurement and writes them as one line of JSON.
//
// They come from `dogged bench -o json`, or as an object of figures by key. stderr has the figures, too; without
// figures the measurement is recorded as refused.
import { readFileSync } from "node:fs";

const shown = ["drained_per_s", "attempts_per_s", "bulk_per_s", "single_per_s", "pick_up_p50_ms", "pick_up_p99_ms"];
const [round, contender, workload] = process.argv.slice(2);
const text = readFileSync(0, "utf8").trim();
const line = { round: Number(round), contender, workload };
if (text === "") {
  line.refused = true;
} else {
  const measured = JSON.parse(text);
  line.figures = Array.isArray(measured.figures)
    ? Object.fromEntries(measured.figures.map(({ key, median }) => [key, median]))
    : measured;
  const say = (key) => `${key} ${line.figures[key].toLocaleString("en", { maximumSignificantDigits: 4 })}`;
  console.error(shown.filter((key) => key in line.figures).map(say).join("  "));
}
console.log(JSON.stringify(line));
