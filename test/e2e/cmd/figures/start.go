package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// starts is the number of times that each verb is started. The measurement is the median of the durations.
const starts = 10

// offlineVerbs measures the verbs of sparkctl that need no cluster, from the start of the process to its end.
func offlineVerbs(ctx context.Context, root string) error {
	sparkctl, err := gobuild.Program(ctx, ".", "./cmd/sparkctl")
	if err != nil {
		return err
	}

	example := filepath.Join(root, "examples", "spark-pi.yaml")

	for _, args := range [][]string{{"version", "--client"}, {"lint", "-f", example}, {"render", "-f", example}} {
		var took []time.Duration
		for range starts {
			began := time.Now()

			if out, err := exec.CommandContext(ctx, sparkctl, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("sparkctl %s: %w\n%s", args[0], err, out)
			}

			took = append(took, time.Since(began))
		}

		show(fmt.Sprintf("sparkctl %s, median of %d", args[0], starts), milliseconds(median(took)), "100 ms")
	}
	return nil
}
