package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/dependents"
	"github.com/sparkoperator/spark-operator/internal/explain"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/internal/testkit/tiny"
)

// TestWaits: a wait is told once it lasts, again from time to time, and anew with another cause once that lasts. It began with the first of them.
func TestWaits(t *testing.T) {
	var w waits
	key := types.NamespacedName{Namespace: "ns", Name: "pi"}
	for _, test := range []struct {
		at          time.Duration
		why         string
		first, tell bool
	}{
		{0, "a", true, false},
		{2 * time.Second, "a", false, false},
		{3 * time.Second, "a", false, true},
		{7 * time.Second, "a", false, false},
		{8 * time.Second, "b", true, false},
		{9 * time.Second, "a", true, false},
		{10 * time.Second, "b", true, false},
		{14 * time.Second, "b", false, true},
		{10 * time.Minute, "b", false, false},
		{11 * time.Minute, "b", false, true},
	} {
		since, first := w.on(key, test.why, noon.Add(test.at))
		if tell := w.tell(key, noon.Add(test.at)); !since.Equal(noon) || first != test.first || tell != test.tell {
			t.Errorf("at %s: since %s, first %t, tell %t", test.at, since, first, tell)
		}
	}
	if begun := w.begun(key, noon.Add(time.Hour)); !begun.Equal(noon) {
		t.Errorf("begun at %s", begun)
	}
	if w.Forget(key); w.Len() != 0 || w.tell(key, noon) {
		t.Errorf("%d are remembered", w.Len())
	}
	if begun := w.begun(key, noon.Add(time.Hour)); !begun.Equal(noon.Add(time.Hour)) {
		t.Errorf("begun at %s", begun)
	}
}

// TestHinder: a deletion that is refused for good is a fact, and never takes the place of what was refused before it.
func TestHinder(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "pi", nil)
	p := &pass{}
	if found, err := p.hinder(errors.New("weather")); found != nil || err == nil || p.hindered != nil {
		t.Errorf("weather: %v, %v", err, p.hindered)
	}
	found, err := p.hinder(fmt.Errorf("delete pi: %w", invalid))
	if found == nil || err != nil || p.hindered.Reason != apianswer.ReasonInvalid {
		t.Fatalf("refused: %v, %v", err, p.hindered)
	}
	if found(&p.seen); p.seen.Refusal == nil || p.seen.Refusal.Reason != apianswer.ReasonInvalid {
		t.Errorf("the fact is %+v", p.seen.Refusal)
	}
	if found, err := p.hinder(invalid); found != nil || err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}

// TestOperatorLacksARight: what is forbidden to the operator is not the application's failure. It waits ever longer, says why, and goes on
// as soon as it may.
func TestOperatorLacksARight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.Application("pi")
	log, now := w.Logger(), noon
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	recorder := telemetry.NewRecorder(w.API, w.API, log, metrics)
	ctx, cancel := context.WithCancel(ctrllog.IntoContext(t.Context(), log))
	written := make(chan error, 1)
	go func() { written <- recorder.Start(ctx) }()

	r := &Reconciler{
		scope: everywhere{}, explains: explain.New(w.API, w.API, nil), kind: tiny.Kind(), clock: func() time.Time { return now },
		dependents: dependents.Client{Client: frozen{w.powerless(), w.Get("pi")}, Live: w.API},
		reports:    reports{metrics: metrics, events: recorder}, term: term{limit: passTimeout},
	}
	pass := func() time.Duration {
		result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(app)})
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	for _, test := range []struct{ at, again time.Duration }{
		{0, time.Second}, {time.Second, time.Second}, {2 * time.Second, time.Second}, {3 * time.Second, 3 * time.Second}, {6 * time.Second, 6 * time.Second},
		{time.Minute, 15 * time.Second},
	} {
		now = noon.Add(test.at)
		if again := pass(); again != test.again {
			t.Errorf("after %s: again after %s, want %s", test.at, again, test.again)
		}
	}
	if state := w.Get("pi").Status.AppState.State; state != "" {
		t.Errorf("the state is %s", state)
	}
	r.dependents.Client = frozen{w.API, w.Get("pi")}
	pass()
	if state := w.Get("pi").Status.AppState.State; state != v1beta2.ApplicationStateSubmitted || r.waits.Len() != 0 {
		t.Errorf("the state is %s, %d waits", state, r.waits.Len())
	}
	cancel()
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if told := w.EventsOf(app)[apianswer.ReasonOperatorForbidden]; !strings.Contains(told, "cannot create resource") || strings.Contains(told, "\n") {
		t.Errorf("told: %q", told)
	}
	if log := w.Log.String(); strings.Count(log, "msg=waiting") != 1 {
		t.Errorf("logged:\n%s", log)
	}
}
