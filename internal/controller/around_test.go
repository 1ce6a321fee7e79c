package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/feed"
	"github.com/sparkoperator/spark-operator/internal/identity"
	"github.com/sparkoperator/spark-operator/internal/kind"
)

// TestUnexpected: that an object went which a pass deleted, with nothing else to do beside the driver, is no news, once; whatever else goes is.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	key := types.NamespacedName{Namespace: "ns", Name: "pi"}
	service := metadataOnly(corev1.SchemeGroupVersion.WithKind("Service"))
	service.SetNamespace("ns")
	service.SetName("pi-ui-svc")
	service.SetLabels(map[string]string{identity.AppUIDLabel: "app"})
	service.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "SparkApplication", Name: "pi", UID: "app"}})
	const name, other = "Service/pi-ui-svc", "Ingress/pi-ui-ingress"
	for _, test := range []struct {
		what      string
		concludes bool
		was       *aroundState
		news      []bool // of one deletion after the other
		left      int    // keys that are remembered
	}{
		{"deleted by a pass", true, &aroundState{made: map[string]written{name: {gone, noon}}}, []bool{false, true}, 0},
		{"with another that is not gone yet", true, &aroundState{made: map[string]written{name: {gone, noon}, other: {gone, noon}}}, []bool{false, true}, 1},
		{"with another that could not be deleted", true, &aroundState{failures: 1, made: map[string]written{name: {gone, noon}}}, []bool{true, true}, 1},
		{"by somebody else", true, &aroundState{made: map[string]written{name: {"content", noon}}}, []bool{true}, 1},
		{"of which nothing is known", true, nil, []bool{true}, 0},
		{"of a kind that may wait for it", false, &aroundState{made: map[string]written{name: {gone, noon}}}, []bool{true, true}, 1},
	} {
		t.Run(test.what, func(t *testing.T) {
			r := &Reconciler{kind: Kind{Progress: kind.Progress{Concludes: test.concludes}}}
			if test.was != nil {
				r.around.note(key, *test.was)
			}
			passes := r.Unexpected(feed.OwnerOf(v1beta2.Kind("SparkApplication"), ""))
			for i, want := range test.news {
				if got := passes.Delete(event.DeleteEvent{Object: service}); got != want {
					t.Errorf("deletion %d is news: %t", i+1, got)
				}
			}
			if got := r.around.tries.Len(); got != test.left {
				t.Errorf("%d keys are remembered, want %d", got, test.left)
			}
		})
	}
}

// TestEchoes: the event of a status of ours is no news while nobody has met an older one; what somebody else wrote is, and what is sent again.
func TestEchoes(t *testing.T) {
	t.Parallel()
	app := func(version string) *v1beta2.SparkApplication {
		return &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi", UID: "u", ResourceVersion: version}}
	}
	again := app("10")
	again.UID = "another"
	for _, test := range []struct {
		what        string
		concludes   bool
		wrote       string
		met         *v1beta2.SparkApplication // by a pass, in the meantime
		before, now *v1beta2.SparkApplication
		news        bool
	}{
		{"ours", true, "10", nil, app("9"), app("10"), false},
		{"ours, of a kind that looks at it", false, "10", nil, app("9"), app("10"), true},
		{"ours, and a pass waits for it", true, "10", app("9"), app("9"), app("10"), true},
		{"another's, after ours", true, "10", nil, app("9"), app("11"), true},
		{"another's, before ours", true, "10", nil, app("8"), app("9"), true},
		{"another's, and we never wrote", true, "", nil, app("9"), app("10"), true},
		{"one of the name that was made anew", true, "10", nil, app("9"), again, true},
		{"sent again", true, "10", nil, app("10"), app("10"), true},
	} {
		t.Run(test.what, func(t *testing.T) {
			r := &Reconciler{kind: Kind{Progress: kind.Progress{Concludes: test.concludes}}}
			if test.wrote != "" {
				r.writes.wrote(app(test.wrote))
			}
			if test.met != nil {
				if ahead, _ := r.writes.ahead(test.met, time.Unix(100, 0)); !ahead {
					t.Fatal("what was met is not older than what was written")
				}
			}
			if got := r.NoEchoes().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.now}); got != test.news {
				t.Errorf("it is news: %t", got)
			}
		})
	}
}
