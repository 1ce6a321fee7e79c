package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/load"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// singles is how many applications are looked at, one after the other.
const singles = 5

// crowdNamespace is the namespace that sends everything at once.
const crowdNamespace = "crowd"

// Fairness measures how long a single application waits for its driver pod while another namespace's new applications, n at once, queue; and how long alone.
func Fairness(n int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		r, err := raise(ctx, w, "")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		alone, err := r.launches(ctx, "single", singles)
		if err != nil {
			return err
		}
		if err := w.Namespace(ctx, crowdNamespace); err != nil {
			return err
		}
		crowd := load.Spec{Classes: []load.Class{{Name: crowdNamespace, Namespace: crowdNamespace, Count: n, Run: load.For(time.Second)}}}
		if _, err := load.Send(ctx, r.load, crowd, senders); err != nil {
			return err
		}
		before, err := waiting(ctx, w, n)
		if err != nil {
			return err
		}
		beside, err := r.launches(ctx, "single", singles)
		if err != nil {
			return err
		}
		after, err := waiting(ctx, w, n)
		if err != nil {
			return err
		}
		if before == 0 {
			return fmt.Errorf("none of the %d applications waited any more when the single one came: the crowd is too small to say anything", n)
		}
		s.Add(fair(alone, beside)...)
		s.Add(figure.Figure{Scenario: figure.Fairness, Case: figure.Beside, Name: "applications that wait, before", Value: float64(before)},
			figure.Figure{Scenario: figure.Fairness, Case: figure.Beside, Name: "applications that wait, after", Value: float64(after)})
		s.Say(figure.Fairness, "%s applications of one namespace were created before; %d of another follow each other. The delay is the longest of these against the median alone.",
			figure.Count(n), singles)
		return nil
	}
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
	all, err := w.Metadata.Resource(pods).Namespace(crowdNamespace).List(ctx, metav1.ListOptions{LabelSelector: "spark-role=driver"})
	if err != nil {
		return 0, err
	}
	return max(0, n-len(all.Items)), nil
}
