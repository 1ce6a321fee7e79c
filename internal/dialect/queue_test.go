package dialect

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// TestQueueIgnored checks the condition of a custom resource in a queue whose pods run without a request for quota. It
// is reported once.
func TestQueueIgnored(t *testing.T) {
	now, missing := time.Unix(0, 0), &lifecycle.Quota{Name: "sparkapplication-pi"}

	for _, test := range []struct {
		name    string
		runs    bool
		quota   *lifecycle.Quota
		ignored bool
	}{
		{"in no queue", true, nil, false},
		{"no request", true, missing, true},
		{"no request, and no pods", false, missing, false},
		{"a request", true, &lifecycle.Quota{Name: "sparkapplication-pi", Requested: true}, false},
	} {
		var conditions []metav1.Condition
		for reported := range 2 {
			notices := EncodeQueueIgnored(&conditions, test.runs, test.quota, 1, now)
			if (len(notices) > 0) != (test.ignored && reported == 0) {
				t.Errorf("%s: pass %d reports %+v", test.name, reported+1, notices)
			}
		}

		found := meta.FindStatusCondition(conditions, ConditionQueueIgnored)
		if (found != nil) != test.ignored || found != nil && !strings.Contains(found.Message, "Workload sparkapplication-pi does not exist") {
			t.Errorf("%s: %+v", test.name, found)
		}

		if EncodeQueueIgnored(&conditions, false, test.quota, 1, now); len(conditions) > 0 {
			t.Errorf("%s: the condition stays without pods: %+v", test.name, conditions)
		}
	}
}
