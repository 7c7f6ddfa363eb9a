// Writes the answers of another implementation, croner: for cron_test.cpp, and for tests/failover/week_test. In an empty directory:
//   npm install croner@11
//   node make_golden.mjs next 1 10000 >golden.txt   specs drawn at random: the spec, a time in seconds since 1970 (UTC), and how many
//                                                   seconds later the next five times are
//   node make_golden.mjs year 2 300 >year.txt       specs drawn at random that have at most 3,000 times in 2027 (UTC): the spec, how
//                                                   many times those are, and the MD5 sum of them, in seconds, with commas between
//   node make_golden.mjs week >week.txt             the same for the specs below, with their time zones, in a week of 2027 in which
//                                                   Berlin's clock goes on by an hour
// Where one field of days is stepped (*/2) and the other is not *, dogged takes the times that fit both, as cron itself does, and
// croner those that fit either: such specs are left out.
import {createHash} from "node:crypto";
import {Cron} from "croner";

const mode = process.argv[2];
let state = BigInt(process.argv[3] ?? 1);
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
const year = 365 * 86400;

const spec_with_seconds = (share) => {
  let day = field("day", 1, 31);
  let weekday = field("weekday", 0, 6);
  if (day.startsWith("*/")) weekday = "*";
  if (weekday.startsWith("*/")) day = "*";
  const fields = [field("minute", 0, 59), field("hour", 0, 23), day, field("month", 1, 12), weekday];
  if (share > 0 && draw(share) === 0) fields.unshift(field("second", 0, 59));
  return fields.join(" ");
};

// The times after `after` up to `until`, in seconds; null if there are more than `most`.
const times_of = (spec, timezone, after, until, most) => {
  const times = new Cron(spec, {timezone})
    .nextRuns(most + 1, new Date(after * 1000))
    .map((time) => time.getTime() / 1000)
    .filter((time) => time <= until);
  return times.length > most ? null : times;
};
const sum_of = (times) => [times.length, createHash("md5").update(times.join(",")).digest("hex")];

const next = (specs) => {
  for (let written = 0; written < specs;) {
    const spec = spec_with_seconds(3);
    const after = begin + draw(366 * 86400);
    const times = new Cron(spec, {timezone: "UTC"}).nextRuns(5, new Date(after * 1000)).map((time) => time.getTime() / 1000);
    if (times.length < 5) continue;
    console.log([spec, after, times.map((time) => time - after).join(",")].join("\t"));
    ++written;
  }
};

const whole_year = (specs) => {
  for (let written = 0; written < specs;) {
    const spec = spec_with_seconds(0);
    const times = times_of(spec, "UTC", begin - 1, begin + year - 1, 3000);
    if (times === null || times.length === 0) continue;
    console.log([spec, ...sum_of(times)].join("\t"));
    ++written;
  }
};

const week = () => {
  const after = Date.UTC(2027, 2, 25) / 1000;
  const specs = ["*/10 * * * *", "7 * * * *", "30 0 * * *", "0 9 * * 1-5", "15 8-18/2 * * *", "59 23 L * *", "0 0 1 * *",
                 "45 4 * * SUN", "20,40 12 * MAR,APR 2#5,4L", "0 6,18 26-28 3 *"];
  for (const zone of ["Europe/Berlin", "UTC", "Asia/Kathmandu"]) {
    for (const spec of specs) {
      console.log([spec, zone, ...sum_of(times_of(spec, zone, after, after + 7 * 86400, 3000))].join("\t"));
    }
  }
};

if (mode === "next") next(Number(process.argv[4] ?? 10000));
else if (mode === "year") whole_year(Number(process.argv[4] ?? 300));
else if (mode === "week") week();
else process.exit(2);
