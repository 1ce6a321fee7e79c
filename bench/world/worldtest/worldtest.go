// Package worldtest makes worlds for tests.
package worldtest

import (
	"cmp"
	"context"
	"os"
	"testing"

	"github.com/sparkoperator/spark-operator/bench/world"
)

// New makes a world that ends with the test, of the binaries that SPARK_OPERATOR and SPARKLOCAL name, as far as they are set. The root is that of a package in
// a folder of bench/.
func New(ctx context.Context, t *testing.T, o world.Options) *world.World {
	t.Helper()
	o.Root, o.Operator, o.Local = "../..", cmp.Or(o.Operator, os.Getenv("SPARK_OPERATOR")), os.Getenv("SPARKLOCAL")
	w, err := world.New(ctx, o, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}
