package v1

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestUnreadableSpecKeepsSuspend checks that spec.suspend is known although the rest of the spec cannot be decoded.
// Otherwise the operator would not hold such a resource.
func TestUnreadableSpecKeepsSuspend(t *testing.T) {
	t.Parallel()

	for _, rest := range []string{`"sparkConf": 7`, `"sparkConf": {"a": "` + strings.Repeat("x", 3<<20) + `"}`,
		`"sparkConf": ` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000)} {
		for suspend, want := range map[string]bool{`"suspend": true, `: true, `"suspend": false, `: false, "": false} {
			app, cluster, text := &SparkApplication{}, &SparkCluster{},
				[]byte(`{"metadata": {"name": "n"}, "spec": {`+suspend+rest+"}}")
			if err := json.Unmarshal(text, app); err != nil || app.OutOfBounds == "" {
				t.Fatalf("%.80s: %v, %q", text, err, app.OutOfBounds)
			}

			if err := json.Unmarshal(text, cluster); err != nil || cluster.OutOfBounds == "" {
				t.Fatalf("%.80s: %v, %q", text, err, cluster.OutOfBounds)
			}

			for _, s := range []*bool{app.Spec.Suspend, cluster.Spec.Suspend} {
				if got := s != nil && *s; got != want {
					t.Errorf("%.80s: suspend is %t", text, got)
				}
			}
		}
	}
}
