package explain

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/engine/apianswer"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// failedDriver returns a driver that failed just now.
func failedDriver(uid string, change ...func(*lifecycle.Driver)) *lifecycle.Driver {
	d := &lifecycle.Driver{Name: "d", UID: uid, Attempt: 1, Phase: lifecycle.DriverFailed, HasExit: true, ExitCode: 1,
		EndedAt: noon,
		Why:     lifecycle.Cause{Reason: "Error", Message: "driver failed: at frame"}}
	for _, c := range change {
		c(d)
	}
	return d
}

// TestFailedDriverNamesTheAccount checks that a missing right takes precedence over the driver's own message, if the
// missing right can be the reason of the failure.
func TestFailedDriverNamesTheAccount(t *testing.T) {
	for _, test := range []struct {
		name   string
		driver *lifecycle.Driver
		asked  bool
	}{
		{"it just failed", failedDriver("u"), true},
		{"its SparkContext failed", failedDriver("u", func(d *lifecycle.Driver) {
			d.Why = lifecycle.Cause{Reason: "PythonException",
				Message: "driver failed: py4j.protocol.Py4JJavaError: at frame"}
		}), true},
		{"it was killed", failedDriver("u", func(d *lifecycle.Driver) { d.ExitCode = 137 }), false},
		{"it failed long ago", failedDriver("u", func(d *lifecycle.Driver) { d.EndedAt = noon.Add(-time.Hour) }),
			false},
		{"its log names another cause",
			failedDriver("u", func(d *lifecycle.Driver) { d.Why.Reason = "ModuleNotFound" }), false},
		{"its program failed", failedDriver("u", func(d *lifecycle.Driver) { d.Why.Reason = "PythonException" }),
			false},
		{"it succeeded", failedDriver("u",
			func(d *lifecycle.Driver) { d.Phase, d.ExitCode = lifecycle.DriverSucceeded, 0 }), false},
	} {
		api := &rightsClient{lacks: "get"}

		why := New(api, api, nil).FailedDriver(t.Context(), pi, test.driver, "powerless", noon)
		if !test.asked && (why != test.driver.Why || api.rightsSeen != 0) {
			t.Errorf("%s: cause %+v, %d reviews", test.name, why, api.rightsSeen)
		}

		if test.asked && (why.Reason != apianswer.ReasonForbidden ||
			!strings.Contains(why.Message, `"powerless" has no right to get pods`) ||
			!strings.HasSuffix(why.Log, "at frame") ||
			why.Advice != "kubectl create rolebinding spark-driver-powerless --clusterrole=edit --serviceaccount="+
				pi.Namespace+":powerless -n "+pi.Namespace) {
			t.Errorf("%s: cause %+v", test.name, why)
		}
	}
}

// TestFailedDriverIsAskedAboutOnce checks that the rights are reviewed once for each failed driver. The executors of
// such a driver disappear one after the other, and each of them starts another pass.
func TestFailedDriverIsAskedAboutOnce(t *testing.T) {
	api := &rightsClient{lacks: "get"}
	e := New(api, api, nil)
	look := func(uid types.UID, after time.Duration) lifecycle.Cause {
		return e.FailedDriver(t.Context(), pi, failedDriver(string(uid)), "powerless", noon.Add(after))
	}

	first := look("u", 0)
	for i := range 5 {
		if again := look("u", time.Duration(i)*time.Second); again != first {
			t.Errorf("told %+v, then %+v", first, again)
		}
	}

	if api.rightsSeen != 1 {
		t.Errorf("asked %d times", api.rightsSeen)
	}

	if look("v", 0); api.rightsSeen != 2 {
		t.Errorf("another driver is asked about %d times", api.rightsSeen-1)
	}

	if e.Forget(pi); e.replies.Len() != 0 {
		t.Errorf("%d answers are remembered", e.replies.Len())
	}
}
