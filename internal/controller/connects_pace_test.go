package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/config"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestFailuresInTheCrowdOfAServer: executors that fail, and those that went since, wait as the counts do. What is said of the server does not, nor what its
// executors wait for.
func TestFailuresInTheCrowdOfAServer(t *testing.T) {
	t.Parallel()
	const (
		fails = `{"status":{"executors":{"failed":1},"lastUpdateTime":"2026-01-02T03:04:05Z","operator":{"executors":{"failed":"7"}}}}`
		goes  = `{"status":{"executors":null,"lastUpdateTime":"2026-01-02T03:04:05Z","operator":{"executors":null}}}`
		tells = `{"status":{"executors":{"failed":1},"conditions":[],"operator":{"executors":{"failed":"7"}}}}`
	)
	failed := lifecycle.Notice{Part: lifecycle.Executors, Name: "x-exec-7", Attempt: 1, Cause: lifecycle.Cause{Reason: "Error"}}
	waits := failed
	waits.Waits = true
	for _, test := range []struct {
		name, patch string
		tell        []lifecycle.Notice
		want        bool
	}{
		{"one fails", fails, []lifecycle.Notice{failed}, true},
		{"many fail", fails, []lifecycle.Notice{failed, failed, failed}, true},
		{"it is gone", goes, nil, true},
		{"one fails, another waits", fails, []lifecycle.Notice{failed, waits}, false},
		{"the server has news, too", fails, []lifecycle.Notice{failed, {Part: lifecycle.DriverPod}}, false},
		{"the spec has", fails, []lifecycle.Notice{{Part: lifecycle.Application}}, false},
		{"a condition changes", tells, []lifecycle.Notice{failed}, false},
	} {
		r := &Reconciler{kind: kinds.SparkConnects(config.Default())}
		p := &pass{now: noon, plan: lifecycle.Plan{Tell: test.tell}}
		if got := r.ofTheCrowd(p, []byte(test.patch)); got != test.want {
			t.Errorf("%s: it is put off: %t", test.name, got)
		}
		if r.kind.Crowd.News = false; len(test.tell) > 0 && r.ofTheCrowd(p, []byte(test.patch)) {
			t.Errorf("%s: put off for a kind whose failures are told at once", test.name)
		}
	}
}

// TestFailedExecutorsOfAServerAreStoredTogether: executors that crash one after the other, each gone at once as Spark removes them, make a write a second
// or so. The first is told, and others, though they are gone by then; and in the end none is counted
// that is not there.
func TestFailedExecutorsOfAServerAreStoredTogether(t *testing.T) {
	t.Parallel()
	const many = 40 // in a few seconds
	w, clock := newWorld(t), &later{}
	w.runServers(testConfig(w.Namespace), clock.now)
	sc := w.server("x")
	pod := w.readyServer(sc, 1)
	before, began := w.metric("sparkoperator_status_writes_total"), time.Now()
	writes := func() (made, most float64) {
		return w.metric("sparkoperator_status_writes_total") - before, 2 + time.Since(began).Seconds()/quiet.Seconds()
	}
	var kept *corev1.Pod
	for id := 2; id < 2+many; id++ {
		executor := w.serverExecutor(pod, id)
		w.Create(executor)
		w.kubelet(executor.Name, corev1.PodFailed, exited(1, fmt.Sprintf("crash %d", id)))
		if kept = executor; id < 1+many {
			w.Remove(executor)
		}
	}
	w.waitServer("x", v1alpha1.SparkConnectStateReady, holds("Ready", metav1.ConditionTrue, "Running"), func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(want(sc.Status.Executors["failed"], 1), want(sc.Status.Executors["running"], 1))
	})
	testkit.Wait(t, "the first failure and others to be told", func(context.Context) error {
		told := w.EventsOf(sc)["SparkExecutorFailed"]
		return errors.Join(want(strings.Contains(told, "crash 2\n"), true), want(strings.Count(told, "crash") > 5, true))
	})
	if made, most := writes(); made > most {
		t.Errorf("%v writes for %d executors that failed, want at most %v", made, many, most)
	}
	w.Remove(kept)
	w.waitServer("x", v1alpha1.SparkConnectStateReady, func(sc *v1alpha1.SparkConnect) error {
		return errors.Join(want(len(sc.Status.Executors), 1), want(sc.Status.Operator.Executors == nil, true))
	})
	if made, most := writes(); made > most {
		t.Errorf("%v writes until they are gone, want at most %v", made, most)
	}
}
