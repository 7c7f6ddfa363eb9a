/*
 * How a unique key is taken, held and given up, as a model for Spin. A few producers enqueue with one key, each call in a
 * transaction that may be rolled back. Meanwhile tasks are claimed, end, are retried, rescued, cancelled, replayed, purged
 * and dropped, and rows of keys are removed. README.md says which SQL file each statement stands for, and what is left
 * out; `check` searches every interleaving.
 *
 * Statements of one transaction are steps of their own, under READ COMMITTED: each reads what is committed when it begins.
 * A statement that writes the key's row waits while another transaction has written the row, and then looks at its newest
 * version. The writes of a transaction become visible with its commit.
 */

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef TASKS /* calls of enqueue_unique, in all: each draws the id of a task */
#define TASKS 3
#endif
#ifndef RULE /* unique_while: while_pending, while_live, while_kept, or kept_for_period */
#define RULE while_live
#endif
#ifndef RETRIES /* and rescues, and tasks that are given back, in all */
#define RETRIES 1
#endif
#ifndef REPLAYS
#define REPLAYS 1
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 1
#endif
#define NOBODY 255
#define REPLAY 254 /* the replay's transaction, as a writer */
#define NONE TASKS

mtype = {while_pending, while_live, while_kept, kept_for_period};
mtype = {absent, pending, running, done, failed, gone}; /* status of a task; gone: purged, or dropped by retention */

/* ---- the database ------------------------------------------------------------------------------------------------ */

mtype status[TASKS] = absent;
bool begun[TASKS];       /* a worker has claimed it since it was enqueued or replayed */
byte shared[TASKS];      /* transactions that hold its row `for share` */
byte replaying = NONE;   /* the dead letter whose row a replay has locked */

/* The row of unique_keys, as of the last commit; NONE: there is none. */
byte holder = NONE;
byte version;            /* taken_at */
bool period_is_over;     /* of this taking */
byte writer = NOBODY;    /* the transaction that has written the row, or inserted it, and has not ended */

/* Known to the search alone. */
bool period_runs;        /* the period of the last taking is not over, whatever became of the row */

byte drawn;              /* ids that were drawn: nextval('tasks_id_seq') */
byte retries = RETRIES;
byte replays = REPLAYS;
byte rollbacks = ROLLBACKS;

#define is_live(t) (status[t] == pending || status[t] == running)
#define exists(t) (status[t] != absent && status[t] != gone)

#if TASKS == 2
#define EACH_TASK(step) :: step(0) :: step(1)
#define others(cond, t) ((t != 0 && cond(0)) || (t != 1 && cond(1)))
#define all_ended (!is_live(0) && !is_live(1))
#elif TASKS == 3
#define EACH_TASK(step) :: step(0) :: step(1) :: step(2)
#define others(cond, t) ((t != 0 && cond(0)) || (t != 1 && cond(1)) || (t != 2 && cond(2)))
#define all_ended (!is_live(0) && !is_live(1) && !is_live(2))
#elif TASKS == 4
#define EACH_TASK(step) :: step(0) :: step(1) :: step(2) :: step(3)
#define others(cond, t) ((t != 0 && cond(0)) || (t != 1 && cond(1)) || (t != 2 && cond(2)) || (t != 3 && cond(3)))
#define all_ended (!is_live(0) && !is_live(1) && !is_live(2) && !is_live(3))
#else
#error "2 to 4 tasks: change TASKS, or add a line"
#endif
#define waits_unbegun(t) (status[t] == pending && !begun[t])
#define is_pending(t) (status[t] == pending)

/* The truths that every commit that makes task t pending must leave. With while_pending, a task that has begun may wait again
   beside a later one, which was enqueued while the first ran. */
inline check_keys(t) {
  assert(RULE != while_live || !others(is_live, t));
  assert(RULE != while_pending || !others(waits_unbegun, t));
  assert(RULE != while_kept || !others(exists, t))
}

inline take(t) {
  holder = t;
  version++;
  period_is_over = false;
  period_runs = true
}

/* ---- a producer: dogged.enqueue_unique --------------------------------------------------------------------------- */

/* dogged.meet_holder, without the lock: whether the task of the row still holds the key. */
#ifdef ROW_IS_THE_KEY /* as if a row were the key, and the worker that completes the task removed the row */
#define holds(t) true
#elif defined(KEPT_BY_TASK)
#define holds(t) exists(t)
#else
#define holds(t) \
  ((RULE == while_pending && status[t] == pending) || (RULE == while_live && is_live(t)) || \
   (RULE == while_kept && exists(t)) || (RULE == kept_for_period && !seen_over))
#endif

#ifdef KEY_BY_ID /* whatever has become of the task since */
#define is_as_seen(t, v) (holder == t)
#else
#define is_as_seen(t, v) (holder == t && version == v)
#endif

#ifdef LOOKS_FIRST /* no primary key: the row is looked for, and then inserted without a wait */
#define may_write true
#else
#define may_write (writer == NOBODY)
#endif

/* insert into unique_keys … on conflict do nothing */
inline insert_key() {
  atomic {
    may_write ->
    if
    :: holder == NONE -> writer = me; took = true
    :: else
    fi
  }
}

inline look_for_key() {
  atomic {
    seen = holder;
    seen_version = version;
    seen_over = period_is_over
  }
}

/* A pending task is locked, so that its attempt begins after this transaction. The lock waits for a claim that is under
   way, and looks at the status again. */
inline meet_holder() {
  atomic {
    if
    :: holds(seen) ->
       met = seen;
#ifndef NO_HOLDER_LOCK
       shared[seen] = shared[seen] + (RULE == while_pending -> 1 : 0)
#endif
    :: else
    fi
  }
}

/* update unique_keys … where task_id = seen and taken_at = … */
inline update_key() {
  atomic {
    may_write ->
    if
    :: is_as_seen(seen, seen_version) -> writer = me; took = true
    :: else
    fi
  }
}

inline let_go() {
  writer = (writer == me -> NOBODY : writer);
#ifndef NO_HOLDER_LOCK
  if
  :: met != NONE && RULE == while_pending -> shared[met]--
  :: else
  fi;
#endif
  took = false;
  met = NONE;
  seen = NONE;
  seen_version = 0;
  seen_over = false
}

inline commit() {
  atomic {
    if
    :: took ->
       assert(RULE != kept_for_period || !period_runs);
       status[new] = pending;
       printf("producer %d: commits task %d, enqueued\n", me, new);
       take(new);
       check_keys(new)
    :: else ->
       assert(met != NONE);                                           /* a call gives a task */
       assert(RULE != while_pending || status[met] == pending);       /* which begins after this commit */
       printf("producer %d: commits, task %d existed\n", me, met)
    fi;
    let_go();
    new = NONE
  }
}

/* An error of its own, a lost connection, or a crash. */
inline roll_back() {
  atomic {
    rollbacks > 0 ->
    rollbacks--;
    printf("producer %d: rolls back\n", me);
    let_go();
    new = NONE
  }
}

proctype producer(byte me) {
  byte new = NONE;      /* the id that the call has drawn */
  bool took;            /* the key, in this transaction */
  byte met = NONE;      /* the holder that the call gives */
  byte seen = NONE;     /* the row as the call has read it */
  byte seen_version;
  bool seen_over;

end:
  do
  :: atomic { drawn < TASKS -> new = drawn; drawn++ }
     insert_key();
     do
     :: took || met != NONE -> break
     :: else ->
        look_for_key();
        if
        :: seen == NONE -> insert_key()
        :: else ->
           meet_holder();
           if
           :: met != NONE
           :: else -> update_key()
           fi
        fi
     od;
     if
     :: commit()
     :: roll_back()
     fi
  od
}

/* ---- what becomes of tasks --------------------------------------------------------------------------------------- */

#define is_free(t) (shared[t] == 0) /* for a statement that locks the row, or skips a locked one */

/* claim.sql skips locked rows. */
inline claim(t) {
  atomic {
    status[t] == pending && is_free(t) -> status[t] = running; begun[t] = true; printf("task %d begins\n", t)
  }
}

/* complete.sql, for a retry and for a rescue; release.sql. None looks at keys. */
inline wait_again(t) {
  atomic {
    status[t] == running && retries > 0 ->
    retries--;
#ifdef RETRY_TAKES_KEY /* as with a unique index of pending tasks */
    assert(!others(is_pending, t));
#endif
    status[t] = pending;
    printf("task %d waits again\n", t)
  }
}

inline end_task(t) {
  atomic {
    status[t] == running ->
    if
    :: status[t] = done
    :: status[t] = failed
    fi;
    printf("task %d ends: %e\n", t, status[t]);
#ifdef ROW_IS_THE_KEY
    holder = (holder == t -> NONE : holder)
#endif
  }
}

/* dogged.cancel of a pending task, and its expiry. */
inline cancel(t) {
  atomic { status[t] == pending && is_free(t) -> status[t] = done; printf("task %d is cancelled\n", t) }
}

/* dogged.purge, and retention. */
inline drop_task(t) {
  atomic {
    (status[t] == done || status[t] == failed) && replaying != t -> status[t] = gone; printf("task %d is dropped\n", t)
  }
}

proctype worker() {
end:
  do
  EACH_TASK(claim)
  EACH_TASK(wait_again)
  EACH_TASK(end_task)
  EACH_TASK(cancel)
  EACH_TASK(drop_task)
  od
}

/* ---- dogged.replay ----------------------------------------------------------------------------------------------- */

#define other_holds(t) (holder != NONE && holder != t && is_live(holder))

/* The dead letter's row is locked, and the key's row is read as of the statement's beginning. */
inline begin_replay(t) {
  atomic {
    replays > 0 && replaying == NONE && status[t] == failed ->
    replays--;
    if
    :: other_holds(t) -> printf("task %d is not replayed: key_held\n", t)
    :: else -> replaying = t; seen = holder; seen_version = version
    fi
  }
}

inline take_again() {
  atomic {
#ifdef REPLAY_LOOKS_ONLY /* the key's row stays as it is */
    replaying != NONE && !may_commit ->
    if
    :: true -> may_commit = true
#else
    replaying != NONE && !may_commit && writer == NOBODY ->
    if
    :: holder == NONE -> writer = REPLAY; may_commit = true
    :: holder != NONE && holder == seen && version == seen_version -> writer = REPLAY; may_commit = true
    :: else -> printf("task %d is not replayed: key_held\n", replaying); forget_replay()
#endif
    fi
  }
}

inline forget_replay() {
  writer = (writer == REPLAY -> NOBODY : writer);
  may_commit = false;
  replaying = NONE;
  seen = NONE;
  seen_version = 0
}

proctype operator() {
  byte seen = NONE;
  byte seen_version;
  bool may_commit;

end:
  do
  EACH_TASK(begin_replay)
  :: take_again()
  :: atomic {
       may_commit ->
       if
       :: status[replaying] = pending;
          begun[replaying] = false;
          printf("task %d is replayed\n", replaying);
#ifndef REPLAY_LOOKS_ONLY
          take(replaying);
#endif
          check_keys(replaying)
       :: rollbacks > 0 -> rollbacks--
       fi;
       forget_replay()
     }
  od
}

/* ---- dogged.forget_keys, and time -------------------------------------------------------------------------------- */

#ifdef ROW_IS_THE_KEY
#define is_forgotten false
#else
#define is_forgotten \
  (holder != NONE && !is_live(holder) && (RULE != while_kept || !exists(holder)) && (RULE != kept_for_period || period_is_over))
#endif

proctype upkeep() {
  byte seen = NONE;
  byte seen_version;

end:
  do
  :: atomic { seen == NONE && is_forgotten -> seen = holder; seen_version = version }
  :: atomic {
       seen != NONE && writer == NOBODY ->
       if
#ifdef FORGETS_BY_KEY
       :: holder != NONE -> holder = NONE; printf("the key is forgotten\n")
#else
       :: holder == seen && version == seen_version -> holder = NONE; printf("the key is forgotten\n")
#endif
       :: else
       fi;
       seen = NONE;
       seen_version = 0
     }
  :: atomic { RULE == kept_for_period && period_runs -> period_runs = false; period_is_over = true }
  od
}

/* Where nothing can go on, all tasks have ended, and no row is left that nobody holds. */
proctype client() {
  do
  :: timeout -> assert(all_ended && drawn == TASKS && writer == NOBODY && holder == NONE); break
  od
}

init {
  atomic {
    byte p;
    for (p : 1 .. PRODUCERS) { run producer(p) }
    run worker();
    run operator();
    run upkeep();
    run client()
  }
}

#ifdef LIVENESS
ltl every_call_ends { <> (all_ended && drawn == TASKS && writer == NOBODY && holder == NONE) }
#endif
