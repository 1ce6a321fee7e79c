package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// starts is the number of times that each verb is started. The measurement is the median of the durations.
const starts = 10

// offlineVerbs measures the verbs of sparkctl that need no cluster, from the start of the process to its end.
func offlineVerbs(ctx context.Context, root string) (err error) {
	dir, err := os.MkdirTemp("", "sparkctl-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	program, example := filepath.Join(dir, "sparkctl"), filepath.Join(root, "examples", "spark-pi.yaml")
	if out, err := exec.CommandContext(ctx, "go", "build", "-C", root, "-trimpath", "-o", program, "./cmd/sparkctl").CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}

	for _, args := range [][]string{{"version", "--client"}, {"lint", "-f", example}, {"render", "-f", example}} {
		var took []time.Duration
		for range starts {
			began := time.Now()

			if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("sparkctl %s: %w\n%s", args[0], err, out)
			}

			took = append(took, time.Since(began))
		}

		show(fmt.Sprintf("sparkctl %s, median of %d", args[0], starts), milliseconds(median(took)), "100 ms")
	}
	return nil
}
