package controller

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/apianswer"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
	"github.com/sparkoperator/spark-operator/internal/testkit"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// TestMissingRights: a driver whose service account may not do what Spark needs says so itself only behind a long stack trace.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "able", Namespace: w.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "able", Namespace: w.namespace}},
	}
	viewer := binding.DeepCopy()
	viewer.Name, viewer.RoleRef.Name, viewer.Subjects[0].Name = "viewer", "view", "viewer"
	for _, b := range []*rbacv1.RoleBinding{binding, viewer} {
		if err := w.api.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	r := &Reconciler{kind: tinyKind(), client: w.api, live: w.api}
	for account, want := range map[string]string{"able": "", "viewer": "create pods", "powerless": "get pods"} {
		testkit.Wait(t, "the authorizer, which learns of a binding by a watch", func(ctx context.Context) error {
			got, err := r.missingRight(ctx, w.namespace, account)
			if err == nil && got != want {
				err = fmt.Errorf("%s lacks %q, want %q", account, got, want)
			}
			return err
		})
	}
}

func TestExplainFailedNamesTheAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	failed := lifecycle.Driver{Name: "d", UID: "u", Phase: lifecycle.DriverFailed, HasExit: true, ExitCode: 1, EndedAt: now, Why: lifecycle.Cause{Reason: "Error", Message: "at frame"}}
	for _, tc := range []struct {
		name  string
		edit  func(*lifecycle.Driver)
		asked bool
	}{
		{"it just failed", func(*lifecycle.Driver) {}, true},
		{"it was killed", func(d *lifecycle.Driver) { d.ExitCode = 137 }, false},
		{"it failed long ago", func(d *lifecycle.Driver) { d.EndedAt = now.Add(-time.Hour) }, false},
		{"it succeeded", func(d *lifecycle.Driver) { d.Phase, d.ExitCode = lifecycle.DriverSucceeded, 0 }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			driver := failed
			tc.edit(&driver)
			before := driver.Why
			r := &Reconciler{kind: tinyKind(), client: w.api, live: w.api}
			p := &pass{
				stored: &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: w.namespace}}, now: now,
				children: children{drivers: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: corev1.PodSpec{ServiceAccountName: "powerless"}}}},
				seen:     lifecycle.Observed{Drivers: []lifecycle.Driver{driver}},
			}
			r.explainFailed(t.Context(), p)
			why := p.seen.Drivers[0].Why
			if !tc.asked && why != before {
				t.Errorf("told %+v", why)
			}
			if tc.asked && (why.Reason != apianswer.ReasonForbidden || !strings.Contains(why.Message, `"powerless" is forbidden to get pods`) || !strings.HasSuffix(why.Message, "at frame")) {
				t.Errorf("told %+v", why)
			}
		})
	}
}

// TestExplainFailedAsksOnce: the executors of a driver that failed go one by one, and each is a reason to look again.
func TestExplainFailedAsksOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asked := &counting{Client: w.api}
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), telemetry.MetricsOptions{})
	r := &Reconciler{kind: tinyKind(), client: asked, live: w.api, metrics: metrics}
	look := func(uid string, now time.Time) lifecycle.Cause {
		p := &pass{
			stored: &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: w.namespace}}, now: now,
			children: children{drivers: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}, Spec: corev1.PodSpec{ServiceAccountName: "powerless"}}}},
			seen: lifecycle.Observed{Drivers: []lifecycle.Driver{{Name: "d", UID: uid, Attempt: 1, Phase: lifecycle.DriverFailed, HasExit: true, ExitCode: 1, EndedAt: noon,
				Why: lifecycle.Cause{Reason: "Error", Message: "at frame"}}}},
		}
		r.explainFailed(t.Context(), p)
		return p.seen.Drivers[0].Why
	}
	first := look("u", noon)
	for i := range 5 {
		if again := look("u", noon.Add(time.Duration(i)*time.Second)); again != first {
			t.Errorf("told %+v, then %+v", first, again)
		}
	}
	if n := asked.creates.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if look("v", noon); asked.creates.Load() != 2 {
		t.Errorf("another driver is asked about %d times", asked.creates.Load()-1)
	}
	r.forget(namespaced(w.namespace, "a"))
	if len(r.answers.keys) != 0 {
		t.Errorf("remembered: %v", r.answers.keys)
	}
}

// counting counts what is created.
type counting struct {
	client.Client
	creates atomic.Int32
}

func (c *counting) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	c.creates.Add(1)
	return c.Client.Create(ctx, object, options...)
}
