package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// A worker process is told by a line on its standard input to start, and by another to stop; where the input ends
// instead, the benchmark has given up, and so does the worker. It reports by lines of JSON on its standard output.
// Times are those of the machine's clock, which processes share.
type report struct {
	Ready   bool       `json:"ready,omitempty"`   // it is connected
	Started *time.Time `json:"started,omitempty"` // when it began to work
	Slot    int        `json:"slot,omitempty"`
	Begun   *time.Time `json:"begun,omitempty"` // when the handler of the slot began
	Handled int64      `json:"handled,omitempty"`
}

// work is a worker process.
func work(ctx context.Context, url string) error {
	var writing sync.Mutex
	output := json.NewEncoder(os.Stdout)
	say := func(r report) {
		writing.Lock()
		defer writing.Unlock()
		if err := output.Encode(r); err != nil { // nobody listens any more
			os.Exit(1)
		}
	}

	pool, err := connectedPool(ctx, url, connections)
	if err != nil {
		return err
	}
	h := &handler{begun: func(slot int, at time.Time) { say(report{Slot: slot, Begun: &at}) }}
	client, err := newWorkingClient(pool, h)
	if err != nil {
		return err
	}
	say(report{Ready: true})
	input := bufio.NewReader(os.Stdin)
	if _, err := input.ReadString('\n'); err != nil {
		return nil
	}
	now := time.Now()
	say(report{Started: &now})
	if err := client.Start(ctx); err != nil {
		return err
	}
	go func() {
		var reported int64
		for range time.Tick(10 * time.Millisecond) {
			if handled := h.handled.Load(); handled != reported {
				reported = handled
				say(report{Handled: handled})
			}
		}
	}()
	if _, err := input.ReadString('\n'); err != nil {
		return nil
	}
	stopping, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := client.Stop(stopping); err != nil {
		return fmt.Errorf("it did not stop: %w", err)
	}
	say(report{Handled: h.handled.Load()})
	return nil
}

// The worker processes, as the benchmark sees them.
type processes struct {
	inputs []io.WriteCloser
	ended  sync.WaitGroup

	mutex    sync.Mutex // of all that follows
	ready    int
	started  []time.Time
	begun    map[int]time.Time // by slot
	handled  []int64           // by process
	stopping bool
	failure  error
}

func startProcesses(number int, url string) (*processes, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &processes{begun: map[int]time.Time{}, handled: make([]int64, number)}
	for index := range number {
		command := exec.Command(program, "worker", url)
		command.Stderr = os.Stderr
		input, err := command.StdinPipe()
		if err != nil {
			return nil, err
		}
		output, err := command.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := command.Start(); err != nil {
			return nil, err
		}
		p.inputs = append(p.inputs, input)
		p.ended.Add(1)
		go p.follow(index, command, output)
	}
	return p, nil
}

// Takes what a process reports, and sees to how it ends.
func (p *processes) follow(index int, command *exec.Cmd, output io.Reader) {
	defer p.ended.Done()
	reports := json.NewDecoder(output)
	var unread error
	for {
		var r report
		if unread = reports.Decode(&r); unread != nil {
			break
		}
		p.take(index, r)
	}
	failed := command.Wait()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case failed != nil:
		p.failure = fmt.Errorf("a worker failed: %w", failed)
	case unread != io.EOF:
		p.failure = fmt.Errorf("a worker's report is not understood: %w", unread)
	case !p.stopping:
		p.failure = errors.New("a worker ended by itself")
	}
}

func (p *processes) take(index int, r report) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case r.Ready:
		p.ready++
	case r.Started != nil:
		p.started = append(p.started, *r.Started)
	case r.Begun != nil:
		p.begun[r.Slot] = *r.Begun
	default:
		p.handled[index] = max(p.handled[index], r.Handled)
	}
}

// Waits for something that the processes report; state changes as long as they get on.
func (p *processes) until(what string, every time.Duration, look func() (done bool, state int64)) error {
	return until(what, every, func() (bool, int64, error) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		done, state := look()
		return done, state, p.failure
	})
}

// Gives when the first of them began.
func (p *processes) start() (time.Time, error) {
	var first time.Time
	err := p.until("the workers are connected", 5*time.Millisecond, func() (bool, int64) {
		return p.ready == len(p.inputs), int64(p.ready)
	})
	if err != nil {
		return first, err
	}
	if err := p.tell("start"); err != nil {
		return first, err
	}
	err = p.until("the workers have started", 5*time.Millisecond, func() (bool, int64) {
		for _, at := range p.started {
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
		return len(p.started) == len(p.inputs), int64(len(p.started))
	})
	return first, err
}

func (p *processes) untilHandled(number int) error {
	return p.until(fmt.Sprintf("%d handlers have run", number), 5*time.Millisecond, func() (bool, int64) {
		handled := p.sum()
		return handled >= int64(number), handled
	})
}

func (p *processes) untilBegun(slot int) (begun time.Time, err error) {
	err = p.until("a job that was enqueued runs", time.Millisecond, func() (found bool, _ int64) {
		begun, found = p.begun[slot]
		return found, 0
	})
	return begun, err
}

// Ends them, and gives what went wrong with any of them.
func (p *processes) stop() error {
	p.mutex.Lock()
	p.stopping = true
	p.mutex.Unlock()
	if err := p.tell("stop"); err != nil {
		return err
	}
	p.ended.Wait()
	return p.failed()
}

func (p *processes) tell(what string) error {
	for _, input := range p.inputs {
		if _, err := io.WriteString(input, what+"\n"); err != nil {
			return fmt.Errorf("a worker cannot be told to %s: %w", what, err)
		}
	}
	return nil
}

func (p *processes) failed() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.failure
}

func (p *processes) handledByAll() int64 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.sum()
}

func (p *processes) sum() int64 {
	var sum int64
	for _, handled := range p.handled {
		sum += handled
	}
	return sum
}
