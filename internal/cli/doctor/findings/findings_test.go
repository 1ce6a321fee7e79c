package findings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// TestFindingsAsText checks the layout of the findings. On a narrow terminal, texts are wrapped and commands are not.
func TestFindingsAsText(t *testing.T) {
	t.Setenv("NO_COLOR", "1")

	r := &Report{}
	r.Add(OK, "operator", "", "spark-operator/spark-operator-controller: version 0.1.0, 1 of 1 replicas are ready")
	r.Add(Error, "accounts", "kubectl -n jobs create serviceaccount spark",
		"the service account jobs/spark of drivers does not exist")
	var b strings.Builder
	r.write(terminal.Streams{Out: &b, Width: 60})

	const want = "ok       operator     spark-operator/spark-operator-controller:\n" +
		"                      version 0.1.0, 1 of 1 replicas are\n" +
		"                      ready\n" +
		"error    accounts     the service account jobs/spark of\n" +
		"                      drivers does not exist\n" +
		"                      fix: kubectl -n jobs create serviceaccount spark\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
