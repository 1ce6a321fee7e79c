package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// singles is how many applications are looked at, one after the other.
const singles = 5

// crowdNamespace is the namespace that sends everything at once.
const crowdNamespace = "crowd"

// stillWaiting is the share of the crowd that has no driver pod yet when the single applications come. With fewer the bar, which speaks of all of them, would say less.
const stillWaiting = 0.8

// firstOfCrowd is how many of the crowd are waited for: as many as others have told of, and all of a smaller one. What is held is how long single ones wait, which is
// known by then.
const firstOfCrowd = 1_200

// Fairness measures how long a single application waits for its driver pod while another namespace's new applications, n at once, queue; and how long alone; and how
// long it takes until the first of the crowd have theirs.
func Fairness(n int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		r, err := raise(ctx, w, "")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		if err := calmWorld(ctx, w); err != nil {
			return err
		}
		alone, err := r.launches(ctx, "single", singles)
		if err != nil {
			return err
		}
		beside, crowd, err := r.crowd(ctx, s, n)
		if err != nil {
			return err
		}
		s.Add(fair(alone, beside)...)
		rate := float64(len(crowd.Launch)) / crowd.Launched.Seconds()
		s.Add(figure.Figure{Scenario: figure.Fairness, Case: figure.Beside, Name: figure.UntilFirst, Value: float64(min(n, firstOfCrowd)) / rate, Unit: "s"},
			figure.Figure{Scenario: figure.Fairness, Case: figure.Beside, Name: figure.Launches, Value: rate, Unit: "1/s"})
		s.Say(figure.Fairness, "%s applications of one namespace were created before; %d of another follow each other. The delay is the longest of these against the median alone. "+
			"Driver pods a second are those of the crowd, whose drivers go on running; more of them are not waited for than are told of.", figure.Count(n), singles)
		return nil
	}
}

// crowd sends the crowd, then the single applications, and waits until the first of the crowd have their driver pods. It returns how long each took.
func (r *rig) crowd(ctx context.Context, s *Sink, n int) (beside []time.Duration, crowd audit.Lags, err error) {
	if err := r.w.Namespace(ctx, crowdNamespace); err != nil {
		return nil, crowd, err
	}
	if err := calmWorld(ctx, r.w); err != nil {
		return nil, crowd, err
	}
	of := audit.Scope{From: time.Now(), Namespace: func(name string) bool { return name == crowdNamespace }}
	// Their drivers go on, as those of Spark do for longer than it takes to launch all of them: what is looked at is who waits for a driver.
	sent := driversAlone(crowdNamespace, crowdNamespace, n)
	if _, err := load.Send(ctx, r.load, sent, senders); err != nil {
		return nil, crowd, err
	}
	before, err := waiting(ctx, r.w, n)
	if err != nil {
		return nil, crowd, err
	}
	if beside, err = r.launches(ctx, "single", singles); err != nil {
		return nil, crowd, err
	}
	after, err := waiting(ctx, r.w, n)
	if err := errors.Join(err, crowded(n, before, after)); err != nil {
		return nil, crowd, err
	}
	s.Add(figure.Figure{Scenario: figure.Fairness, Case: figure.Beside, Name: "applications that wait, before", Value: float64(before)},
		figure.Figure{Scenario: figure.Fairness, Case: figure.Beside, Name: "applications that wait, after", Value: float64(after)})
	first := min(n, firstOfCrowd)
	if err := r.launched(ctx, n, first); err != nil {
		return nil, crowd, err
	}
	of.To = time.Now()
	account, err := r.heard(of)
	crowd = account.Lags
	if err == nil && len(crowd.Launch) < first {
		err = fmt.Errorf("the audit log has the driver pods of %d applications of %d", len(crowd.Launch), first)
	}
	return beside, crowd, err
}

// crowded says whether there was a crowd all the time that the single applications were looked at.
func crowded(n, before, after int) error {
	if float64(before) < stillWaiting*float64(n) {
		return fmt.Errorf("%d of %d applications waited when the single ones came; %.0f %% are meant to", before, n, 100*stillWaiting)
	}
	if after == 0 {
		return fmt.Errorf("none of the %d applications waited any more when the last single one had its driver pod: the crowd is too small to say anything", n)
	}
	return nil
}

// launched waits until the first of the n of the crowd have their driver pods.
func (r *rig) launched(ctx context.Context, n, first int) error {
	return world.Until(ctx, "the driver pods of the crowd", func() (bool, error) {
		if err := pause(ctx, 2*time.Second); err != nil { // the list is long, and reading it takes what is measured
			return false, err
		}
		left, err := waiting(ctx, r.w, n)
		return left <= n-first, errors.Join(err, r.nodes.Err())
	})
}

// fair are the figures of the single applications.
func fair(alone, beside []time.Duration) []figure.Figure {
	delay := figure.Quantile(beside, 1) - figure.Quantile(alone, 0.5)
	return []figure.Figure{
		seconds(figure.Fairness, figure.Alone, figure.Launch50, figure.Quantile(alone, 0.5)), seconds(figure.Fairness, figure.Alone, "creation to driver pod, most", figure.Quantile(alone, 1)),
		seconds(figure.Fairness, figure.Beside, figure.Launch50, figure.Quantile(beside, 0.5)), seconds(figure.Fairness, figure.Beside, "creation to driver pod, most", figure.Quantile(beside, 1)),
		seconds(figure.Fairness, "", figure.Delay, max(0, delay)),
	}
}

// waiting is how many of the crowd have no driver pod yet.
func waiting(ctx context.Context, w *world.World, n int) (int, error) {
	// With a selector the server does not say how many remain: the whole is read.
	all, err := w.Metadata.Resource(world.Pods).Namespace(crowdNamespace).List(ctx, metav1.ListOptions{LabelSelector: "spark-role=driver"})
	if err != nil {
		return 0, err
	}
	return max(0, n-len(all.Items)), nil
}
