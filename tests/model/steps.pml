/*
 * The steps that the attempts of one task record, as a model for Spin. A handler records a step, writes to the database
 * in the transaction of a step (step_in), and waits for an event. Meanwhile its attempt is lost at any moment, answers are
 * lost, and the event is emitted. README.md says which SQL file each statement stands for, and what is left out; `check`
 * searches every interleaving.
 *
 * A handler goes on after its attempt was lost: its process is the handler alone, and a process beside it ends the
 * attempt. A stall needs no code of its own. A statement that locks nothing is two steps, so that anything may come
 * between. One step reads by its snapshot, and the other writes what is then committed.
 */

#ifndef ATTEMPTS
#define ATTEMPTS 3
#endif
#ifndef LOST_ANSWERS
#define LOST_ANSWERS 1
#endif
#ifdef TWO_OVERTAKEN
#define OVERTAKEN 2
#endif
#ifndef OVERTAKEN /* records that were read as their attempt's, and are written when it has been lost */
#define OVERTAKEN 1
#endif
#ifndef STEP_IN /* the first step writes in its own transaction */
#define STEP_IN 0
#endif
#ifndef WAIT /* the handler waits for an event between two steps */
#define WAIT 0
#endif
#ifndef FAULTS /* attempts that are lost, or end while their handler goes on; one is left for a wait, and for a snooze */
#define FAULTS (ATTEMPTS - 1 - WAIT - STEP_IN)
#endif
#ifndef TIMEOUT /* the wait has one */
#define TIMEOUT 0
#endif
#ifndef EMITS
#define EMITS WAIT
#endif
#ifndef ROLLBACKS /* of transactions that emit */
#define ROLLBACKS 0
#endif
#ifndef PRUNES /* of events, by retention */
#define PRUNES 0
#endif
#define NOBODY 255
#define COMMITTING 254 /* a transaction whose COMMIT was sent, and whose connection is given up */
#define EMITTER 253

mtype = {pending, running, ended};  /* status of the task */
mtype = {nothing, sent, read};      /* a record that its sender has given up: where the statement is */

/* ---- the database ------------------------------------------------------------------------------------------------ */

mtype status = pending;
byte attempt;
byte worker;
byte row_lock = NOBODY; /* the transaction that has locked the task's row */

/* task_steps: for each step and attempt what it gave, which is the number of the attempt that ran it; 0: no row. */
#define FIRST 0
#define SECOND 1
#define THE_WAIT 2
#define row(s, k) record[(s) * (ATTEMPTS + 1) + (k)]
byte record[3 * (ATTEMPTS + 1)];
byte effects; /* what step_in has written */

/* The wait's row of task_waits, the latest row of events, and the lock on the event's name. */
bool deferred;
bool wait_is_there;
byte wait_attempt;
byte wait_payload; /* 0: the event has not arrived */
byte event;        /* 0: none is kept */
byte sharers;
bool emitting;
bool time_is_over;

/* Known to the search alone: on which first step and which event the second step of an attempt was built. Also what was
   on record when the attempt began, and whether an event was emitted to a wait. */
byte built_on_step[ATTEMPTS + 1];
byte built_on_event[ATTEMPTS + 1];
bool has_arrived;

/* A record that its handler has given up. */
mtype late = nothing;
byte late_step, late_attempt, late_worker, late_as;
byte in_doubt; /* the attempt whose step_in commits late; 0: none */

bool between; /* the record of the attempt that runs was read as such, and is not written */
byte overtaken;

byte faults = FAULTS;
byte lost_answers = LOST_ANSWERS;
byte emits = EMITS;
byte rollbacks = ROLLBACKS;
byte prunes = PRUNES;
byte emitted;

#define holds(n, w) (status == running && attempt == n && worker == w)

/* record_step.sql */
#ifdef NO_STEP_FENCE
#define may_record(n, w) true
#define recorded_as(n) n
#elif defined(NO_ATTEMPT_FENCE)
#define may_record(n, w) (status == running && worker == w)
#define recorded_as(n) attempt
#else
#define may_record(n, w) holds(n, w)
#define recorded_as(n) n
#endif

/* Of several attempts that have recorded the step, that which counts. */
#if ATTEMPTS == 2
#define last_of(s) (row(s, 2) -> 2 : (row(s, 1) -> 1 : 0))
#define first_of(s) (row(s, 1) -> 1 : (row(s, 2) -> 2 : 0))
#elif ATTEMPTS == 3
#define last_of(s) (row(s, 3) -> 3 : (row(s, 2) -> 2 : (row(s, 1) -> 1 : 0)))
#define first_of(s) (row(s, 1) -> 1 : (row(s, 2) -> 2 : (row(s, 3) -> 3 : 0)))
#elif ATTEMPTS == 4
#define last_of(s) (row(s, 4) -> 4 : (row(s, 3) -> 3 : (row(s, 2) -> 2 : (row(s, 1) -> 1 : 0))))
#define first_of(s) (row(s, 1) -> 1 : (row(s, 2) -> 2 : (row(s, 3) -> 3 : (row(s, 4) -> 4 : 0))))
#else
#error "2 to 4 attempts: change ATTEMPTS, or add a line"
#endif
#ifdef FIRST_COUNTS
#define counting(s) first_of(s)
#else
#define counting(s) last_of(s)
#endif

inline write_record(s, as, value) {
  assert(row(s, as) == 0 || row(s, as) == value); /* what is on record never changes */
  row(s, as) = value;
  printf("attempt %d: step %d is on record as %d\n", as, s, value)
}

/* ---- a handler: Context::step, step_in and wait_event ------------------------------------------------------------ */

/* names_of_steps.sql, at the first step of an attempt. */
inline ask_names() {
  atomic {
    if
    :: holds(n, w) -> knows_first = (counting(FIRST) != 0); knows_second = (counting(SECOND) != 0)
    :: else -> goto out
    fi
  }
}

/* recorded_step.sql */
inline ask_result(s, value) {
  atomic {
    if
    :: holds(n, w) -> value = row(s, counting(s))
    :: else -> goto out
    fi
  }
}

/* A handler that did not get the answer to its record asks whether the step is on record: as its own. */
#ifdef ASKS_ANY_ATTEMPT
#define is_mine(s, n) (counting(s) != 0)
#else
#define is_mine(s, n) (row(s, n) != 0)
#endif

inline give_up(where, s) {
  late = where;
  late_step = s;
  late_attempt = n;
  late_worker = w;
  late_as = as
}

inline record_step(s) {
  was_sent = false;
  do
  :: was_sent ->
     atomic {
       if
       :: !holds(n, w) -> goto out
       :: holds(n, w) && is_mine(s, n) -> break
       :: holds(n, w) && !is_mine(s, n) -> was_sent = false
       fi
     }
  :: !was_sent ->
     was_sent = true;
     if
     :: atomic { may_record(n, w) -> as = recorded_as(n); between = (attempt == n) }
        if
        :: atomic {
             write_record(s, as, n);
             built_on_step[as] = (s == SECOND -> first_value : built_on_step[as]);
             built_on_event[as] = (s == SECOND -> event_value : built_on_event[as]);
             between = (attempt == n -> false : between)
           }
           if
           :: break
           :: atomic { lost_answers > 0 -> lost_answers--; printf("attempt %d: does not know\n", n) }
           fi
        :: atomic {
             lost_answers > 0 && late == nothing && s == FIRST ->
             lost_answers--;
             give_up(read, s);
             between = (attempt == n -> false : between);
             printf("attempt %d: gives up a record under way\n", n)
           }
        fi
     :: atomic { !may_record(n, w) -> goto out }
     :: atomic { lost_answers > 0 -> lost_answers--; printf("attempt %d: a record does not arrive\n", n) }
     :: atomic {
          lost_answers > 0 && late == nothing && s == FIRST ->
          lost_answers--;
          give_up(sent, s);
          printf("attempt %d: a record is late\n", n)
        }
     fi
  od
}

inline run_step(s) {
  atomic {
    assert(!(s == FIRST && had_first) && !(s == SECOND && had_second)); /* no attempt repeats what is on record */
    printf("attempt %d: runs step %d\n", n, s)
  }
}

/* The record and what the step writes are one transaction, which locks the task's row. */
inline commit_step_in(k) {
#ifndef EFFECT_APART
  effects++;
  assert(effects == 1); /* it happens once */
#endif
  write_record(FIRST, k, k);
  row_lock = NOBODY
}

#ifdef NO_LOOK_IN_STEP_IN
#define is_new(n) true
#else
#define is_new(n) (row(FIRST, n) == 0)
#endif

inline step_in() {
  do
  :: knows_first -> ask_result(FIRST, first_value); break
  :: !knows_first ->
#ifdef EFFECT_APART
     atomic { effects++; assert(effects == 1) }
#endif
     if
     :: atomic { row_lock == NOBODY && holds(n, w) && is_new(n) -> row_lock = n }
#ifdef STEP_IN_UNLOCKED
        row_lock = NOBODY;
#endif
        if
        :: atomic { commit_step_in(n) }
           if
           :: first_value = n; break
           :: atomic { lost_answers > 0 -> lost_answers--; printf("attempt %d: does not know\n", n) }
           fi
        :: atomic { lost_answers > 0 -> lost_answers--; row_lock = NOBODY; printf("attempt %d: rolls back\n", n) }
        :: atomic {
             lost_answers > 0 && in_doubt == 0 ->
             lost_answers--;
             in_doubt = n;
             row_lock = COMMITTING;
             printf("attempt %d: its commit is late\n", n)
           }
        fi
     :: atomic { row_lock == NOBODY && !holds(n, w) -> goto out }
     :: atomic {
          row_lock == NOBODY && holds(n, w) && !is_new(n) -> status = pending; printf("attempt %d: snoozes\n", n); goto out
        }
     fi;
     ask_first()
  od
}

/* The same attempt calls step_in again, and asks first. */
inline ask_first() {
  atomic {
    if
    :: holds(n, w) -> knows_first = (counting(FIRST) != 0)
    :: else -> goto out
    fi
  }
}

#ifdef NO_EVENT_LOCK
#define may_wait true
#define may_emit true
#else
#define may_wait (!emitting)
#define may_emit (!emitting && sharers == 0)
#endif

/* dogged.wait_durably. A handler that finds an emit of the event under way asks again. */
inline wait_event() {
  do
  :: atomic {
       may_wait ->
       if
       :: !holds(n, w) -> goto out
       :: holds(n, w) && counting(THE_WAIT) != 0 ->
          event_value = row(THE_WAIT, counting(THE_WAIT)) - 1;
          break
       :: else ->
          sharers++;
          payload = (wait_is_there && wait_payload != 0 -> wait_payload : event);
          is_over = time_is_over
       fi
     }
     if
     :: payload != 0 || is_over ->
        atomic {
          assert(payload != 0 || event == 0); /* no event that has come is missed */
          write_record(THE_WAIT, n, payload + 1);
          wait_is_there = false;
          wait_attempt = 0;
          wait_payload = 0;
          event_value = payload;
          sharers--
        }
        break
     :: payload == 0 && !is_over ->
        atomic {
          sharers--;
          if
          :: row_lock == NOBODY && holds(n, w) ->
             status = pending;
             deferred = true;
             wait_is_there = true;
             wait_attempt = n;
             wait_payload = 0;
             printf("attempt %d: waits\n", n);
             goto out
          :: else /* busy */
          fi
        }
     fi
  od
}

proctype handler(byte n, w) {
  bool knows_first, knows_second;                       /* what is on record, as the attempt has asked */
  bool had_first = (counting(FIRST) != 0);              /* and as it was when the attempt began */
  bool had_second = (counting(SECOND) != 0);
  byte first_value, event_value, payload, as;
  bool was_sent, is_over;

  ask_names();
#if STEP_IN
  step_in();
#else
  if
  :: knows_first -> ask_result(FIRST, first_value)
  :: !knows_first -> run_step(FIRST); record_step(FIRST); first_value = n
  fi;
#endif
#if WAIT
  wait_event();
#endif
  if
  :: knows_second ->
     atomic {
       if
       :: holds(n, w) ->
          assert(built_on_step[counting(SECOND)] == first_value);   /* all attempts get the same value of a step */
          assert(built_on_event[counting(SECOND)] == event_value)
       :: else -> goto out
       fi
     }
  :: !knows_second -> run_step(SECOND); record_step(SECOND)
  fi;
  atomic {
    row_lock == NOBODY ->
    if
    :: holds(n, w) ->
       status = ended;
       assert(!STEP_IN || effects == 1);
       printf("attempt %d: succeeds\n", n)
    :: else
    fi
  }
out:
  skip
}

/* ---- what happens beside it -------------------------------------------------------------------------------------- */

/* claim.sql skips locked rows. A worker may get the task again whose former handler still goes on there. */
inline claim(w) {
  atomic {
    status == pending && !deferred && row_lock == NOBODY && attempt < ATTEMPTS ->
    attempt++;
    worker = w;
    status = running;
    printf("attempt %d: begins, worker %d\n", attempt, w);
    run handler(attempt, w)
  }
}

/* How many records of the attempt that runs have been read, and not written. */
#define under_way ((between -> 1 : 0) + (late == read && late_attempt == attempt -> 1 : 0))

/* Rescue, and reports of a worker that has given its handler up: they lock the row, or skip a locked one. */
inline lose() {
  atomic {
    faults > 0 && status == running && row_lock == NOBODY && attempt < ATTEMPTS && overtaken + under_way <= OVERTAKEN ->
    faults--;
    overtaken = overtaken + under_way;
    between = false;
    status = pending;
    printf("attempt %d: is lost\n", attempt)
  }
}

proctype workers() {
end:
  do
  :: claim(0)
  :: claim(1)
  :: lose()
  :: atomic { deferred && time_is_over && row_lock == NOBODY -> deferred = false; printf("the time of the wait is over\n") }
  :: atomic { TIMEOUT && wait_is_there && !time_is_over -> time_is_over = true }
  /* A transaction that has read events keeps their partitions locked until it ends. */
  :: atomic { prunes > 0 && event != 0 && sharers == 0 -> prunes--; event = 0; printf("the event is dropped\n") }
  od
}

/* Statements whose connections were given up. */
proctype server() {
end:
  do
  :: atomic {
       late == sent ->
       if
       :: may_record(late_attempt, late_worker) -> late = read; late_as = recorded_as(late_attempt)
       :: else -> late = nothing; late_step = 0; late_attempt = 0; late_worker = 0; late_as = 0
       fi
     }
  :: atomic {
       late == read ->
       write_record(late_step, late_as, late_attempt);
       late = nothing;
       late_step = 0;
       late_attempt = 0;
       late_worker = 0;
       late_as = 0
     }
  :: atomic {
       in_doubt != 0 ->
       if
       :: commit_step_in(in_doubt)
       :: row_lock = NOBODY
       fi;
       in_doubt = 0
     }
  od
}

/* dogged.emit, in a transaction of its caller's. */
proctype emitter() {
  bool arrives, wakes;

end:
  do
  :: atomic { emits > 0 && may_emit -> emits--; emitting = true; emitted++ }
     atomic {
       row_lock == NOBODY ->
       arrives = (wait_is_there && wait_payload == 0);
       wakes = (arrives && status == pending && deferred && attempt == wait_attempt);
       row_lock = (wakes -> EMITTER : NOBODY)
     }
     atomic {
       row_lock = (wakes -> NOBODY : row_lock);
       if
       :: has_arrived = (arrives -> true : has_arrived);
#ifndef ARRIVES_IN_EVENTS_ALONE
          wait_payload = (arrives -> emitted : wait_payload);
#endif
          deferred = (wakes -> false : deferred);
#ifndef KEEPS_NO_EVENT
          event = emitted;
#endif
          printf("event %d is emitted\n", emitted)
       :: rollbacks > 0 -> rollbacks--
       fi;
       emitting = false;
       arrives = false;
       wakes = false
     }
  od
}

/* Where nothing can go on, the task has ended, or waits for an event that nobody has emitted. */
#ifdef KEEPS_NO_EVENT
#define has_come (emitted != 0)
#else
#define has_come (has_arrived || event != 0)
#endif
proctype client() {
  do
  :: timeout -> assert(status == ended || (status == pending && deferred && !has_come)); break
  od
}

init {
  atomic {
    run workers();
    run server();
#if WAIT
    run emitter();
#endif
    run client()
  }
}

#ifdef LIVENESS
ltl the_task_ends { <> (status == ended) }
#endif
