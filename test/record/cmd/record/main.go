//go:build linux

// Command record creates the recordings with which tests of spark/submit compare their results. For each case it runs
// the real spark-submit of each given Spark version and saves the requests. tools/record.sh builds the images and calls
// this command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sparkoperator/spark-operator/test/record"
	"github.com/sparkoperator/spark-operator/test/record/submitter"
	"github.com/sparkoperator/spark-operator/test/record/templates"
)

type options struct {
	cases, recordings, log string
	templates, endings     string
	plain, own, check, new bool
	images                 map[string]string // archives, keyed by version
	only                   []string          // names of cases
}

func main() {
	o := options{images: map[string]string{}}
	flag.StringVar(&o.cases, "cases", "spark/submit/testdata/cases", "directory of the lists of cases")
	flag.StringVar(&o.recordings, "recordings", "spark/submit/testdata/recordings", "directory of the recordings")
	flag.StringVar(&o.log, "log", "", "write Spark's output to this directory (default: discard it)")
	flag.BoolVar(&o.plain, "plain", false, "run bin/spark-submit for every case instead of many cases in one JVM, and print the CPU-seconds")
	flag.BoolVar(&o.own, "own-classes", false, "load Spark's classes again for every case")
	flag.BoolVar(&o.check, "check", false, "write nothing, run the cases in reverse order, and fail if a recording differs")
	flag.BoolVar(&o.new, "new", false, "record only new cases and cases that have changed since their recording")
	flag.StringVar(&o.templates, "templates", "", "record into this file what Spark makes of the generated pod templates, instead of the cases")
	flag.StringVar(&o.endings, "endings", "", "record the logs of the failing programs in this directory's endings.yaml, instead of the cases")

	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: record [FLAG...] VERSION=IMAGE.tar... [CASE...]")
		flag.PrintDefaults()
	}

	flag.Parse()

	for _, arg := range flag.Args() {
		if version, archive, ok := strings.Cut(arg, "="); ok {
			o.images[version] = archive
		} else {
			o.only = append(o.only, arg)
		}
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if len(o.images) == 0 {
		return errors.New("no Spark version: add an argument VERSION=IMAGE.tar")
	}

	switch {
	case o.templates != "":
		return o.recordTemplates(ctx)
	case o.endings != "":
		return o.recordEndings(ctx)
	}
	return o.recordCases(ctx)
}

// recordCases records what spark-submit sends for each case, or compares it with the recordings.
func (o options) recordCases(ctx context.Context) error {
	cases, err := record.Cases(o.cases)
	if err != nil {
		return err
	}

	for _, name := range o.only {
		if !slices.ContainsFunc(cases, func(c record.Case) bool { return c.Name == name }) {
			return fmt.Errorf("unknown case %q: no file in %s contains it", name, o.cases)
		}
	}

	if o.check {
		slices.Reverse(cases) // In reverse order, a case that depends on the state of an earlier case gets another result.
	}

	recordings, err := record.Load(o.recordings)
	if err != nil {
		return err
	}

	if len(o.only) == 0 && !o.check {
		if err := removeStale(o.recordings, cases, recordings); err != nil {
			return err
		}
	}

	differ := 0
	for _, version := range slices.Sorted(maps.Keys(o.images)) {
		n, err := o.version(ctx, version, cases, recordings)
		if err != nil {
			return fmt.Errorf("spark %s: %w", version, err)
		}

		differ += n
	}

	if o.check && differ > 0 {
		return fmt.Errorf("%d recordings differ from what spark-submit sends: record them again without -check", differ)
	}
	return nil
}

// recordTemplates records what each Spark version makes of the generated pod templates.
func (o options) recordTemplates(ctx context.Context) error {
	parsed := map[string][]templates.Parsed{}
	for version, archive := range o.images {
		m, err := submitter.New(ctx, version, archive)
		if err != nil {
			return err
		}

		log, err := o.logFile(version)
		if err == nil {
			parsed[version], err = m.Templates(ctx, templates.All(), log)
			err = errors.Join(err, log.Close())
		}

		if err = errors.Join(err, m.Close()); err != nil {
			return fmt.Errorf("spark %s: %w", version, err)
		}
	}
	return templates.Save(o.templates, parsed)
}

// removeStale removes the recordings of cases that no longer exist.
func removeStale(dir string, cases []record.Case, recordings map[string]record.Recordings) error {
	for name := range recordings {
		if !slices.ContainsFunc(cases, func(c record.Case) bool { return c.Name == name }) {
			if err := os.Remove(filepath.Join(dir, name+".json")); err != nil {
				return err
			}
		}
	}
	return nil
}

// version records the selected cases with one Spark version. It returns the number of recordings that differ from the
// previous ones.
func (o options) version(ctx context.Context, version string, cases []record.Case, recordings map[string]record.Recordings) (differ int, err error) {
	m, err := submitter.New(ctx, version, o.images[version])
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()

	log, err := o.logFile(version)
	if err != nil {
		return 0, err
	}
	defer log.Close()

	began := time.Now()
	r := &runner{options: o, machine: m, log: log}
	defer func() { err = errors.Join(err, r.close()) }()

	for _, c := range cases {
		if len(o.only) > 0 && !slices.Contains(o.only, c.Name) || !c.In(version) {
			continue
		}

		all := recordings[c.Name]
		old, known := all.Of(version)

		known = known && all.Inputs == c.Inputs()
		if o.new && known {
			continue
		}

		recorded, took, err := r.record(ctx, c)
		if err != nil {
			return differ, err
		}

		note := summary(recorded)
		if !known || !old.Same(recorded) {
			differ++
			note += " (differs)"
		}

		fmt.Printf("spark %s %-32s %s %s\n", version, c.Name, took, note)

		if o.check {
			continue
		}

		all.Set(c, version, recorded)

		recordings[c.Name] = all
		if err := record.Save(o.recordings, all); err != nil {
			return differ, err
		}
	}

	fmt.Printf("spark %s: %d cases in %.1f s, %d differ; %s\n", version, r.count, time.Since(began).Seconds(), differ, r.total())
	return differ, nil
}

// summary summarizes a recording in a few words.
func summary(r record.Recording) string {
	if r.Error != "" {
		return "error: " + r.Error
	}
	return fmt.Sprintf("%d writes", len(r.Requests))
}

// logFile opens the file for Spark's output. Without a log directory it opens the null device.
func (o options) logFile(version string) (*os.File, error) {
	if o.log == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	return os.Create(filepath.Join(o.log, "spark-"+version+".log"))
}

// runner runs cases in the mode that the flags select.
type runner struct {
	options
	machine *submitter.Machine
	log     io.Writer
	harness *submitter.Harness
	count   int
	cpu     time.Duration
}

// record runs one case, and returns its recording and a text with the duration. If the shared JVM fails during a case,
// record runs the case again in a JVM of its own, with bin/spark-submit.
func (r *runner) record(ctx context.Context, c record.Case) (record.Recording, string, error) {
	began := time.Now()
	r.count++
	fmt.Fprintf(r.log, "=== %s\n", c.Name)

	if !r.plain {
		if r.harness != nil && r.harness.NeedsRestart() {
			if err := r.close(); err != nil {
				return record.Recording{}, "", err
			}
		}

		if r.harness == nil {
			harness, err := r.machine.Harness(ctx, r.log)
			if err != nil {
				return record.Recording{}, "", err
			}

			harness.OwnClasses = r.own
			r.harness = harness
		}

		recorded, err := r.harness.Record(c)
		if err == nil {
			return recorded, fmt.Sprintf("%5.2f s", time.Since(began).Seconds()), nil
		}

		fmt.Fprintln(os.Stderr, "record:", err)

		_ = r.close() // The JVM has already failed.
	}

	recorded, cost, err := r.machine.Record(ctx, c, r.log)
	r.cpu += cost.CPU
	return recorded, fmt.Sprintf("%5.2f s (%.2f CPU-s)", cost.Wall.Seconds(), cost.CPU.Seconds()), err
}

func (r *runner) close() error {
	if r.harness == nil {
		return nil
	}

	h := r.harness
	r.harness = nil
	cpu, err := h.Close()
	r.cpu += cpu
	return err
}

// total stops the current JVM. It returns a text with the average CPU time per case, including the time of all earlier
// JVMs.
func (r *runner) total() string {
	if err := r.close(); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.2f CPU-s a case", r.cpu.Seconds()/float64(max(r.count, 1)))
}
