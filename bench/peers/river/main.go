// River for bench/compare: what measure.mjs and worker.mjs do for the peers in Node.js.
//
//	river WORKLOAD URL OPTIONS   one round of a workload; prints its figures as a line of JSON
//	river about                  prints River's version and the settings
//	river worker URL             a worker process, which the workloads start
//
// WORKLOAD is drain, enqueue, latency or retry, as `dogged bench` defines them. OPTIONS is JSON: tasks, workers, batch,
// seconds, samples.
//
// It makes River's schema anew, drops it at the end, and checks there that each job ended. Where one did not, it says
// so and exits with 1. It gives up when nothing happens for five minutes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/jackc/pgx/v5"
)

type options struct {
	Tasks   int     `json:"tasks"`
	Workers int     `json:"workers"`
	Batch   int     `json:"batch"`
	Seconds float64 `json:"seconds"`
	Samples int     `json:"samples"`
}

type figures map[string]float64

type benchmark struct {
	options
	url   string
	admin *pgx.Conn // for what is not measured
}

var workloads = map[string]func(context.Context, *benchmark) (figures, error){
	"drain":   func(ctx context.Context, b *benchmark) (figures, error) { return b.drain(ctx, 0) },
	"enqueue": func(ctx context.Context, b *benchmark) (figures, error) { return b.enqueue(ctx) },
	"latency": func(ctx context.Context, b *benchmark) (figures, error) { return b.latency(ctx) },
	"retry":   func(ctx context.Context, b *benchmark) (figures, error) { return b.drain(ctx, 1) },
}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "about":
		return about()
	case len(args) == 2 && args[0] == "worker":
		return within("worker", work(ctx, args[1]))
	case len(args) == 3 && workloads[args[0]] != nil:
		return within(args[0], measure(ctx, args[0], args[1], args[2]))
	}
	return errors.New("write river WORKLOAD URL OPTIONS, river about or river worker URL")
}

func within(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func measure(ctx context.Context, workload, url, optionsJSON string) error {
	b := benchmark{url: url}
	if err := json.Unmarshal([]byte(optionsJSON), &b.options); err != nil {
		return fmt.Errorf("the options are not understood: %w", err)
	}
	if min(b.Tasks, b.Workers, b.Batch, b.Samples) < 1 {
		return fmt.Errorf("tasks, workers, batch and samples are at least 1, and not all are in %s", optionsJSON)
	}
	var err error
	if b.admin, err = pgx.Connect(ctx, url); err != nil {
		return err
	}
	defer b.admin.Close(ctx)
	if err := install(ctx, b.admin, url); err != nil {
		return err
	}
	found, err := workloads[workload](ctx, &b)
	if err != nil {
		return err
	}
	if err := uninstall(ctx, b.admin); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

func about() error {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this program does not know what it was built from")
	}
	for _, module := range build.Deps {
		if module.Path != "github.com/riverqueue/river" {
			continue
		}
		return json.NewEncoder(os.Stdout).Encode(map[string]string{
			"version":     strings.TrimPrefix(module.Version, "v"),
			"settings":    settings,
			"retry_delay": retryDelay,
		})
	}
	return errors.New("this program was built without River")
}
