package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/node"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// elected has an operator wait for its turn; durations are the defaults.
const elected = "leaderElection: {enabled: true, namespace: default}\n"

// Failover measures how long it takes until another operator acts once the leader ends: killed, which leaves its lease to run out, and asked to end, which gives
// the lease back. An application that is created right after waits for it.
func Failover(rounds int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		nodes, err := node.Start(ctx, w, node.Options{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, nodes.Stop()) }()
		p := &pair{rig: rig{w: w, nodes: nodes}}
		if _, p.load, err = w.Client(audit.LoadAgent); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		for _, way := range []struct {
			name string
			end  func(*world.Operator) error
		}{{figure.TakeOver, (*world.Operator).Kill}, {figure.TakeOver + ", after it was asked to end", (*world.Operator).Stop}} {
			var took []time.Duration
			for range rounds {
				d, err := p.fail(ctx, way.end)
				if err != nil {
					return err
				}
				took = append(took, d)
			}
			s.Add(seconds(figure.Failover, "", way.name, figure.Quantile(took, 1)), seconds(figure.Failover, "", way.name+", p50", figure.Quantile(took, 0.5)))
		}
		s.Say(figure.Failover, "Two operators with the default lease (15 s, renewed within 10 s, tried for each 2 s). The most of %d rounds counts, from the end of the leader to the "+
			"driver pod of an application that was created right after.", rounds)
		return nil
	}
}

// pair are two operators, one of which leads.
type pair struct {
	rig
	running []*world.Operator
	started int
}

func (p *pair) close() (err error) {
	for _, op := range p.running {
		err = errors.Join(err, op.Kill())
	}
	return err
}

// fail has the leader end while another waits, and returns how long it takes until that one acts.
func (p *pair) fail(ctx context.Context, end func(*world.Operator) error) (time.Duration, error) {
	leader, err := p.ready(ctx)
	if err != nil {
		return 0, err
	}
	if err := p.w.Namespace(ctx, "failover"); err != nil {
		return 0, err
	}
	if _, err := p.launch(ctx, single(fresh("before"), "failover")); err != nil {
		return 0, fmt.Errorf("while the leader is there: %w", err)
	}
	if err := calmWorld(ctx, p.w); err != nil {
		return 0, err
	}
	ended := time.Now()
	if err := end(p.running[leader]); err != nil {
		return 0, err
	}
	p.running = append(p.running[:leader], p.running[leader+1:]...)
	if _, err := p.launch(ctx, single(fresh("after"), "failover")); err != nil {
		return 0, fmt.Errorf("after the leader ended: %w", err)
	}
	return time.Since(ended), nil
}

// ready starts operators until there are two, and returns which one leads.
func (p *pair) ready(ctx context.Context) (leader int, err error) {
	for len(p.running) < 2 {
		p.started++
		op, err := p.w.StartOperator(ctx, world.OperatorOptions{Name: fmt.Sprintf("operator-%d", p.started), Settings: elected})
		if err != nil {
			return 0, err
		}
		p.running = append(p.running, op)
	}
	return leader, world.Until(ctx, "a leader", func() (bool, error) {
		for i, op := range p.running {
			leads, err := op.Metric(ctx, "leader_election_master_status")
			if err == nil && leads > 0 { // there is no such metric before it has tried
				leader = i
				return true, nil
			}
		}
		return false, nil
	})
}
