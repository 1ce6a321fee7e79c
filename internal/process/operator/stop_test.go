package operator_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// lockedBuffer is a buffer that several goroutines may write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// errorLines returns the lines of the level error.
func (b *lockedBuffer) errorLines() (lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()

	for line := range strings.Lines(b.text.String()) {
		if strings.Contains(line, `"level":"ERROR"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestStopLogsNoError checks that neither a leader nor a standby replica logs an error when it is stopped, and that a
// replica does if it loses its lease while it stops.
func TestStopLogsNoError(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	replica := func(lease string) (*lockedBuffer, *operator.Operator) {
		cfg := world.Config(w.Namespace)
		cfg.LeaderElection.Enabled, cfg.LeaderElection.Namespace, cfg.LeaderElection.LeaseName = new(true), w.Namespace, lease
		cfg.LeaderElection.LeaseDuration.Duration, cfg.LeaderElection.RenewDeadline.Duration, cfg.LeaderElection.RetryPeriod.Duration =
			6*time.Second, 4*time.Second, 500*time.Millisecond

		out := &lockedBuffer{}

		log, err := telemetry.NewLogger(out, "info", "json")
		if err != nil {
			t.Fatal(err)
		}

		env := w.Environment()
		env.Log = log

		op, err := operator.NewOperator(t.Context(), cfg, env)
		if err != nil {
			t.Fatal(err)
		}
		return out, op
	}

	start := func(op *operator.Operator) (stop func() error) {
		ctx, cancel := context.WithCancel(t.Context())

		over := make(chan error, 1)
		go func() { over <- op.Start(ctx) }()
		return func() error { cancel(); return <-over }
	}

	leaderLog, leader := replica("lock")
	stopLeader := start(leader)
	kit.Wait(t, "a leader", func(context.Context) error { return elected(leader) })

	standbyLog, standby := replica("lock")
	stopStandby := start(standby)

	for _, stopped := range []struct {
		name string
		stop func() error
		log  *lockedBuffer
	}{{"standby", stopStandby, standbyLog}, {"leader", stopLeader, leaderLog}} {
		if err := stopped.stop(); err != nil {
			t.Errorf("%s: %v", stopped.name, err)
		}

		if lines := stopped.log.errorLines(); len(lines) > 0 {
			t.Errorf("%s: %s", stopped.name, lines)
		}
	}
}

// elected returns an error as long as a replica is not the leader.
func elected(op *operator.Operator) error {
	select {
	case <-op.Elected():
		return nil
	default:
		return context.DeadlineExceeded
	}
}
