package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/bench/world"
)

// TestPattern holds that what the API server says of an object is in no copy of it, and that names without the application's are told apart.
func TestPattern(t *testing.T) {
	p := &pattern{name: "a-0"}
	for _, o := range []struct {
		name   string
		status any
		ip     string
	}{{"a-0", map[string]any{"applicationState": map[string]any{"state": "COMPLETED"}}, "10.0.0.7"}, {"spark-drv-12", nil, "None"}} {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "A", "metadata": map[string]any{
			"name": o.name, "namespace": patternNamespace, "uid": "u-" + o.name, "resourceVersion": "7", "generation": int64(2), "labels": map[string]any{"l": "v"},
		}}}
		object.Object["spec"] = map[string]any{"clusterIP": o.ip, "clusterIPs": []any{o.ip}}
		if o.status != nil {
			object.Object["status"] = o.status
		}
		if err := p.add(world.Applications, object); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.others) != 1 || p.others[0] != "spark-drv-12" {
		t.Errorf("others: %v", p.others)
	}
	for i, of := range p.pieces {
		var object struct {
			Metadata map[string]any
			Spec     struct{ ClusterIP string }
			Status   any
		}
		if err := json.Unmarshal([]byte(of.text), &object); err != nil {
			t.Fatal(err)
		}
		if len(object.Metadata) != 2 || object.Metadata["labels"] == nil || object.Status != nil {
			t.Errorf("%d: %s", i, of.text)
		}
		if want := map[int]string{1: "None"}[i]; object.Spec.ClusterIP != want || strings.Contains(of.text, "clusterIPs") != (want != "") {
			t.Errorf("%d: the address is %q: %s", i, object.Spec.ClusterIP, of.text)
		}
		if want := i == 0; strings.Contains(of.status, "COMPLETED") != want {
			t.Errorf("%d: status %q", i, of.status)
		}
		if !strings.HasPrefix(string(of.uid), "u-") {
			t.Errorf("%d: UID %q", i, of.uid)
		}
	}
}
