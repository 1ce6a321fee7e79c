package selection

import (
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/kube"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// TestPrintState checks that a state with a reason is followed by the way out, and one without a reason by nothing.
func TestPrintState(t *testing.T) {
	for _, test := range []struct{ message, advice, want string }{
		{"", "", "SparkApplication n/a: FAILED\n"},
		{"no such image", "check the image's name",
			"SparkApplication n/a: FAILED, no such image\ndo: check the image's name\n"},
	} {
		var out strings.Builder
		PrintState(terminal.Streams{Out: &out},
			&kube.Summary{Kind: kinds.Of(&v1beta2.SparkApplication{}), Namespace: "n", Name: "a", State: "FAILED",
				Result: kube.Failed, Message: test.message, Advice: test.advice})

		if out.String() != test.want {
			t.Errorf("printed %q, want %q", out.String(), test.want)
		}
	}
}
