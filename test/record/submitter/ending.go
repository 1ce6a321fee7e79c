//go:build linux

package submitter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sparkoperator/spark-operator/test/record"
)

// End runs an ending and returns the exit code. It writes the output of the program to log. The program and the
// processes that it started end with it.
func (m *Machine) End(ctx context.Context, e record.Ending, log *os.File) (code int, err error) {
	c := record.Case{Name: e.Name, Files: e.Files, Binary: map[string][]byte{}}

	patterns := slices.Clone(e.Jars)
	for _, artifact := range e.Maven {
		pattern, err := fetch(ctx, artifact)
		if err != nil {
			return 0, err
		}

		patterns = append(patterns, pattern)
	}

	for _, pattern := range patterns {
		if err := readJars(pattern, c.Binary); err != nil {
			return 0, err
		}
	}

	if err := m.prepare(c); err != nil {
		return 0, err
	}

	ctx, cancel := context.WithTimeout(ctx, 2*limit)
	defer cancel()

	cmd := m.command(ctx, record.Environment(c), "/bin/bash", "-c", e.Script())

	cmd.Stdout, cmd.Stderr = log, log
	if err := m.start(cmd); err != nil {
		return 0, err
	}

	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // servers of the ending

	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("%s did not end: %w", e.Name, ctx.Err())
	case err == nil:
		return 0, fmt.Errorf("%s did not fail", e.Name)
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	}
	return 0, err
}

// fetch copies an artifact with Maven into the cache directory of sparklocal, unless it is there.
// It returns the pattern of its file.
func fetch(ctx context.Context, artifact string) (pattern string, err error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}

	parts := strings.Split(artifact, ":")
	if len(parts) < 3 {
		return "", fmt.Errorf("maven: %q is not GROUP:ARTIFACT:VERSION", artifact)
	}

	pattern = filepath.Join("jars", "endings", parts[1]+"-"+parts[2]+"*.jar")
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(cache), pattern)); len(files) > 0 {
		return pattern, nil
	}

	goal := []string{"--batch-mode", "--quiet", "--strict-checksums", "dependency:copy", "-Dartifact=" + artifact}

	goal = append(goal, "-DoutputDirectory="+filepath.Dir(filepath.Join(filepath.Dir(cache), pattern)))
	if out, err := exec.CommandContext(ctx, "mvn", goal...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch %s: %w\n%s", artifact, err, out)
	}
	return pattern, nil
}

// readJars reads the JARs that match a pattern below the cache directory of sparklocal.
func readJars(pattern string, jars map[string][]byte) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}

	files, err := filepath.Glob(filepath.Join(filepath.Dir(cache), pattern))
	if err != nil {
		return err
	}

	if len(files) == 0 {
		return fmt.Errorf("no JAR matches %s in the cache; the end-to-end tests fetch those of S3 and build the Spark images", pattern)
	}

	for _, file := range files {
		if jars["jars/"+filepath.Base(file)], err = os.ReadFile(file); err != nil {
			return err
		}
	}
	return nil
}
