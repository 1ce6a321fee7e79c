package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/test/kit/tiny"
)

// TestEchoes checks that NoEchoes drops the event of the operator's own status write. There is one exception: if a pass
// has read an older status, it waits for this event, so the event must not be dropped. NoEchoes must also keep the
// events of other writes, and events that the informer sends again.
func TestEchoes(t *testing.T) {
	t.Parallel()

	app := func(version string) *v1beta2.SparkApplication {
		return &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pi", UID: "u",
			ResourceVersion: version}}
	}
	again := app("10")

	again.UID = "another"
	for _, test := range []struct {
		what        string
		concludes   bool
		wrote       string
		met         *v1beta2.SparkApplication // the object that a pass has read from the cache; nil if there was no pass
		before, now *v1beta2.SparkApplication
		needsPass   bool
	}{
		{"own write", true, "10", nil, app("9"), app("10"), false},
		{"own write, but the kind's decisions depend on its event", false, "10", nil, app("9"), app("10"), true},
		{"own write, but a pass waits for its event", true, "10", app("9"), app("9"), app("10"), true},
		{"another client's write after the own write", true, "10", nil, app("9"), app("11"), true},
		{"another client's write before the own write", true, "10", nil, app("8"), app("9"), true},
		{"another client's write without an own write", true, "", nil, app("9"), app("10"), true},
		{"new object with the same name", true, "10", nil, app("9"), again, true},
		{"resent event", true, "10", nil, app("10"), app("10"), true},
	} {
		t.Run(test.what, func(t *testing.T) {
			kind := tiny.Kind()
			kind.Traits().Concludes = test.concludes

			r := &Reconciler{kind: kind}
			if test.wrote != "" {
				r.writes.Wrote(app(test.wrote))
			}

			if test.met != nil {
				if ahead, _ := r.writes.CacheIsStale(test.met, time.Unix(100, 0)); !ahead {
					t.Fatal("the object that the pass read is not older than the written object")
				}
			}

			if got := r.NoEchoes().Update(event.UpdateEvent{ObjectOld: test.before,
				ObjectNew: test.now}); got != test.needsPass {
				t.Errorf("the event is passed on: %t", got)
			}
		})
	}
}
