package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kind"
)

// TestEchoes checks that the event of our own status write is dropped unless a pass has read an older status and waits
// for the event. Events of other writes and resent events are passed on.
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
		needsPass   bool
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
				r.writes.Wrote(app(test.wrote))
			}
			if test.met != nil {
				if ahead, _ := r.writes.CacheIsStale(test.met, time.Unix(100, 0)); !ahead {
					t.Fatal("what was met is not older than what was written")
				}
			}
			if got := r.NoEchoes().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.now}); got != test.needsPass {
				t.Errorf("it is news: %t", got)
			}
		})
	}
}
