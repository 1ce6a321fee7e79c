package cluster

import (
	"context"
	"path/filepath"
	"testing"
)

// ForTest starts a cluster as Start does, and stops it at the end of the test. If the test has failed, it first logs
// what the cluster shows. The root in the options may be relative to the tested package.
func ForTest(t *testing.T, o Options) *Cluster {
	t.Helper()

	absolute, err := filepath.Abs(o.Root)
	if err != nil {
		t.Fatal(err)
	}

	o.Root, o.Out = absolute, t.Output()

	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Diagnose(context.WithoutCancel(t.Context())))
		}

		if err := c.Close(); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return c
}
