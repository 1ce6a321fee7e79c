package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pinned is the label by which the container runtime tells the kubelet never to collect an image.
const pinned = "io.cri-containerd.pinned=pinned"

// Load brings the images of tars into the cluster in dir. step is told about each.
func Load(ctx context.Context, dir string, tars []string, step func(name string, took time.Duration)) error {
	spec, err := ReadSpec(dir)
	if err != nil {
		return err
	}
	if spec == nil {
		return fmt.Errorf("no cluster in %s: start one with `sparklocal up`", dir)
	}
	if spec.Node == nil {
		return fmt.Errorf("the cluster in %s has no node that could run an image", dir)
	}
	for _, tar := range tars {
		if _, err := os.Stat(tar); err != nil {
			return fmt.Errorf("image: %w", err)
		}
		began := time.Now()
		if err := spec.load(ctx, tar); err != nil {
			return err
		}
		step(filepath.Base(tar), time.Since(began))
	}
	return nil
}

// load imports one tar and pins what came of it.
func (s *Spec) load(ctx context.Context, tar string) error {
	out, err := s.ctr(ctx, "images", "import", tar)
	if err != nil {
		return err
	}
	for _, name := range imported(out) {
		if _, err := s.ctr(ctx, "images", "label", name, pinned); err != nil {
			return err
		}
	}
	return nil
}

// imported reads the image names off the lines of `ctr images import`: "unpacking NAME (sha256:...)...done".
func imported(out string) []string {
	var names []string
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "unpacking" {
			names = append(names, fields[1])
		}
	}
	return names
}

func (s *Spec) ctr(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", s.Node.containerdSocket(), "--namespace", "k8s.io"}, args...)...)
	cmd.Env = s.environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
