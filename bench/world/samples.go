package world

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// depth is the metric of keys that wait in an operator's queues.
const depth = "workqueue_depth"

// depthEvery is the time between two looks at the operator's metrics; the first is after half of it. One costs it 3 ms of CPU, which is then within what an
// application costs: it is not asked much more often than a Prometheus would. Looks at its process cost it nothing.
const depthEvery = 10 * time.Second

// ErrNoMetric is the error of a metric that the operator does not have, or not yet.
var ErrNoMetric = errors.New("there is no metric")

// Sample is an operator at one moment.
type Sample struct {
	At time.Duration // since the sampling began
	Usage
	// Depth is how many keys wait in all of its queues, where Looked: the metrics are looked at less often than the process.
	Depth  float64
	Looked bool
}

// Samples are what an operator took, over time.
type Samples struct {
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	all  []Sample
	err  error
}

// Sample notes what an operator takes every so often, until Stop or the end of the context.
func (o *Operator) Sample(ctx context.Context, every time.Duration) *Samples {
	ctx, cancel := context.WithCancel(ctx)
	s := &Samples{stop: cancel}
	s.wg.Go(func() {
		if err := s.run(ctx, o, every); err != nil && ctx.Err() == nil {
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
		}
	})
	return s
}

func (s *Samples) run(ctx context.Context, o *Operator, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	began := time.Now()
	look := began.Add(depthEvery / 2)
	for {
		now := time.Now()
		seen := Sample{At: now.Sub(began)}
		var err error
		if seen.Usage, err = o.Usage(); err != nil {
			return err
		}
		if seen.Looked = !now.Before(look); seen.Looked {
			if seen.Depth, err = o.Metric(ctx, depth); err != nil && !errors.Is(err, ErrNoMetric) { // a queue has none before its first key
				return err
			}
			look = look.Add(depthEvery)
		}
		s.mu.Lock()
		s.all = append(s.all, seen)
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Stop ends the sampling and returns what was seen.
func (s *Samples) Stop() ([]Sample, error) {
	s.stop()
	s.wg.Wait()
	return s.All(), s.err
}

// All returns what was seen so far.
func (s *Samples) All() []Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Sample(nil), s.all...)
}

// sum adds up a metric in Prometheus' text format over all its labels. A metric that is not there is an error: it would read as a good figure.
func sum(text io.Reader, name string) (total float64, err error) {
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	found := false
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		value := rest[strings.LastIndexByte(rest, ' ')+1:]
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		total, found = total+n, true
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if !found {
		return 0, fmt.Errorf("%w %s", ErrNoMetric, name)
	}
	return total, nil
}
