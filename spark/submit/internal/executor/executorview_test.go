package executor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/test/record/templates"
)

// TestUnknownFieldsDoNotChangeTheExecutor checks that the fields of a template that no pod has are ignored in the pod
// that Executor returns, as they are by Spark and the API server. The rules of the platform judge this pod. It was once
// decoded without regard to case, so a template with hostpid looked like a template with hostPID.
func TestUnknownFieldsDoNotChangeTheExecutor(t *testing.T) {
	compared := 0
	for _, template := range templates.All() {
		if !strings.HasPrefix(template.Text, "{") {
			continue
		}

		read, err := podtemplate.Read([]byte(template.Text))
		if err != nil || len(read.Extra) == 0 {
			continue
		}
		compared++

		known, err := podtemplate.Tree(read.Pod)
		if err != nil {
			t.Fatal(err)
		}

		text, err := json.Marshal(known)
		if err != nil {
			t.Fatal(err)
		}

		with, without := kit.Minimal(), kit.Minimal()
		with.ExecutorTemplate, without.ExecutorTemplate = []byte(template.Text), text
		got, err := native.Executor(with, 1, "")

		want, wantErr := native.Executor(without, 1, "")
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %s: %v, but without the unknown fields %v", template.Name, template.Text, err, wantErr)
		} else if err == nil && !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: %s: the unknown fields change the executor:\n%s", template.Name, template.Text,
				cmp.Diff(want, got))
		}
	}

	if compared < 300 {
		t.Errorf("only %d templates with unknown fields", compared)
	}
}
