package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

const (
	hostileNamespace = "hostile"
	// warmNamespace is where the applications of a warm-up are.
	warmNamespace = "warm"
	// hostileBytes is the size of each ConfigMap: a little less than what an API server takes.
	hostileBytes = 900_000
	// starts is how often an operator is started in each case: what a process keeps resident depends on when garbage was collected, and the median counts.
	starts = 3
)

// Hostile measures whether a namespace full of what is none of the operator's, which it watches all the same, costs it memory: unrelated pods, and large ConfigMaps.
// Operators that start and carry a probe are compared, without that namespace and with it; and one that runs while it fills.
func Hostile(pods, configMaps, probe int) Func {
	return func(ctx context.Context, w *world.World, s *Sink) (err error) {
		without, err := median(ctx, w, probe)
		if err != nil {
			return err
		}
		r, err := raise(ctx, w, "")
		if err != nil {
			return err
		}
		before, after, err := r.filled(ctx, pods, configMaps)
		if err := errors.Join(err, r.close()); err != nil {
			return err
		}
		with, err := median(ctx, w, probe)
		if err != nil {
			return err
		}
		for in, seen := range map[string]world.Usage{figure.Without: without, figure.With: with} {
			s.Add(megabytes(figure.Hostile, in, figure.Peak, seen.Peak), megabytes(figure.Hostile, in, figure.Resident, seen.Resident))
		}
		s.Add(megabytes(figure.Hostile, figure.Without, figure.AtRest, before.Resident), megabytes(figure.Hostile, figure.With, figure.AtRest, after.Resident))
		s.Add(megabytes(figure.Hostile, figure.Without, figure.PeakStays, before.Peak), megabytes(figure.Hostile, figure.With, figure.PeakStays, after.Peak))
		s.Say(figure.Hostile, "%s pods and %s ConfigMaps of %d kB. Peaks are the median of %d operators that start and carry %d applications; at rest, and the peak of one that stays, "+
			"are of one operator before and after the namespace was filled. %s", figure.Count(pods), figure.Count(configMaps), hostileBytes/1000, starts, probe, atRestSays)
		return nil
	}
}

// filled is the usage of an operator at rest before a namespace is filled, and after.
func (r *rig) filled(ctx context.Context, pods, configMaps int) (before, after world.Usage, err error) {
	if err = r.clear(ctx, warmNamespace); err != nil {
		return before, after, err
	}
	if before, err = atRest(ctx, r.op); err != nil {
		return before, after, err
	}
	if err = fill(ctx, r.w, pods, configMaps); err != nil {
		return before, after, err
	}
	after, err = atRest(ctx, r.op)
	return before, after, err
}

// median starts an operator some times, has it carry a probe, and returns the usage with the median of the peaks.
func median(ctx context.Context, w *world.World, probe int) (world.Usage, error) {
	var all []world.Usage
	for range starts {
		u, err := once(ctx, w, probe)
		if err != nil {
			return world.Usage{}, err
		}
		all = append(all, u)
	}
	return middle(all), nil
}

// once has one operator carry a probe. It leaves none of that behind: those that start after the namespace was filled have no more applications than those before.
func once(ctx context.Context, w *world.World, probe int) (u world.Usage, err error) {
	r, err := raise(ctx, w, "")
	if err != nil {
		return u, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := calmWorld(ctx, w); err != nil {
		return u, err
	}
	if err := r.through(ctx, probing(probe)); err != nil {
		return u, err
	}
	if u, err = atRest(ctx, r.op); err != nil {
		return u, err
	}
	return u, r.clear(ctx, warmNamespace, probeNamespace)
}

// fill makes pods that no scheduler takes and large ConfigMaps.
func fill(ctx context.Context, w *world.World, pods, configMaps int) error {
	if err := w.Namespace(ctx, hostileNamespace); err != nil {
		return err
	}
	began := time.Now()
	err := world.ForEach(ctx, senders, pods, func(ctx context.Context, i int) error {
		_, err := w.Core.CoreV1().Pods(hostileNamespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("unrelated-%d", i), Labels: map[string]string{"app": "unrelated", "number": fmt.Sprint(i)}},
			Spec: corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{
				Name: "main", Image: "unrelated", Env: []corev1.EnvVar{{Name: "PADDING", Value: strings.Repeat("x", 1000)}},
			}}},
		}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("pods, after %s: %w", time.Since(began), err)
	}
	large := strings.Repeat("x", hostileBytes)
	return world.ForEach(ctx, 4, configMaps, func(ctx context.Context, i int) error {
		_, err := w.Core.CoreV1().ConfigMaps(hostileNamespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)}, Data: map[string]string{"large": large},
		}, metav1.CreateOptions{})
		return err
	})
}

// middle is the usage with the median of the peaks.
func middle(all []world.Usage) world.Usage {
	slices.SortFunc(all, func(a, b world.Usage) int { return cmp.Compare(a.Peak, b.Peak) })
	return all[len(all)/2]
}
