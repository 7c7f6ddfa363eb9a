# The parts that these tests share: servers, workers and producers in a directory of their own, which is gone afterwards
# with all that they started. Each test is called with the paths of dogged, failover_worker and failover_producer. A
# test goes on after a failed check, so that one run shows all of them. A wait for something that never comes ends the
# test.
set -uo pipefail

dogged_program=$(realpath "$1")
worker_program=$(realpath "$2")
producer_program=$(realpath "$3")
cluster=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../support/cluster")
bin=$("$cluster" bin) || exit 1

# Nothing of the surroundings decides which database is used. A socket's path is short, so it is not in TMPDIR.
unset DATABASE_URL PGHOST PGPORT PGDATABASE PGSERVICE PGUSER PGPASSWORD PGOPTIONS DOGGED_SCHEMA
export LC_ALL=C.UTF-8 TZ=UTC
work=$(mktemp -d "${TMPDIR:-/tmp}/dogged-failover.XXXXXX")
chmod 755 "$work" # as root the servers run as another user
cd "$work" || exit 1
export DOGGED_TEST_RUNS=$work/runs
: >runs
failures=0
started=() # processes that have not been waited for

finish() {
  local code=$? pid data log
  {
    for pid in "${started[@]}"; do kill -9 "$pid"; done
    wait
  } 2>/dev/null
  for data in "$work"/*/data; do
    if [ -d "$data" ]; then "$cluster" stop "${data%/data}"; fi
  done
  if [ "$code" -ne 0 ] || [ "$failures" -gt 0 ]; then
    tail -n 30 "$work"/*.log
    echo "$failures checks failed"
    code=1
  fi
  cd / && rm -rf "$work"
  exit "$code"
}
trap finish EXIT

fail() { failures=$((failures + 1)); echo "FAILED: $1"; }

# check PROMISE GIVEN EXPECTED
check() { [ "$2" = "$3" ] || fail "$1: \"$2\", not \"$3\""; }

# check_at_least PROMISE NUMBER LEAST; check_at_most PROMISE NUMBER MOST
check_at_least() { [ "$2" -ge "$3" ] || fail "$1: $2, less than $3"; }
check_at_most() { [ "$2" -le "$3" ] || fail "$1: $2, more than $3"; }

# eventually PROMISE COMMAND…: waits until it succeeds; ends the test after a generous 30 s.
eventually() {
  local promise=$1 until=$((SECONDS + 30))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ "$SECONDS" -gt "$until" ]; then fail "$promise: not after 30 s"; exit 1; fi
    sleep 0.02
  done
}

# ---- servers -------------------------------------------------------------------------------------------------------

# sql SERVER STATEMENT
sql() { "$bin/psql" -XAtq -v ON_ERROR_STOP=1 -d "postgresql://dogged@/dogged?host=$work/$1" -c "$2"; }

# is VALUE SERVER QUERY, for eventually
is() { [ "$(sql "$2" "$3")" = "$1" ]; }

# make_queue SERVER [SETTING=VALUE…]: a server with dogged's schema.
make_queue() {
  local server=$1
  shift
  "$cluster" start "$work/$server" "$@" && "$dogged_program" --database-url "host=$work/$server user=dogged dbname=dogged" \
    migrate >/dev/null || { fail "$server could not be made"; exit 1; }
}

# set_clock TIME: from now on the clocks of servers with a faked time go on from there.
set_clock() {
  echo "$(date --date "$1" +%s) $(date +%s.%N)" | awk '{ printf "%+.3f\n", $1 - $2 }' >clock.new && mv clock.new clock
}

# make_queue_of_faked_time SERVER: as make_queue, with the clock that set_clock sets. PostgreSQL's programs alone load
# libfaketime: it keeps a semaphore for its first process and that process's children, and what root makes is closed to postgres.
make_queue_of_faked_time() {
  local preload
  preload=$(faketime -f +0 printenv LD_PRELOAD) || { echo "there is no faketime: scripts/setup installs it" >&2; exit 1; }
  local clock="LD_PRELOAD=$preload FAKETIME_TIMESTAMP_FILE=$work/clock FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1"
  DOGGED_PG_ENV="$clock NO_FAKE_STAT=1" make_queue "$1"
}

postmaster_of() { head -n 1 "$work/$1/data/postmaster.pid"; }
kill_server() { kill -9 "$(postmaster_of "$1")"; }

# Ends the server as a loss of power does: no process of it notices that another one has ended. A backend that sees its
# postmaster die stops waiting for the synchronous replica, and its transaction is visible to others for a moment.
power_off_server() {
  local postmaster backends
  postmaster=$(postmaster_of "$1")
  kill -STOP "$postmaster" # before its children are listed: now it makes no more
  read -ra backends <"/proc/$postmaster/task/$postmaster/children"
  kill -STOP "${backends[@]}"
  kill -9 "${backends[@]}" "$postmaster"
}

# After kill -9: as long as a backend of the dead server lives, a new one refuses to start.
start_server() { eventually "$1 starts" "$cluster" ctl "$work/$1" start; }

# ---- workers and producers -----------------------------------------------------------------------------------------

# start_worker NAME DSN OPTION…: its pid is in the variable `worker`, its log in NAME.log.
start_worker() {
  local name=$1 dsn=$2
  shift 2
  DATABASE_URL=$dsn "$worker_program" --name "$name" "$@" >"$name.log" 2>&1 &
  worker=$!
  started+=("$worker")
  eventually "$name is ready" grep -q " ready: " "$name.log"
}

# start_producer DSN PAUSE_MS: its pid is in the variable `producer`, its lines in producer.log.
start_producer() {
  "$producer_program" "$1" "$2" >producer.log 2>&1 &
  producer=$!
  started+=("$producer")
  eventually "the producer begins" [ -s producer.log ]
}

# end PID: as an operator does; in order is exit code 0. await_end PID: for one that got its SIGTERM before.
end() { kill -TERM "$1" && await_end "$1"; }

await_end() {
  local pid code kept=()
  wait "$1"
  code=$?
  check "exit code of process $1 after SIGTERM" "$code" 0
  for pid in "${started[@]}"; do [ "$pid" = "$1" ] || kept+=("$pid"); done
  started=("${kept[@]}")
}

count_lines() { grep -c -- "$1" "$2"; }
has_acknowledged() { [ "$(count_lines ^acknowledged producer.log)" -ge "$1" ]; }

# flows_on PROMISE: the producer gets 100 more tasks acknowledged.
flows_on() { eventually "$1" has_acknowledged $(($(count_lines ^acknowledged producer.log) + 100)); }

# all_done SERVER
all_done() {
  eventually "every task ends" is 0 "$1" "select count(*) from dogged.tasks where status in ('pending', 'running')"
}

# ---- what is true in the end ---------------------------------------------------------------------------------------

# check_nothing_lost SERVER: what the producer was told of is there, and every attempt was executed once.
check_nothing_lost() {
  grep ^acknowledged producer.log | cut -d' ' -f2,3 >acknowledged
  cut -d' ' -f1,2 <(grep ' began$' runs) >executed
  "$bin/psql" -XAtq -v ON_ERROR_STOP=1 -d "postgresql://dogged@/dogged?host=$work/$1" >result <<'SQL'
create temp table acknowledged (n int, id bigint);
create temp table executed (task_id bigint, attempt int);
\copy acknowledged from acknowledged with (delimiter ' ')
\copy executed from executed with (delimiter ' ')
select 'acknowledged tasks that are not there', count(*)
  from acknowledged a left join dogged.tasks t on t.id = a.id and (t.args ->> 'n')::int = a.n where t.id is null;
select 'numbers that are there twice', count(*)
  from (select from dogged.tasks group by args ->> 'n' having count(*) > 1) as x;
select 'tasks that did not succeed', count(*) from dogged.tasks where status <> 'succeeded';
select 'attempts that did not end by themselves', count(*)
  from dogged.task_attempts where outcome not in ('succeeded', 'failed');
select 'tasks whose attempts are not 1 … n', count(*) from dogged.tasks t
 where (select array_agg(attempt order by attempt) from dogged.task_attempts a where a.task_id = t.id)
       is distinct from (select array_agg(n) from generate_series(1, t.attempt) n);
select 'attempts that were not executed once', count(*)
  from (select task_id, attempt from dogged.task_attempts) a
  full join (select task_id, attempt, count(*) as times from executed group by 1, 2) e using (task_id, attempt)
 where a is null or e.times is distinct from 1;
SQL
  check "psql on $1" $? 0
  check "checks of $1" "$(wc -l <result)" 6
  while IFS='|' read -r what count; do check "$what" "$count" 0; done <result
}

# losses NAME, recoveries NAME: how often each service of a worker said that PostgreSQL is lost, or is back.
losses() { sed -nE 's/.*\] ([a-z]+): .*; trying again until it works$/\1/p' "$1.log" | sort | uniq -c; }
recoveries() { sed -nE 's/.*\] ([a-z]+): PostgreSQL answers again$/\1/p' "$1.log" | sort | uniq -c; }
has_recovered() { [ "$(losses "$1")" = "$(recoveries "$1")" ]; }
has_lost_all() { [ $(($(losses "$1" | awk '{n += $1} END {print n}') - $(recoveries "$1" | awk '{n += $1} END {print n}'))) -eq 4 ]; }

# check_log NAME OUTAGES: each service of the running worker says once for an outage that PostgreSQL is lost, and that it
# is back.
check_log() {
  eventually "$1: every loss is followed by \"answers again\"" has_recovered "$1"
  check_at_least "$1: services that noticed" "$(losses "$1" | wc -l)" 1
  check_at_most "$1: how often one service noticed" "$(losses "$1" | sort -rn | awk 'NR == 1 {print $1}')" "$2"
}

# cpu_ms PID: its processor time so far.
cpu_ms() { awk -v tick="$(getconf CLK_TCK)" '{sub(/.*\) /, ""); print int(($12 + $13) * 1000 / tick)}' "/proc/$1/stat"; }
