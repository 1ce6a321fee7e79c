//go:build !linux

package jvm

import (
	"context"
	"io"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
)

// Measure leaves it at a note: an image's files are run as they are on Linux only.
func Measure(_ context.Context, _ *world.World, s *figure.Run, _ io.Writer, _ ...string) error {
	s.Say(figure.Submit, "The real spark-submit was not measured: that takes Linux.")
	return nil
}
