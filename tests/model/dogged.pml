/*
 * How tasks are claimed, run, ended, given back, cancelled and rescued, as a model for Spin. There are a few workers and
 * one or two tasks, with a crash, a stall, a shutdown, a lost answer or a late statement at any step. README.md says
 * which SQL file each statement stands for, and what is left out; `check` searches every interleaving.
 *
 * A worker is one process whose options are the steps of its threads, so its threads interleave freely. Each step is
 * atomic and holds at most one transaction. The knowledge of the database (task, lease) and the belief of the worker
 * (its locals) change together only where the answer arrives. A stall needs no code of its own: a process that is not
 * scheduled stalls, and while it does its lease may lapse.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef FAULTS /* crashes, lapses of a lease and shutdowns, in all */
#define FAULTS 2
#endif
#ifndef LOST_ANSWERS
#define LOST_ANSWERS 2
#endif
#ifndef LATE /* of the lost answers: those of statements that arrive only when the worker has given up the connection */
#define LATE 1
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#ifndef REPLAYS /* of tasks that ended failed */
#define REPLAYS 0
#endif
#ifndef STALE_RELEASES /* times that a worker gives back an unstarted task because its threads are busy */
#define STALE_RELEASES 1
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef MAX_RETRIES
#define MAX_RETRIES 1
#endif
#ifndef SNOOZES /* attempts that end with Context::snooze */
#define SNOOZES 0
#endif
#define MAX_SNOOZES 1 /* of a task */
#ifndef SUSPENSIONS /* attempts that end in Context::sleep or wait_event */
#define SUSPENSIONS 0
#endif
#define MAX_LOSSES 2
#define LEASES (WORKERS + FAULTS) /* each fault makes at most one new incarnation */
#define NOBODY LEASES
#define NOTHING TASKS

#if TASKS == 1
#define EACH_TASK(step) :: step(0)
#define all_ended (is_ended(0))
#define anything_under(l) (runs_under(0, l))
#else
#define EACH_TASK(step) :: step(0) :: step(1)
#define all_ended (is_ended(0) && is_ended(1))
#define anything_under(l) (runs_under(0, l) || runs_under(1, l))
#endif
#if LEASES == 2
#define EACH_LEASE(step) :: step(0) :: step(1)
#elif LEASES == 3
#define EACH_LEASE(step) :: step(0) :: step(1) :: step(2)
#elif LEASES == 4
#define EACH_LEASE(step) :: step(0) :: step(1) :: step(2) :: step(3)
#elif LEASES == 5
#define EACH_LEASE(step) :: step(0) :: step(1) :: step(2) :: step(3) :: step(4)
#else
#error "2 to 5 leases: change WORKERS or FAULTS, or add a line"
#endif

mtype = {pending, running, succeeded, failed, cancelled}; /* status of a task; the last four also outcomes */
mtype = {lost, interrupted, snoozed};                     /* the other outcomes */
mtype = {none, waits, runs};                              /* what a worker does with a task */
mtype = {late_claim, late_release, late_ask};             /* a statement that its sender has given up */

/* ---- the database ------------------------------------------------------------------------------------------------ */

typedef Task {
  mtype status = pending;
  byte attempt;
  byte lease = NOBODY;
  byte retries;
  byte losses;
  byte snoozes;
  bool cancel_requested;
  byte recorded; /* rows in task_attempts: numbers 1 to this */
}
typedef Lease {
  bool lapsed; /* lease_until has passed */
  bool stopped;
  bool ended;
  bool rescued;
}
Task task[TASKS];
Lease lease[LEASES];
byte registered = WORKERS;

byte faults = FAULTS;
byte lost_answers = LOST_ANSWERS;
byte late_left = LATE;
byte cancels = CANCELS;
byte replays = REPLAYS;
byte stale_releases = STALE_RELEASES;
byte snoozes = SNOOZES;
byte suspensions = SUSPENSIONS;
byte living = WORKERS;

#define is_ended(t) (task[t].status != pending && task[t].status != running)
#define runs_under(t, l) (task[t].status == running && task[t].lease == l)

/* The fences, and the broken variants that show what each is for: `check` demands that the search refuses them. */
#ifdef NO_FENCE /* as other queues do it: a worker ends any running task that the worker ran once */
#define holds(l, t, n) (task[t].status == running)
#elif defined(NO_ATTEMPT_FENCE)
#define holds(l, t, n) (runs_under(t, l))
#elif defined(NO_LEASE_FENCE)
#define holds(l, t, n) (task[t].status == running && task[t].attempt == n)
#else
#define holds(l, t, n) (runs_under(t, l) && task[t].attempt == n)
#endif

#ifdef NO_CLAIM_FENCE
#define may_claim(l) true
#elif defined(NO_CLAIM_LOCK) /* the claim reads the lease's row, and does not keep it from being changed meanwhile */
#define may_claim(l) saw_lease
#else
#define may_claim(l) (!lease[l].ended && !lease[l].stopped)
#endif

/* claim_session: whether a late statement still counts, its worker having begun a later session or not. A statement
   that is not late is always of the session that the lease's row has. */
#ifdef NO_CLAIM_SESSION
#define late_claim_counts true
#else
#define late_claim_counts (!late_is_over)
#endif

#ifdef NO_RELEASE_SESSION
#define late_release_counts true
#else
#define late_release_counts (!late_is_over)
#endif

#ifdef ASKED_APART /* what is late of it does not hold the lease's row, so the next session does not wait for it */
#define late_ask_counts true
#else
#define late_ask_counts (!late_is_over)
#endif

#ifdef NO_HEARTBEAT_FENCE
#define may_renew(l) true
#else
#define may_renew(l) (!lease[l].ended)
#endif

#ifdef NO_CANCEL_FENCE
#define knows_enough(t, outcome, knows_cancel) true
#else
#define knows_enough(t, outcome, knows_cancel) \
  (outcome == succeeded || knows_cancel == task[t].cancel_requested)
#endif

#ifdef SUSPENDS_CANCELLED
#define may_suspend(t) true
#else
#define may_suspend(t) (!task[t].cancel_requested)
#endif

#ifdef NO_SUSPEND_FENCE
#define holds_to_suspend(l, t, n) (task[t].status == running)
#else
#define holds_to_suspend(l, t, n) holds(l, t, n)
#endif

#ifdef STOPPED_NEVER_ENDS /* who has signed off is taken to have left nothing behind */
#define may_be_ended(l) (lease[l].lapsed && !lease[l].ended && !lease[l].stopped)
#else
#define may_be_ended(l) (lease[l].lapsed && !lease[l].ended)
#endif

/* The truths that every statement must leave of a task that it has changed. */
inline check_task(t) {
  assert(task[t].attempt == task[t].recorded + (task[t].status == running -> 1 : 0)); /* 1..n without gap */
  assert(task[t].status != pending || !task[t].cancel_requested);                     /* it would run again */
  assert(task[t].status != running || !lease[task[t].lease].rescued);                 /* nobody would rescue it */
  assert(task[t].snoozes <= MAX_SNOOZES);
  assert(task[t].losses <= MAX_LOSSES && (task[t].losses < MAX_LOSSES || is_ended(t)))
}

/* claim.sql: one task more for lease l. */
inline claim_statement(l, t) {
  task[t].status = running;
  task[t].attempt++;
  task[t].lease = l;
#if !defined(NO_CLAIM_FENCE) && !defined(NO_CLAIM_LOCK) /* those shall show what comes of it */
  assert(!lease[l].ended);
#endif
  check_task(t)
}

/* release.sql, release_unknown.sql: no attempt is spent, so the same number will be given again. */
inline release_statement(t) {
  assert(task[t].status == running);
  assert(exec[t] != runs || exec_n[t] != task[t].attempt);     /* or that number would be executed twice */
  assert(report[t] == none || report_n[t] != task[t].attempt);
  task[t].attempt--;
  task[t].lease = NOBODY;
  task[t].status = (task[t].cancel_requested -> cancelled : pending);
  check_task(t)
}

/* lifecycle::after_attempt, with what the reporter knew when it decided. */
inline after_attempt(t, outcome, knows_cancel) {
  if
  :: outcome == succeeded -> task[t].status = succeeded
  :: outcome == lost ->
     task[t].losses++;
     task[t].status = (knows_cancel -> cancelled : (task[t].losses >= MAX_LOSSES -> failed : pending))
  :: outcome == cancelled -> task[t].status = cancelled
  :: outcome == interrupted -> task[t].status = pending
  :: outcome == snoozed && task[t].snoozes < MAX_SNOOZES ->
     task[t].snoozes++;
     task[t].status = pending
  :: outcome == snoozed && task[t].snoozes >= MAX_SNOOZES -> task[t].status = failed /* SNOOZED_TOO_OFTEN */
  :: outcome == failed && task[t].retries < MAX_RETRIES ->
     task[t].retries++;
     task[t].status = pending
  :: outcome == failed && task[t].retries >= MAX_RETRIES -> task[t].status = failed
  fi
}

/* complete.sql for attempt n under lease l; says in `taken` whether it counted. */
inline complete_statement(l, t, n, outcome, knows_cancel) {
  taken = holds(l, t, n) && knows_enough(t, outcome, knows_cancel);
  if
  :: taken ->
     assert(task[t].status == running); /* nothing is ended twice */
     assert(n == task[t].recorded + 1); /* each attempt has one row, in order */
     assert(task[t].lease == l);        /* and it is the row of the execution that held the task */
     task[t].recorded = n;
     after_attempt(t, outcome, knows_cancel);
     task[t].lease = NOBODY;
     check_task(t)
  :: else
  fi
}

/* dogged.suspend: the attempt ends in a statement of the handler's own, and is counted by no limit. */
inline suspend_statement(l, t, n) {
  assert(task[t].lease == l && n == task[t].recorded + 1); /* as in complete_statement */
  task[t].recorded = n;
  task[t].status = pending;
  task[t].lease = NOBODY;
  check_task(t)
}

/* ---- a worker: the steps of its threads -------------------------------------------------------------------------- */

/* A statement that is under way when its connection is given up: its answer is lost, and it arrives later, or never. */
#define can_be_late (late == none && late_left > 0 && lost_answers > 0)

inline send_late(statement) {
  late = statement;
  late_lease = me;
  late_left--;
  lost_answers--;
  printf("worker %d, lease %d: sends a %e\n", _pid, me, late)
}

inline forget_late() {
  for (i : 0 .. TASKS - 1) {
    late_exec_n[i] = 0;
    late_report_n[i] = 0
  }
  i = 0;
  late = none;
  late_lease = NOBODY;
  late_is_over = false
}

/* The claimer. It asks for nothing while it does not know what its last claim took. */
inline claim(t) {
  atomic {
    !leaving && !in_doubt && task[t].status == pending && may_claim(me) ->
    d_step {
      assert(exec[t] == none); /* it never gets what it runs already */
      printf("worker %d, lease %d: claims task %d\n", _pid, me, t);
      claim_statement(me, t);
#ifdef NO_CLAIM_LOCK
      saw_lease = false
#endif
    }
    if
    :: exec[t] = waits; exec_n[t] = task[t].attempt
    :: lost_answers > 0 -> lost_answers--; in_doubt = true; printf("  and does not know\n")
    fi
  }
}

inline claim_late() {
  atomic {
    !all_ended && !leaving && !in_doubt && can_be_late -> d_step { send_late(late_claim); in_doubt = true }
  }
}

inline claim_arrives(t) {
  atomic {
    late == late_claim && late_claim_counts && task[t].status == pending && may_claim(late_lease) ->
    d_step {
      printf("worker %d, lease %d: a late claim takes task %d\n", _pid, late_lease, t);
      claim_statement(late_lease, t);
      forget_late()
    }
  }
}

#ifdef NO_CLAIM_LOCK
inline look_at_lease() {
  atomic { !saw_lease && !leaving && !lease[me].ended && !lease[me].stopped -> saw_lease = true }
}
#endif

/* The attempts that the worker knows of: its executors first, then its completer (Claimer::give_back_unknown). */
#ifdef HELD_BY_ID /* without the attempt, which may be another than the one that it knows */
#define holds_attempt(t, n) (n != 0)
#else
#define holds_attempt(t, n) (n != 0 && n == task[t].attempt)
#endif
#define known(t) (holds_attempt(t, exec_n[t]) || holds_attempt(t, report_n[t]))
#define told(t) (holds_attempt(t, late_exec_n[t]) || holds_attempt(t, late_report_n[t]))

/* begin_claim_session.sql and release_unknown.sql, which counts in that session only, for what runs under lease l and is not `held`. */
inline ask_statement(l, held) {
  for (i : 0 .. TASKS - 1) {
    if
    :: runs_under(i, l) && !(held) ->
       printf("worker %d, lease %d: gives back task %d, which it did not know of\n", _pid, l, i);
       release_statement(i)
    :: else
    fi
  }
  i = 0
}

inline give_back_unknown() {
  atomic {
    in_doubt ->
    if
    :: d_step {
         late_is_over = (late_lease == me);
         ask_statement(me, known(i))
       }
       if
       :: in_doubt = false
       :: lost_answers > 0 -> lost_answers-- /* and it asks again */
       fi
    :: can_be_late ->
       d_step {
         send_late(late_ask);
         for (i : 0 .. TASKS - 1) {
           late_exec_n[i] = exec_n[i];
           late_report_n[i] = report_n[i]
         }
         i = 0
       }
    fi
  }
}

inline ask_arrives() {
  atomic {
    late == late_ask && late_ask_counts ->
    d_step {
      printf("worker %d, lease %d: a late ask arrives\n", _pid, late_lease);
      ask_statement(late_lease, told(i));
      forget_late()
    }
  }
}

/* An unstarted task goes back: its threads are busy, or the worker leaves. */
inline give_back(t) {
  atomic {
    exec[t] == waits && !in_doubt && (leaving || stale_releases > 0) ->
    if
    :: leaving
    :: else -> stale_releases--
    fi;
    if
    :: d_step {
         if
         :: runs_under(t, me) && task[t].attempt == exec_n[t] ->
            printf("worker %d, lease %d: gives back task %d\n", _pid, me, t);
            release_statement(t)
         :: else
         fi
       }
       if
       :: forget_execution(t)
       :: lost_answers > 0 -> lost_answers--; release_not_answered(t)
       fi
    :: can_be_late -> d_step { send_late(late_release); late_exec_n[t] = exec_n[t] } release_not_answered(t)
    fi
  }
}

/* It is forgotten when it is sent: give_back_unknown finds what is left. A worker that leaves claims no more,
   and sends it again. */
inline release_not_answered(t) {
  if
  :: leaving
  :: else -> forget_execution(t); in_doubt = true
  fi
}

inline forget_execution(t) {
  exec[t] = none;
  exec_n[t] = 0
}

inline release_arrives(t) {
  atomic {
    late == late_release && late_release_counts && runs_under(t, late_lease) && task[t].attempt == late_exec_n[t] ->
    d_step {
      printf("worker %d, lease %d: a late release gives back task %d\n", _pid, late_lease, t);
      release_statement(t);
      forget_late()
    }
  }
}

/* It never arrives, or does so when it changes nothing. */
inline late_is_lost() {
  atomic { late != none -> d_step { forget_late() } }
}

/* An executor. */
inline begin(t) {
  atomic {
    !leaving && exec[t] == waits ->
    d_step {
      exec[t] = runs;
      /* It holds the attempt, or has lost it since: nobody else will execute that number. */
      assert((runs_under(t, me) && task[t].attempt == exec_n[t]) || task[t].recorded >= exec_n[t]);
      printf("worker %d, lease %d: runs task %d, attempt %d\n", _pid, me, t, exec_n[t])
    }
  }
}

/* It ends by itself, or it is told to stop, or it is given up: one report, after which the execution counts no more. */
inline finish(t) {
  atomic {
    exec[t] == runs && report[t] == none ->
    if
    :: report[t] = succeeded
    :: report[t] = failed
    :: leaving -> report[t] = interrupted
    :: snoozes > 0 -> snoozes--; report[t] = snoozed
    :: task[t].cancel_requested && runs_under(t, me) -> report[t] = cancelled /* it was told, and was in time */
    fi;
    d_step {
      report_n[t] = exec_n[t];
      forget_execution(t);
      printf("worker %d, lease %d: attempt %d of task %d ends: %e\n", _pid, me, report_n[t], t, report[t])
    }
  }
}

/* A handler comes to a wait. A handler that has lost the task, or whose task is to be cancelled, hears that instead. */
inline suspend(t) {
  atomic {
    suspensions > 0 && exec[t] == runs && report[t] == none && holds_to_suspend(me, t, exec_n[t]) && may_suspend(t) ->
    d_step {
      suspensions--;
      printf("worker %d, lease %d: suspends attempt %d of task %d\n", _pid, me, exec_n[t], t);
      suspend_statement(me, t, exec_n[t]);
      forget_execution(t)
    }
  }
}

/* The completer. A report that was not answered is sent again until it is. */
inline complete(t) {
  atomic {
    report[t] != none ->
    d_step {
      printf("worker %d, lease %d: reports attempt %d of task %d\n", _pid, me, report_n[t], t);
      complete_statement(me, t, report_n[t], report[t], (report[t] == cancelled))
    }
    if
    :: taken -> forget_report(t)
    :: !taken -> d_step { explain(t) }
    :: taken && lost_answers > 0 -> lost_answers--; printf("  and does not know\n")
    fi;
    taken = false
  }
}

/* who_holds.sql: why a report was not taken. Its answer stays true, and needs no step of its own. */
inline explain(t) {
  if
  :: holds(me, t, report_n[t]) -> report[t] = cancelled /* lifecycle::under_cancel */
  :: else -> forget_report(t)                           /* on record already, or fenced */
  fi
}

inline forget_report(t) {
  report[t] = none;
  report_n[t] = 0
}

/* The lease keeper. Renewing what has not lapsed would change nothing here. */
inline heartbeat() {
  atomic {
    !all_ended && lease[me].lapsed && !(leaving && lease[me].ended) ->
    if
    :: may_renew(me) ->
       d_step {
         assert(!lease[me].ended);
         lease[me].lapsed = false;
         printf("worker %d, lease %d: is renewed\n", _pid, me)
       }
       if
       :: true
       :: leaving = true /* its own clock said that the lease had lapsed: it goes on as a new incarnation */
       fi
    :: !may_renew(me) -> leaving = true; printf("worker %d, lease %d: has been ended\n", _pid, me)
    fi
  }
}

/* The upkeep: end_leases.sql, for a lease l of anybody. */
inline end_lease(l) {
  atomic {
    !all_ended && may_be_ended(l) ->
    d_step {
      lease[l].ended = true;
      lease[l].stopped = false;
      printf("worker %d, lease %d: ends lease %d\n", _pid, me, l)
    }
  }
}

/* lost_tasks.sql, the rescuer's decision and complete.sql under the ended lease: one transaction that holds the rows of
   lease and task. With RESCUE_UNLOCKED others come between reading and writing, which is more than can happen. */
inline find_lost(t) {
  atomic {
    !all_ended && lost_task == NOTHING && task[t].status == running && lease[task[t].lease].ended ->
    d_step {
      lost_task = t;
      lost_n = task[t].attempt;
      lost_lease = task[t].lease;
      lost_cancel = task[t].cancel_requested
    }
#ifndef RESCUE_UNLOCKED
    d_step { write_lost() }
#endif
  }
}

/* Whether the rescuer hears the answer is of no account: it looks afresh. */
inline write_lost() {
  printf("worker %d, lease %d: rescues task %d from lease %d\n", _pid, me, lost_task, lost_lease);
  complete_statement(lost_lease, lost_task, lost_n, lost, lost_cancel);
  taken = false;
  forget_lost()
}

inline rescue() {
  atomic { lost_task != NOTHING -> d_step { write_lost() } }
}

inline forget_lost() {
  lost_task = NOTHING;
  lost_n = 0;
  lost_lease = 0;
  lost_cancel = false
}

/* mark_rescued.sql */
inline mark_rescued(l) {
  atomic {
    !all_ended && lease[l].ended && !lease[l].rescued && !anything_under(l) ->
    lease[l].rescued = true;
    printf("worker %d, lease %d: lease %d is rescued\n", _pid, me, l)
  }
}

/* ---- what can happen to a worker --------------------------------------------------------------------------------- */

inline forget_everything() {
  for (i : 0 .. TASKS - 1) {
    forget_execution(i);
    forget_report(i)
  }
  i = 0;
  in_doubt = false;
  leaving = false;
  forget_lost()
}

/* register_worker.sql: a new incarnation, which knows nothing of what the last one held. */
inline register() {
  d_step {
    forget_everything();
    me = registered;
    registered++;
    printf("worker %d, lease %d: registers\n", _pid, me)
  }
}

/* It was frozen for longer than its lease, or the database did not answer. */
inline stall() {
  atomic {
    !all_ended && faults > 0 && !lease[me].lapsed ->
    faults--;
    lease[me].lapsed = true;
    printf("worker %d, lease %d: lapses\n", _pid, me)
  }
}

/* Its process is gone with all that it knew; another starts in its place, unless others live. */
inline crash() {
  atomic {
    !all_ended && faults > 0 ->
    faults--;
    lease[me].lapsed = true;
    printf("worker %d, lease %d: crashes\n", _pid, me);
    if
    :: register()
    :: living > 1 -> break_off()
    fi
  }
}

inline break_off() {
  living--;
  d_step { forget_everything() }
  goto gone
}

/* The first signal of a shutdown. */
inline shut_down() {
  atomic {
    !all_ended && faults > 0 && !leaving ->
    faults--;
    leaving = true;
    printf("worker %d, lease %d: shuts down\n", _pid, me)
  }
}

/* stop_worker.sql */
inline sign_off() {
  atomic {
    !all_ended && leaving && !lease[me].stopped && !lease[me].ended -> lease[me].stopped = true
  }
}

/* It has left, with whatever it could not write in time. As a new incarnation it ends its old lease (end_lease.sql);
   another process leaves it to lapse. */
inline leave() {
  atomic {
    !all_ended && leaving ->
    lease[me].lapsed = true;
    if
    :: lease[me].ended = true; lease[me].stopped = false; register()
    :: register()
    :: living > 1 && !lease[me].ended -> break_off()
    fi
  }
}

#if LATE > 0
#define LATE_ARRIVES EACH_TASK(claim_arrives) EACH_TASK(release_arrives) :: ask_arrives() :: late_is_lost()
#else
#define LATE_ARRIVES :: false
#endif

proctype worker(byte me) {
  mtype exec[TASKS] = none;   /* of each task: whether it waits or runs here, ... */
  byte exec_n[TASKS];         /* ... and under which attempt */
  mtype report[TASKS] = none; /* the outcome that is to be written, ... */
  byte report_n[TASKS];       /* ... and of which attempt */
  bool in_doubt;              /* a claim or a release was not answered */
  mtype late = none;          /* a statement that it has given up, ... */
  byte late_lease = NOBODY;   /* ... under which lease, ... */
  bool late_is_over;          /* ... and whether another claim session of it has begun */
  byte late_exec_n[TASKS];    /* the attempts that a release gives back, or that are held when it is asked, ... */
  byte late_report_n[TASKS];  /* ... by executors and completer */
  bool leaving;               /* claims and begins nothing more */
  byte lost_task = NOTHING;   /* what it is about to rescue, as it read it */
  byte lost_n, lost_lease;
  bool lost_cancel;
  bool taken;
  byte i;
#ifdef NO_CLAIM_LOCK
  bool saw_lease;
#endif

end:
  do
#ifdef NO_CLAIM_LOCK
  :: look_at_lease()
#endif
  EACH_TASK(claim)
  :: claim_late()
  LATE_ARRIVES
  EACH_TASK(give_back)
  EACH_TASK(begin)
  EACH_TASK(finish)
  EACH_TASK(suspend)
  EACH_TASK(complete)
  EACH_TASK(find_lost)
  EACH_LEASE(end_lease)
  EACH_LEASE(mark_rescued)
  :: give_back_unknown()
  :: rescue()
  :: heartbeat()
  :: sign_off()
  :: stall()
  :: crash()
  :: shut_down()
  :: leave()
  od;
gone:
end_gone:
  do
  LATE_ARRIVES
  od
}

/* dogged.cancel(t) */
inline cancel(t) {
  atomic {
    cancels > 0 && !task[t].cancel_requested && !is_ended(t) ->
    d_step {
      cancels--;
      if
      :: task[t].status == pending -> task[t].status = cancelled
      :: else -> task[t].cancel_requested = true
      fi;
      printf("task %d is cancelled: %e\n", t, task[t].status);
      check_task(t)
    }
  }
}

/* dogged.replay(t): the same task runs again, with new retries; its attempts are numbered on. */
inline replay(t) {
  atomic {
    replays > 0 && task[t].status == failed ->
    d_step {
      replays--;
      task[t].status = pending;
      task[t].retries = 0;
      task[t].snoozes = 0;
      task[t].losses = 0;
#ifdef REPLAY_COUNTS_ANEW
      task[t].attempt = 0;
#endif
      check_task(t);
      printf("task %d is replayed\n", t)
    }
  }
}

/* Where nothing can go on, every task must have ended. */
proctype client() {
  do
  EACH_TASK(cancel)
  EACH_TASK(replay)
  :: timeout -> assert(all_ended); break
  od
}

init {
  atomic {
    byte w;
    for (w : 0 .. WORKERS - 1) { run worker(w) }
    run client()
  }
}

#ifdef LIVENESS
ltl every_task_ends { <> (all_ended) }
#endif
