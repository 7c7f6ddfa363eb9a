// Writes the answers of another implementation, croner, to specs drawn at random: for cron_test.cpp. In an empty directory:
//   npm install croner@11 && node make_golden.mjs SEED SPECS >golden.txt
// Each line: the spec, a time in seconds since 1970 (UTC), and how many seconds later the next five times are. Where one field
// of days is stepped (*/2) and the other is not *, dogged takes the times that fit both, as cron itself does, and croner those
// that fit either: such specs are left out.
import {Cron} from "croner";

let state = BigInt(process.argv[2] ?? 1);
const draw = (n) => {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number((state >> 33n) % BigInt(n));
};
const one_of = (list) => list[draw(list.length)];
const months = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ");
const weekdays = "SUN MON TUE WED THU FRI SAT".split(" ");

const named = (field, n) => {
  if (draw(4) > 0) return String(n);
  if (field === "month") return months[n - 1];
  return field === "weekday" ? weekdays[n % 7] : String(n);
};
const element = (field, lowest, highest) => {
  const a = lowest + draw(highest - lowest + 1);
  const b = a + draw(highest - a + 1);
  switch (draw(field === "day" || field === "weekday" ? 7 : 5)) {
    case 0: return `${a}-${b}`;
    case 1: return `${a}-${b}/${1 + draw(Math.max(1, b - a))}`;
    case 5: return field === "day" ? "L" : `${a % 7}#${1 + draw(5)}`;
    case 6: return field === "day" ? "L" : `${a % 7}L`;
    default: return named(field, a);
  }
};
const list = (field, lowest, highest) => {
  const elements = [];
  for (let i = one_of([1, 1, 1, 2, 3]); i > 0; --i) elements.push(element(field, lowest, highest));
  return elements.join(",");
};
const field = (name, lowest, highest) => {
  const kind = draw(5);
  if (kind < 2) return "*";
  if (kind === 2) return `*/${1 + draw(highest - lowest)}`;
  return list(name, lowest, highest);
};

const begin = Date.UTC(2027, 0, 1) / 1000;
for (let written = 0; written < Number(process.argv[3] ?? 2000);) {
  let day = field("day", 1, 31);
  let weekday = field("weekday", 0, 6);
  if (day.startsWith("*/")) weekday = "*";
  if (weekday.startsWith("*/")) day = "*";
  const fields = [field("minute", 0, 59), field("hour", 0, 23), day, field("month", 1, 12), weekday];
  if (draw(3) === 0) fields.unshift(field("second", 0, 59));
  const spec = fields.join(" ");
  const after = begin + draw(366 * 86400);
  const times = new Cron(spec, {timezone: "UTC"}).nextRuns(5, new Date(after * 1000)).map((time) => time.getTime() / 1000);
  if (times.length < 5) continue;
  console.log([spec, after, times.map((time) => time - after).join(",")].join("\t"));
  ++written;
}
