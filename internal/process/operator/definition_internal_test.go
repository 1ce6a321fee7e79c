package operator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestMissing(t *testing.T) {
	const document = `{"components": {"schemas": {
		"other": {"x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Other"}], "properties": {"status": {}}},
		"both": {"x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Job"}, {"group": "g", "version": "v2", "kind": "Job"}]},
		"job": {"x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Job"}], "properties": {
			"spec": {"x-kubernetes-preserve-unknown-fields": true},
			"status": {"properties": {"state": {"type": "string"}}}}}}}}`
	job := schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Job"}

	got, err := missing([]byte(document), job, []string{"spec.any.thing", "status", "status.state", "status.operator", "status.state.deep", "other"})
	if diff := cmp.Diff([]string{"status.operator", "status.state.deep", "other"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}

	for name, c := range map[string]struct {
		text string
		kind schema.GroupVersionKind
		want string
	}{
		"an unknown kind":         {document, schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "None"}, "publishes no schema of None yet"},
		"a text that is not JSON": {"<html>", job, "decode the schema of g/v1"},
	} {
		if _, err := missing([]byte(c.text), c.kind, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
