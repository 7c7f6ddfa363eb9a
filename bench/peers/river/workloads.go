package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/riverqueue/river"
)

const patience = 5 * time.Minute

// Looks again and again until it is done; fails when nothing has changed for as long as patience.
func until(what string, every time.Duration, look func() (done bool, state int64, err error)) error {
	var lastState int64
	lastChange := time.Now()
	for {
		done, state, err := look()
		if done || err != nil {
			return err
		}
		if state != lastState {
			lastState, lastChange = state, time.Now()
		} else if time.Since(lastChange) > patience {
			return fmt.Errorf("for five minutes nothing happened while it waited until %s", what)
		}
		time.Sleep(every)
	}
}

// Gives when the question was asked that got the answer yes.
func (b *benchmark) untilDone(ctx context.Context, workers *processes) (asked time.Time, err error) {
	err = until("all jobs have ended", 5*time.Millisecond, func() (bool, int64, error) {
		asked = time.Now()
		done, err := isDone(ctx, b.admin)
		return done, 0, errors.Join(err, workers.failed())
	})
	return asked, err
}

func (b *benchmark) enqueueInBulk(ctx context.Context, arguments task) (time.Duration, error) {
	client, err := newEnqueuer(ctx, b.url, river.FetchCooldownDefault)
	if err != nil {
		return 0, err
	}
	defer client.pool.Close()
	params := make([]river.InsertManyParams, b.Batch)
	for i := range params {
		params[i].Args = arguments
	}
	begin := time.Now()
	for done := 0; done < b.Tasks; done += b.Batch {
		if _, err := client.InsertManyFast(ctx, params[:min(b.Batch, b.Tasks-done)]); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

func (b *benchmark) drain(ctx context.Context, failures int) (figures, error) {
	if _, err := b.enqueueInBulk(ctx, task{Failures: failures}); err != nil {
		return nil, err
	}
	if err := vacuum(ctx, b.admin); err != nil {
		return nil, err
	}
	workers, err := startProcesses(b.Workers, b.url)
	if err != nil {
		return nil, err
	}
	began, err := workers.start()
	if err != nil {
		return nil, err
	}
	attempts := b.Tasks * (failures + 1)
	if err := workers.untilHandled(attempts); err != nil {
		return nil, err
	}
	ended, err := b.untilDone(ctx, workers)
	if err != nil {
		return nil, err
	}
	if err := b.endAndVerify(ctx, workers, b.Tasks, failures+1); err != nil {
		return nil, err
	}
	key := "drained_per_s"
	if failures > 0 {
		key = "attempts_per_s"
	}
	return figures{key: float64(attempts) / ended.Sub(began).Seconds()}, nil
}

func (b *benchmark) endAndVerify(ctx context.Context, workers *processes, jobs, attempts int) error {
	if err := workers.stop(); err != nil {
		return err
	}
	if handled := workers.handledByAll(); handled != int64(jobs*attempts) {
		return fmt.Errorf("handlers ran %d times, where %d are right", handled, jobs*attempts)
	}
	return verify(ctx, b.admin, jobs, attempts)
}

func (b *benchmark) enqueue(ctx context.Context) (figures, error) {
	bulk, err := b.enqueueInBulk(ctx, task{})
	if err != nil {
		return nil, err
	}
	client, err := newEnqueuer(ctx, b.url, river.FetchCooldownDefault)
	if err != nil {
		return nil, err
	}
	defer client.pool.Close()
	insert := func() error {
		_, err := client.Insert(ctx, task{}, nil)
		return err
	}
	if err := insert(); err != nil { // so that its statements are prepared
		return nil, err
	}
	singly := 0
	begin := time.Now()
	for time.Since(begin).Seconds() < b.Seconds {
		if err := insert(); err != nil {
			return nil, err
		}
		singly++
	}
	single := time.Since(begin)
	jobs, err := count(ctx, b.admin)
	if err != nil {
		return nil, err
	}
	if enqueued := b.Tasks + 1 + singly; jobs != enqueued {
		return nil, fmt.Errorf("%d jobs were enqueued, and %d are there", enqueued, jobs)
	}
	return figures{
		"bulk_per_s":   float64(b.Tasks) / bulk.Seconds(),
		"single_per_s": float64(singly) / single.Seconds(),
	}, nil
}

// By the nearest rank, as `dogged bench` does.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted)))), 1)-1]
}

func (b *benchmark) latency(ctx context.Context) (figures, error) {
	const unmeasured = 5 // what is planned at first use
	workers, err := startProcesses(1, b.url)
	if err != nil {
		return nil, err
	}
	if _, err := workers.start(); err != nil {
		return nil, err
	}
	time.Sleep(time.Second) // it comes to rest, and listens
	client, err := newEnqueuer(ctx, b.url, fetchCooldown)
	if err != nil {
		return nil, err
	}
	defer client.pool.Close()
	var pickUp []float64
	for slot := range unmeasured + b.Samples {
		if _, err := client.Insert(ctx, task{Slot: &slot}, nil); err != nil {
			return nil, err
		}
		answered := time.Now()
		begun, err := workers.untilBegun(slot)
		if err != nil {
			return nil, err
		}
		if slot >= unmeasured {
			pickUp = append(pickUp, max(begun.Sub(answered).Seconds()*1000, 0))
		}
		time.Sleep(10*time.Millisecond + rand.N(20*time.Millisecond))
	}
	if _, err := b.untilDone(ctx, workers); err != nil {
		return nil, err
	}
	if err := b.endAndVerify(ctx, workers, unmeasured+b.Samples, 1); err != nil {
		return nil, err
	}
	slices.Sort(pickUp)
	return figures{"pick_up_p50_ms": quantile(pickUp, 0.5), "pick_up_p99_ms": quantile(pickUp, 0.99)}, nil
}
