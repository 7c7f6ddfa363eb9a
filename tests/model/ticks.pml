/*
 * How a schedule fires, as a model for Spin. A few workers fire the ticks of one schedule that are due. Meanwhile its
 * settings change, and it is paused, run by hand, backfilled, deleted and created again. Its tasks end, and retention
 * drops days of ticks. README.md says which SQL file each statement stands for, and what is left out; `check` searches
 * every interleaving.
 *
 * Time is a small number that another process advances, or sets back. At each number the schedule may have a tick. Each
 * transaction holds the schedule's row from its first statement to its commit, so it is one atomic step. A worker reads the
 * time before it locks the row, so that time may be old by then.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TIMES /* time goes from 0 to this */
#define TIMES 4
#endif
#ifndef OVERLAP
#define OVERLAP skips
#endif
#ifndef CATCH_UP /* catch_up_limit: 0, 1, or ALL */
#define CATCH_UP 1
#endif
#define ALL 255
#ifndef LATE_BY /* a tick that is so late is missed */
#define LATE_BY 1
#endif
#ifndef PAUSES
#define PAUSES 0
#endif
#ifndef CHANGES /* of the spec */
#define CHANGES 0
#endif
#ifndef RUNS /* by hand */
#define RUNS 0
#endif
#ifndef BACKFILLS
#define BACKFILLS 0
#endif
#ifndef DELETIONS /* and creations of a schedule of the same name */
#define DELETIONS 0
#endif
#ifndef SETBACKS /* of the clock */
#define SETBACKS 0
#endif
#ifndef DROPS /* days of ticks that retention drops */
#define DROPS 0
#endif
#define KEEP 1 /* settings.keep_ticks_days; a day has one time */
#ifndef CRASHES
#define CRASHES 1
#endif

mtype = {nothing, fired, waiting, skipped};                         /* what became of a tick; nothing: it has no row */
mtype = {skips, buffer_one, buffer_all, cancel_other, allow_all};   /* overlap */
mtype = {by_clock, by_backfill};                                    /* origin of a tick */

/* ---- the database ------------------------------------------------------------------------------------------------ */

byte now = 0;

/* The schedule's row. */
bool exists = true;
bool paused;
bool even; /* the spec: each second time, or each */
byte next_at = 1;
byte last_tick_at;
byte live; /* live_tasks: a bit for each tick's task; bit 0 for that of a run by hand */

/* schedule_ticks, and tasks_live, of the schedule's id. */
mtype outcome[TIMES + 1] = nothing;
byte skipped_until[TIMES + 1];
byte rest_until[TIMES + 1]; /* a row right after this time, which is none of the spec: the rest of a range */
byte former;     /* a bit for each tick that was decided before the settings were last changed */
byte backfilled; /* a bit for each tick: its origin */
byte alive;      /* a bit for each tick's task that has not ended */
byte ticks_since; /* settings.ticks_since */
#ifdef TASK_APART
bool sending; /* the row is locked */
#endif
#ifdef UNIQUE_BY_TASKS
byte known_tasks; /* dogged.tasks: those that have ended too, until retention drops them */
#endif

/* Known to the search alone. */
byte was_fired;    /* a bit for each time: a task was enqueued for it */
byte owed;         /* a bit for each time that was due while the schedule existed */
byte decided_last; /* the last tick of the clock that was decided */
byte started_last; /* the last tick of the clock that was started */
byte since;        /* the latest time at which it was created, or got its spec: it has no earlier ones */
byte dropped_last; /* the last time of which retention has dropped the row, be it of a range */

byte pauses = PAUSES;
byte changes = CHANGES;
byte runs = RUNS;
byte backfills = BACKFILLS;
byte deletions = DELETIONS;
byte setbacks = SETBACKS;
byte drops = DROPS;
byte crashes = CRASHES;
byte living = WORKERS;

/* Of a step under way alone. */
byte i, j, k, first, n_waiting, live_before, cancelled_at_once, until_before;
mtype outcome_before = nothing;
bool is_found, was_former;

#define bit(t) (1 << (t))
#define has(set, t) (((set) >> (t)) & 1)
#define next_tick(t) ((t) + 1 + (even && (t) % 2 == 0 -> 1 : 0))
#define is_time(t) (!even || (t) % 2 == 0)

inline wait_count(n) {
  n = 0;
  for (k : 1 .. TIMES) { n = n + (outcome[k] == waiting -> 1 : 0) }
  k = 0
}

/* Whether a row stands for time t: its own, or that of a range. */
inline look_for(t, found) {
  found = (outcome[t] != nothing);
  for (k : 1 .. TIMES) {
    found = found || (k < t && ((outcome[k] == skipped && skipped_until[k] > t) || rest_until[k] > t))
  }
  k = 0
}

/* The truths that every transaction must leave. */
inline check_ticks() {
  for (j : 1 .. TIMES) {
    look_for(j, is_found);
    assert(!exists || !has(owed, j) || j <= dropped_last || is_found || (j >= next_at && is_time(j))) /* none is lost */
  }
  j = 0;
#if BACKFILLS == 0
  wait_count(n_waiting);
  assert(OVERLAP != buffer_one || n_waiting <= 1);
  n_waiting = 0;
#endif
  is_found = false
}

/* ---- schema/fire.sql --------------------------------------------------------------------------------------------- */

/* dogged.start_tick: the task, and the row that says so. */
inline start_tick(t, origin) {
  printf("time %d: tick %d starts: %e\n", now, t, origin);
  assert(!has(was_fired, t));                                       /* a tick fires once */
  assert(OVERLAP == allow_all || alive == 0);                       /* and never beside the task of an earlier one */
  assert(origin == by_backfill || t > started_last);                /* and in order */
  started_last = (origin == by_clock -> t : started_last);
  was_fired = was_fired | bit(t);
  alive = alive | bit(t);
  outcome[t] = fired;
  skipped_until[t] = 0;
#ifdef UNIQUE_BY_TASKS
  known_tasks = known_tasks | bit(t);
#endif
  live = live | bit(t)
}

/* The look at the tick's row. A tick of cancel_other takes the place of those that wait, its own among them. */
#ifdef NO_TICK_ROW
#define is_decided(t, overlap) false
#elif defined(UNIQUE_BY_TASKS)
#define is_decided(t, overlap) (has(known_tasks, t) || (outcome[t] == waiting && overlap != cancel_other))
#else
#define is_decided(t, overlap) (outcome[t] == fired || (outcome[t] == waiting && overlap != cancel_other))
#endif

inline decide_tick(t, overlap, origin) {
  if
  :: is_decided(t, overlap)
  :: else ->
     if
     :: overlap == cancel_other ->
        for (k : 1 .. TIMES) { outcome[k] = (outcome[k] == waiting -> skipped : outcome[k]) } /* superseded */
        k = 0;
        alive = alive & ~cancelled_at_once;
        live = live & alive
     :: else
     fi;
     wait_count(n_waiting);
     if
     :: live == 0 || overlap == allow_all -> start_tick(t, origin)
     :: else ->
        outcome[t] = (overlap == skips || (overlap == buffer_one && n_waiting > 0) -> skipped : waiting);
        skipped_until[t] = 0;
        printf("time %d: tick %d: %e\n", now, t, outcome[t]);
        backfilled = (origin == by_backfill -> backfilled | bit(t) : backfilled & ~bit(t))
     fi;
     n_waiting = 0
  fi
}

/* dogged.skip_until: one row for the ticks from `from` until before `until`. A backfill may have taken the first. */
inline skip_until(from, until) {
  i = from;
  do
  :: i <= TIMES && (outcome[i] == fired || outcome[i] == waiting) -> i = next_tick(i)
  :: else -> break
  od;
  if
  :: i < until && i <= TIMES ->
     outcome[i] = skipped;
     skipped_until[i] = until;
     former = former & ~bit(i);
     printf("time %d: ticks %d to %d are skipped\n", now, i, until - 1)
  :: else
  fi;
  i = 0
}

/* dogged.start_waiting_tick */
inline start_waiting_tick() {
  for (i : 1 .. TIMES) {
    if
    :: outcome[i] == waiting && live == 0 -> start_tick(i, (has(backfilled, i) -> by_backfill : by_clock))
    :: else
    fi
  }
  i = 0
}

/* dogged.first_to_fire */
inline first_to_fire(at) {
  first = next_at;
  if
  :: next_at + LATE_BY > at || CATCH_UP == ALL
  :: else ->
     do
     :: CATCH_UP == 0 && first + LATE_BY <= at -> first = next_tick(first)
     :: CATCH_UP == 1 && next_tick(first) + LATE_BY <= at -> first = next_tick(first)
     :: else -> break
     od
  fi;
#ifndef FIRES_DROPPED /* a time may have fired of which no row tells any more */
  do
  :: first < ticks_since -> first = next_tick(first)
  :: else -> break
  od
#endif
}

/* dogged.fire_schedule up to the ticks that are due: what waits, and what was missed. */
inline begin_to_fire(at) {
  assert(!paused); /* a paused schedule fires nothing */
  first_to_fire(at);
  live = live & alive;
  if
  :: live == 0 -> start_waiting_tick()
  :: else
  fi;
  if
  :: first > next_at ->
     skip_until(next_at, first);
     last_tick_at = (last_tick_at > first - 1 -> last_tick_at : first - 1);
     next_at = first
  :: else
  fi;
  first = 0
}

/* One of the ticks that are due. */
inline fire_next() {
  assert(next_at > decided_last); /* ticks are decided in order, and once */
  decided_last = next_at;
  live_before = live;
  decide_tick(next_at, OVERLAP, by_clock);
  live = (OVERLAP == allow_all -> live_before : live);
  live_before = 0;
  last_tick_at = next_at;
  next_at = next_tick(next_at)
}

/* dogged.fire_schedule. A call may leave ticks to the next one: it decides 20 at most, and jitter puts off each. Of a task
   that a tick cancels nobody can say whether it ends at once. */
inline fire_schedule(at) {
  d_step { begin_to_fire(at) }
  do
  :: next_at <= at ->
     if
     :: OVERLAP == cancel_other -> cancelled_at_once = 255
     :: OVERLAP == cancel_other -> cancelled_at_once = 0
     :: OVERLAP != cancel_other
     fi;
     d_step { fire_next(); cancelled_at_once = 0 }
     if
     :: true
     :: break
     fi
  :: next_at > at -> break
  od;
  first = 0
}

/* A worker's look by schedules.fires_at: a tick is due, or one waits. */
#ifdef WAITS_THROUGH_PAUSE /* and a pause leaves what waits as it is */
#define is_due(at) (exists && ((!paused && next_at <= at) || a_tick_waits))
#else
#define is_due(at) (exists && !paused && (next_at <= at || a_tick_waits))
#endif
#if TIMES == 3
#define a_tick_waits (outcome[1] == waiting || outcome[2] == waiting || outcome[3] == waiting)
#elif TIMES == 4
#define a_tick_waits (outcome[1] == waiting || outcome[2] == waiting || outcome[3] == waiting || outcome[4] == waiting)
#elif TIMES == 5
#define a_tick_waits \
  (outcome[1] == waiting || outcome[2] == waiting || outcome[3] == waiting || outcome[4] == waiting || outcome[5] == waiting)
#else
#error "3 to 5 times: change TIMES, or add a line"
#endif

/* dogged.settle_times_before_change: the times of before must not be lost. Jitter may have put off all of them. */
inline settle(at) {
#ifdef CHANGE_FORGETS
  skip
#else
  if
  :: !paused && next_at <= at -> fire_schedule(at)
  :: next_at <= at
  :: next_at > at
  fi;
  d_step {
    if
    :: next_at <= at ->
       skip_until(next_at, at + 1);
       last_tick_at = (last_tick_at > at -> last_tick_at : at)
    :: else
    fi
  }
#endif
}

/* The next tick after a change or a pause. */
#ifdef NO_LAST_TICK
#define next_after(at) next_tick(at)
#else
#define next_after(at) next_tick((last_tick_at > at -> last_tick_at : at))
#endif

/* ---- a worker ---------------------------------------------------------------------------------------------------- */

/* dogged.fire_due_ticks reads the time, then it locks what is due by that time. Whether a commit's answer arrives is of no
   account: a worker keeps nothing, and looks afresh. A crash in a transaction leaves what was before it. */
proctype worker() {
  byte at;
#if defined(NO_SCHEDULE_LOCK) || defined(TASK_APART)
  byte seen;
#endif

end:
  do
#ifdef NO_SCHEDULE_LOCK /* another transaction may come between reading the row and writing it */
  :: atomic {
       seen == 0 && is_due(now) && next_at <= now && !is_decided(next_at, OVERLAP) && live == 0 -> seen = next_at
     }
  :: atomic { seen != 0 -> d_step { next_at = seen; fire_next(); seen = 0 } }
#elif defined(TASK_APART) /* the task is enqueued in a transaction, and the tick written in the next one */
  :: atomic {
       seen == 0 && is_due(now) && next_at <= now && !is_decided(next_at, OVERLAP) && !sending ->
       d_step { sending = true; seen = next_at; start_tick(seen, by_clock); outcome[seen] = nothing }
     }
  :: atomic { seen != 0 -> d_step { outcome[seen] = fired; next_at = next_tick(seen); seen = 0; sending = false } }
  :: atomic { seen != 0 && crashes > 0 ->
       crashes--;
       seen = 0;
       sending = false;
       printf("time %d: the worker crashes\n", now)
     }
#else
  :: atomic { at == 0 && is_due(now) -> at = now }
  :: atomic {
       at != 0 && is_due(at) ->
       fire_schedule(at);
       d_step { at = 0; check_ticks() }
     }
  :: atomic { at != 0 && !is_due(at) -> at = 0 }
  :: atomic { crashes > 0 && living > 1 -> crashes--; living--; at = 0; goto gone }
#endif
  od;
gone:
  skip
}

/* ---- what happens beside them ------------------------------------------------------------------------------------ */

proctype clock() {
end:
  do
  :: atomic {
       now < TIMES ->
       d_step {
         now++;
         owed = (exists && is_time(now) && now > last_tick_at && now > since -> owed | bit(now) : owed)
       }
     }
  :: atomic {
       setbacks > 0 && now > 1 ->
       d_step {
         setbacks--;
         now = now - 2;
         owed = owed & (bit(now + 1) - 1); /* later times are to come */
         printf("the clock is set back to %d\n", now)
       }
     }
  od
}

inline end_task(t) {
  atomic { has(alive, t) -> alive = alive & ~bit(t) }
}

/* dogged.drop_oldest_day: the day of ticks_since, unless a tick of it waits, or a row stands for later days. */
#define may_drop(t) \
  (t + KEEP < now && outcome[t] != waiting && (skipped_until[t] == 0 || skipped_until[t] - 1 + KEEP < now) && \
   (rest_until[t] == 0 || rest_until[t] - 1 + KEEP < now))

inline drop_day() {
  atomic {
    drops > 0 && may_drop(ticks_since) ->
    d_step {
      drops--;
      printf("time %d: the day of tick %d is dropped\n", now, ticks_since);
      dropped_last = (dropped_last > ticks_since -> dropped_last : ticks_since);
      dropped_last = (skipped_until[ticks_since] > dropped_last + 1 -> skipped_until[ticks_since] - 1 : dropped_last);
      dropped_last = (rest_until[ticks_since] > dropped_last + 1 -> rest_until[ticks_since] - 1 : dropped_last);
      outcome[ticks_since] = nothing;
      skipped_until[ticks_since] = 0;
      rest_until[ticks_since] = 0;
      ticks_since++
    }
  }
}

proctype tasks_and_retention() {
end:
  do
  :: end_task(0) :: end_task(1) :: end_task(2) :: end_task(3)
#if TIMES >= 4
  :: end_task(4)
#endif
#if TIMES >= 5
  :: end_task(5)
#endif
  :: drop_day()
#ifdef UNIQUE_BY_TASKS
  :: atomic { drops > 0 && (known_tasks & ~alive) != 0 ->
       drops--;
       known_tasks = known_tasks & alive;
       printf("time %d: the tasks that have ended are dropped\n", now)
     }
#endif
  od
}

/* ---- operators: schema/schedules.sql ----------------------------------------------------------------------------- */

inline pause() {
  atomic {
    pauses > 0 && exists && !paused ->
    pauses--;
    if
    :: is_due(now) -> settle(now); next_at = next_after(now)
    :: !a_tick_waits /* nothing is due, or jitter has put it off */
    :: next_at > now
    fi;
    d_step { paused = true; printf("time %d: paused\n", now); check_ticks() }
  }
}

inline resume() {
  atomic {
    exists && paused ->
    settle(now);
    d_step {
      next_at = next_after(now);
      paused = false;
      printf("time %d: resumed\n", now);
      check_ticks()
    }
  }
}

/* dogged.put_schedule. */
inline change_as_of(at) {
  settle(at);
  d_step {
    even = !even;
    next_at = next_after(at);
    since = (at > since -> at : since);
    former = 255;
    printf("time %d: the spec is changed, as of time %d\n", now, at);
    check_ticks()
  }
}

#ifdef CHANGE_OF_OLD_TIME /* the time is read before the row is locked, and so before another transaction has let it go */
inline change() {
  atomic {
    changes > 0 && exists ->
    if
    :: !is_changing -> is_changing = true; read_at = now
    :: is_changing -> changes--; change_as_of(read_at); is_changing = false; read_at = 0
    fi
  }
}
#else
inline change() {
  atomic { changes > 0 && exists -> changes--; change_as_of(now) }
}
#endif

/* Tasks of its ticks go on, beside those of a new schedule of the name. */
inline delete() {
  atomic {
    deletions > 0 && exists ->
    d_step {
      deletions--;
      exists = false;
      paused = false;
      even = false;
      live = 0;
      last_tick_at = 0;
      next_at = 0;
      for (i : 1 .. TIMES) {
        outcome[i] = nothing;
        skipped_until[i] = 0;
        rest_until[i] = 0
      }
      i = 0;
      former = 0;
      backfilled = 0;
      alive = 0;
      was_fired = 0;
      owed = 0;
      decided_last = 0;
      started_last = 0;
      printf("time %d: deleted\n", now)
    }
  }
}

inline create() {
  atomic {
    !exists ->
    d_step {
      exists = true;
      next_at = next_after(now);
      since = now;
      printf("time %d: created\n", now)
    }
  }
}

/* dogged.run_schedule. Its tick is at a time that no spec has. */
inline run_by_hand() {
  atomic {
    runs > 0 && exists ->
    d_step {
      runs--;
      live = (live & alive) | 1;
      alive = alive | 1;
      printf("time %d: run by hand\n", now)
    }
  }
}

/* dogged.hand_range_on: the rest of a range, of which a backfill has decided the first. */
inline hand_range_on(t) {
#ifdef RANGE_LOSES_REST
  skip
#else
  if
  :: was_former && t + 1 < until_before -> rest_until[t] = until_before
  :: was_former && t + 1 >= until_before
  :: else -> skip_until(next_tick(t), until_before)
  fi
#endif
}

inline backfill_tick(t) {
  outcome_before = outcome[t];
  until_before = skipped_until[t];
  was_former = has(former, t);
  if
  :: outcome_before == fired || outcome_before == waiting
#ifdef NO_TICK_ROW
     -> decide_tick(t, buffer_all, by_backfill)
#endif
  :: else ->
     decide_tick(t, buffer_all, by_backfill);
     if
     :: until_before != 0 -> hand_range_on(t)
     :: else
     fi
  fi;
  outcome_before = nothing;
  until_before = 0;
  was_former = false
}

#ifdef BACKFILLS_DROPPED
#define kept_since 1
#else
#define kept_since (now > KEEP && now - KEEP > ticks_since -> now - KEEP : ticks_since)
#endif

/* dogged.backfill_schedule, one task after the other: from a time until now, or that time alone. */
inline backfill() {
  atomic {
    backfills > 0 && exists && kept_since <= now ->
    backfills--;
    tick = kept_since;
    do
    :: tick < now -> tick++
    :: break
    od;
    if
    :: until = now + 1
    :: tick < now -> until = tick + 1
    fi;
    d_step {
      printf("time %d: backfill of %d to %d\n", now, tick, until - 1);
      live = live & alive;
      tick = (is_time(tick) -> tick : tick + 1);
      do
      :: tick < until ->
         backfill_tick(tick);
         last = tick;
         tick = next_tick(tick)
      :: else -> break
      od;
      last_tick_at = (last != 0 && last < next_at && last > last_tick_at -> last : last_tick_at);
      last = 0;
      tick = 0;
      until = 0;
      check_ticks()
    }
  }
}

proctype operator() {
  byte tick, until, last;
#ifdef CHANGE_OF_OLD_TIME
  byte read_at;
  bool is_changing;
#endif

end:
  do
  :: pause()
  :: resume()
  :: change()
  :: delete()
  :: create()
  :: run_by_hand()
  :: backfill()
  od
}

#define all_decided (exists && !paused && now == TIMES && next_at > TIMES && !a_tick_waits)

/* Where nothing can go on, every time has been decided, and nothing waits. */
proctype client() {
  do
  :: timeout -> assert(all_decided); break
  od
}

init {
  atomic {
    byte w;
    ticks_since = 1;
    for (w : 1 .. WORKERS) { run worker() }
    run clock();
    run tasks_and_retention();
    run operator();
    run client()
  }
}

#ifdef LIVENESS
ltl every_tick_is_decided { <> (all_decided) }
#endif
