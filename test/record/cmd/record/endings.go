//go:build linux

package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/sparkoperator/spark-operator/test/record"
	"github.com/sparkoperator/spark-operator/test/record/submitter"
)

// recordEndings records the logs of failing programs into the directory that also has their list.
func (o options) recordEndings(ctx context.Context) error {
	list, err := record.Endings(filepath.Join(o.endings, "endings.yaml"))
	if err != nil {
		return err
	}

	for version, archive := range o.images {
		chosen := slices.DeleteFunc(slices.Clone(list), func(e record.Ending) bool {
			there, _ := filepath.Glob(filepath.Join(o.endings, e.Name+".*.log.gz"))
			return e.Version != version || len(o.only) > 0 && !slices.Contains(o.only, e.Name) || o.new && len(there) > 0
		})
		if len(chosen) == 0 {
			continue
		}

		m, err := submitter.New(ctx, version, archive)
		if err != nil {
			return err
		}

		for _, e := range chosen {
			began := time.Now()

			code, recording := o.recordEnding(ctx, m, e)
			if err = errors.Join(err, recording); recording == nil {
				fmt.Printf("spark %s %-24s exit code %d in %.0f s\n", version, e.Name, code, time.Since(began).Seconds())
			}
		}

		if err := errors.Join(err, m.Close()); err != nil {
			return fmt.Errorf("spark %s: %w", version, err)
		}
	}
	return nil
}

func (o options) recordEnding(ctx context.Context, m *submitter.Machine, e record.Ending) (code int, err error) {
	log, err := os.CreateTemp("", "ending-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(log.Name())
	defer log.Close()

	if code, err = m.End(ctx, e, log); err != nil {
		return 0, err
	}

	text, err := os.ReadFile(log.Name())
	if err != nil {
		return 0, err
	}

	earlier, err := filepath.Glob(filepath.Join(o.endings, e.Name+".*.log.gz"))
	if err != nil {
		return 0, err
	}

	for _, file := range earlier {
		if err := os.Remove(file); err != nil {
			return 0, err
		}
	}
	return code, saveEnding(filepath.Join(o.endings, fmt.Sprintf("%s.%d.log.gz", e.Name, code)), kernel.ReplaceAll(text, []byte("Linux")))
}

// kernel matches the version of the kernel of the machine that records.
var kernel = regexp.MustCompile(`\bLinux, [0-9][^,\n]*`)

func saveEnding(file string, text []byte) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}

	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err == nil {
		_, err = packed.Write(text)
		err = errors.Join(err, packed.Close())
	}
	return errors.Join(err, out.Close())
}
