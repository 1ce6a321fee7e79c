package jvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/world"
	"github.com/sparkoperator/spark-operator/test/record/submitter"
)

// Measure runs the spark-submit of versions of Spark, out of their images: once that is not counted, so that files are read from memory, then one at a time, then
// some at once. What it says goes to out. Without root it is left out, and a note says so. Images that are not in the cache are made, which takes minutes.
func Measure(ctx context.Context, w *world.World, s *figure.Run, out io.Writer, versions ...string) error {
	return full.measure(ctx, w, s, out, versions)
}

func (z sizes) measure(ctx context.Context, w *world.World, s *figure.Run, out io.Writer, versions []string) (err error) {
	if os.Geteuid() != 0 {
		s.Say(figure.Submit, "The real spark-submit was not measured: its image's files are mounted for it, which takes root.")
		return nil
	}
	files, err := credentials(ctx, w)
	if err != nil {
		return err
	}
	// What was submitted is deleted even where the time is over.
	defer func() { err = errors.Join(err, clean(context.WithoutCancel(ctx), w)) }()
	for _, version := range versions {
		if err := z.version(ctx, w, s, out, version, files); err != nil {
			return fmt.Errorf("spark %s: %w", version, err)
		}
	}
	s.Say(figure.Submit, "spark-submit in cluster mode, from the script's start to its exit, without waiting for the application; files are in the page cache.")
	return nil
}

// version measures one version.
func (z sizes) version(ctx context.Context, w *world.World, s *figure.Run, out io.Writer, version string, files map[string]string) (err error) {
	image := exec.CommandContext(ctx, w.Local(), "image", "spark", "--version", version)
	image.Stderr = out
	archive, err := image.Output()
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	m, err := submitter.OnHost(ctx, version, strings.TrimSpace(string(archive)), files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r := &runs{server: w.Config.Host, machine: m}
	if _, _, err := r.do(ctx, 1, 1); err != nil {
		return err
	}
	for _, way := range []struct{ n, atOnce int }{{z.alone, 1}, {z.atOnce, z.atOnce}} {
		costs, took, err := r.do(ctx, way.n, way.atOnce)
		if err != nil {
			return err
		}
		s.Add(figures(version, way.atOnce, costs, took)...)
	}
	made, err := drivers(ctx, w, version)
	if err == nil && made != r.n {
		err = fmt.Errorf("%d submissions made %d driver pods", r.n, made)
	}
	return err
}

// runs submits applications of one version, each of a name of its own.
type runs struct {
	server  string
	machine *submitter.Machine
	n       int // so far
}

// do submits n applications, some at once, and returns what each took and all together.
func (r *runs) do(ctx context.Context, n, atOnce int) (costs []cost, took time.Duration, err error) {
	costs = make([]cost, n)
	first := r.n
	r.n += n
	start := time.Now()
	err = world.ForEach(ctx, atOnce, n, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("submit-%s-%d", strings.ReplaceAll(r.machine.Version, ".", "-"), first+i)
		c, err := r.machine.Submit(ctx, arguments(r.server, r.machine.Version, name), io.Discard)
		costs[i] = cost{wall: c.Wall, cpu: c.CPU, peak: c.Peak}
		return err
	})
	return costs, time.Since(start), err
}
