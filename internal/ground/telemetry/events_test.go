package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
)

func TestMain(m *testing.M) { kit.MainShared(m) }

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func reference(namespace string) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "sparkoperator.k8s.io/v1beta2", Kind: "SparkApplication", Namespace: namespace, Name: "pi",
		UID: types.UID("uid-" + namespace),
	}
}

func TestEventsOnTheServer(t *testing.T) {
	t.Parallel()
	c, namespace := kit.Client(t), kit.Namespace(t)
	metrics := NewMetrics(prometheus.NewRegistry(), MetricsOptions{})
	r := NewRecorder(c, c, logr.Discard(), metrics)
	ctx, stop := context.WithCancel(t.Context())

	ended := make(chan error)
	go func() { ended <- r.Start(ctx) }()

	for i := range 30 { // more than client-go's recorder lets through for one object
		r.Event("", reference(namespace), now, corev1.EventTypeNormal, "Step", fmt.Sprintf("step %d", i))
	}

	r.Event("", reference(namespace), now, corev1.EventTypeWarning, "Failed", "out of memory")
	r.Event("", reference(namespace), now.Add(time.Minute), corev1.EventTypeWarning, "Failed", "out of memory")
	stop() // events that wait in the queue are still written

	if err := <-ended; err != nil {
		t.Fatal(err)
	}

	var list corev1.EventList
	if err := c.List(t.Context(), &list, client.InNamespace(namespace),
		client.MatchingFields{"involvedObject.name": "pi"}); err != nil {
		t.Fatal(err)
	}

	if len(list.Items) != 31 {
		t.Errorf("%d events, want 30 steps and one failure", len(list.Items))
	}

	for _, event := range list.Items {
		if event.Reason != "Failed" {
			continue
		}

		if event.Count != 2 || !event.LastTimestamp.Time.Equal(now.Add(time.Minute)) ||
			!event.FirstTimestamp.Time.Equal(now) {
			t.Errorf("recorded twice: count %d, from %s to %s", event.Count, event.FirstTimestamp, event.LastTimestamp)
		}

		if event.Source.Component != Component || event.Type != corev1.EventTypeWarning ||
			event.Message != "out of memory" {
			t.Errorf("the event is %+v", event)
		}
	}
}

// writer is a client whose Create returns the result of its function answer.
type writer struct {
	client.Client
	mu     sync.Mutex
	calls  int
	answer func(call int) error
}

func (w *writer) Create(context.Context, client.Object, ...client.CreateOption) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	return w.answer(w.calls)
}

func TestFailingWritesAreRetriedOrDropped(t *testing.T) {
	events := schema.GroupResource{Resource: "events"}
	for _, test := range []struct {
		name           string
		answer         func(int) error
		calls, dropped int
	}{
		{"the first try succeeds", func(int) error { return nil }, 1, 0},
		{"the second try succeeds", func(n int) error {
			if n == 1 {
				return errors.New("connection refused")
			}
			return nil
		}, 2, 0},
		{"the operator lacks the right",
			func(int) error { return apierrors.NewForbidden(events, "x", errors.New("no")) }, 1, 1},
		{"the namespace does not exist", func(int) error { return apierrors.NewNotFound(events, "x") }, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			w := &writer{answer: test.answer}
			r := NewRecorder(w, w, logr.Discard(), NewMetrics(reg, MetricsOptions{}))
			r.write(t.Context(), newEvent(Component, reference("x"), now, corev1.EventTypeNormal, "Reason", "message"))

			if dropped := counts(t, reg)["sparkoperator_events_dropped_total"]; w.calls != test.calls ||
				dropped != float64(test.dropped) {
				t.Errorf("%d calls, %v dropped; want %d, %d", w.calls, dropped, test.calls, test.dropped)
			}
		})
	}
}

func TestFullQueueDropsAndDoesNotBlock(t *testing.T) {
	reg := prometheus.NewRegistry()

	r := NewRecorder(nil, nil, logr.Discard(), NewMetrics(reg, MetricsOptions{})) // without workers
	for i := range eventQueue + 3 {
		ref := reference("x")
		ref.Namespace = fmt.Sprint("team-", i%4)
		r.Event("", ref, now, corev1.EventTypeNormal, "Reason", "message")
	}

	if dropped := counts(t, reg)["sparkoperator_events_dropped_total"]; dropped != 3 {
		t.Errorf("%v dropped, want 3", dropped)
	}
}

// TestNoNamespaceFillsTheQueue checks that a namespace with many events leaves room in the queue for events of other
// namespaces. Events that were written do not count any more.
func TestNoNamespaceFillsTheQueue(t *testing.T) {
	reg := prometheus.NewRegistry()

	r := NewRecorder(discarding{}, nil, logr.Discard(), NewMetrics(reg, MetricsOptions{}))
	for range eventQueue {
		r.Event("", reference("hostile"), now, corev1.EventTypeNormal, "Reason", "message")
	}

	before := counts(t, reg)["sparkoperator_events_dropped_total"]
	other := reference("hostile") // on the same worker's queue
	other.Namespace = "other"
	r.Event("", other, now, corev1.EventTypeNormal, "Reason", "message")

	if dropped := counts(t, reg)["sparkoperator_events_dropped_total"]; before != eventQueue-eventShare ||
		dropped != before {
		t.Errorf("%v events were dropped of the one namespace, and %v of the other", before, dropped-before)
	}

	ended, end := context.WithCancel(t.Context())
	end()

	if err := r.Start(ended); err != nil || len(r.waiting) > 0 {
		t.Errorf("%v written events still count as waiting: %v", r.waiting, err)
	}
}

// discarding is a client that accepts every Create and stores nothing.
type discarding struct{ client.Client }

func (discarding) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

func TestEventNames(t *testing.T) {
	name := func(change func(*corev1.ObjectReference), reason, message string) string {
		ref := reference("x")
		change(&ref)
		return newEvent(Component, ref, now, corev1.EventTypeNormal, reason, message).Name
	}
	same := func(*corev1.ObjectReference) {}

	first := name(same, "A", "m")
	if again := name(same, "A", "m"); again != first {
		t.Errorf("the same event has two names, %s and %s", first, again)
	}

	for what, other := range map[string]string{
		"reason":  name(same, "B", "m"),
		"message": name(same, "A", "n"),
		"object":  name(func(r *corev1.ObjectReference) { r.UID = "another" }, "A", "m"),
	} {
		if other == first {
			t.Errorf("another %s has the same name", what)
		}
	}

	if long := name(func(r *corev1.ObjectReference) { r.Name = strings.Repeat("n", 253) }, "A", "m"); len(long) > 253 {
		t.Errorf("a name of %d characters", len(long))
	}
}

func FuzzTruncate(f *testing.F) {
	f.Add("héllo", 2)
	f.Add("", 0)
	f.Add("\xff\xfe", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 {
			return
		}

		got := truncate(s, n)
		if len(got) > n || !strings.HasPrefix(s, got) {
			t.Errorf("truncate(%q, %d) = %q", s, n, got)
		}

		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("a character of %q was cut: %q", s, got)
		}
	})
}
