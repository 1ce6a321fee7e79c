package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAnswered takes the writes of whom a replay has to do the work of, and of those what was carried out.
func TestAnswered(t *testing.T) {
	log := line(LoadAgent, "create", "sparkapplications", "x", 201, 1, 2, `{"kind":"SparkApplication"}`) +
		line(operator, "create", "pods", "x-driver", 409, 3, 4, `{}`) +
		line(operator, "create", "pods", "x-driver", 201, 5, 6, `{}`) +
		line("kube-scheduler/v1", "create", "pods/binding", "x-driver", 201, 7, 8, "") +
		line(operator, "get", "pods", "x-driver", 200, 8, 8, "") +
		line(NodeAgent, "patch", "pods/status", "x-driver", 200, 9, 10, `{}`) +
		line(NodeAgent, "patch", "pods/status", "x-driver", 200, 99, 100, `{}`)
	got, err := ReadAccount(strings.NewReader(log), Scope{To: moment0(50)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Time{moment0(2), moment0(6), moment0(10)}, got.Answered); diff != "" {
		t.Error(diff)
	}
}
