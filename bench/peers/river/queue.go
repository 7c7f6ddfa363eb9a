package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// How River is set up. MaxWorkers and both intervals are those of its own benchmark, `river bench`: a fetch takes as
// many jobs as there are free workers, and the default of 100 ms between two fetches would bound a drain.
const (
	maxWorkers        = 2000
	fetchCooldown     = 2 * time.Millisecond
	fetchPollInterval = 20 * time.Millisecond
	// One listens, one fetches, one completes; the rest is for the election of a leader and its maintenance.
	connections = 10
)

var settings = fmt.Sprintf("MaxWorkers %d, FetchCooldown %d ms, FetchPollInterval %d ms, a pool of %d connections, "+
	"notifications, InsertManyFast in bulk; a client that enqueues has the default FetchCooldown, but for pick-up",
	maxWorkers, fetchCooldown.Milliseconds(), fetchPollInterval.Milliseconds(), connections)

// A failed job whose next attempt is due within 5 s, an interval of River's scheduler, becomes available with the next
// batch of results that is written, and is fetched once that time has come. A later one waits for the scheduler.
const retryDelay = "0 s, by NextRetry: what is due within 5 s of the failure is made available at once"

const schema = "river"

// Standard output is for figures, where River would write by default.
var logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

// The arguments of a job: nothing for a drain.
type task struct {
	Slot     *int `json:"slot,omitempty"`     // of a sample of pick-up
	Failures int  `json:"failures,omitempty"` // how many attempts are to fail
}

func (task) Kind() string { return "bench" }

var errWanted = errors.New("as the benchmark wants it")

type handler struct {
	river.WorkerDefaults[task]
	handled atomic.Int64
	begun   func(slot int, at time.Time)
}

func (h *handler) Work(_ context.Context, job *river.Job[task]) error {
	if job.Args.Slot != nil {
		h.begun(*job.Args.Slot, time.Now())
	}
	h.handled.Add(1)
	if job.Attempt <= job.Args.Failures {
		return errWanted
	}
	return nil
}

// The soonest that River takes: in place of a time that has passed it takes its default policy's, about a second later.
func (h *handler) NextRetry(*river.Job[task]) time.Time { return time.Now() }

// A pool whose connections are all made, so that no measurement begins with connecting.
func connectedPool(ctx context.Context, url string, size int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = size
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	held := make([]*pgxpool.Conn, 0, size)
	for range size {
		connection, err := pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		held = append(held, connection)
	}
	for _, connection := range held {
		connection.Release()
	}
	return pool, nil
}

// A client that enqueues over one connection, and notifies of what it enqueues once in a cooldown.
type enqueuer struct {
	*river.Client[pgx.Tx]
	pool *pgxpool.Pool
}

func newEnqueuer(ctx context.Context, url string, cooldown time.Duration) (*enqueuer, error) {
	pool, err := connectedPool(ctx, url, 1)
	if err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: cooldown,
		Logger:        logger,
		Schema:        schema,
	})
	if err != nil {
		return nil, err
	}
	return &enqueuer{client, pool}, nil
}

func newWorkingClient(pool *pgxpool.Pool, h *handler) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, h); err != nil {
		return nil, err
	}
	return river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPollInterval,
		Logger:            logger,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}},
		Schema:            schema,
		Workers:           workers,
	})
}

func uninstall(ctx context.Context, admin *pgx.Conn) error {
	_, err := admin.Exec(ctx, "drop schema if exists "+schema+" cascade")
	return err
}

func install(ctx context.Context, admin *pgx.Conn, url string) error {
	if err := uninstall(ctx, admin); err != nil {
		return err
	}
	if _, err := admin.Exec(ctx, "create schema "+schema); err != nil {
		return err
	}
	pool, err := connectedPool(ctx, url, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: logger, Schema: schema})
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

func vacuum(ctx context.Context, admin *pgx.Conn) error {
	_, err := admin.Exec(ctx, "vacuum (analyze) "+schema+".river_job")
	return err
}

func count(ctx context.Context, admin *pgx.Conn) (jobs int, err error) {
	err = admin.QueryRow(ctx, "select count(*) from "+schema+".river_job").Scan(&jobs)
	return jobs, err
}

// By the states that an index leads to: of finished jobs there are many.
func isDone(ctx context.Context, admin *pgx.Conn) (done bool, err error) {
	err = admin.QueryRow(ctx, "select not exists (select from "+schema+".river_job"+
		" where state in ('available', 'running', 'retryable', 'scheduled', 'pending'))").Scan(&done)
	return done, err
}

// Fails where not each job was completed, after as many attempts as it was to take.
func verify(ctx context.Context, admin *pgx.Conn, jobs, attempts int) error {
	var completed, there, taken int
	err := admin.QueryRow(ctx, "select count(*) filter (where state = 'completed'), count(*), coalesce(sum(attempt), 0)"+
		" from "+schema+".river_job").Scan(&completed, &there, &taken)
	if err != nil {
		return err
	}
	if completed != jobs || there != jobs || taken != jobs*attempts {
		return fmt.Errorf("of %d jobs %d are there, and %d are completed, after %d attempts", jobs, there, completed, taken)
	}
	return nil
}
