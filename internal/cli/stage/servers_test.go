package stage

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// buildServer builds a server from a module below tools and returns the path of the program. The argument env is added
// to the environment of the build.
func buildServer(t *testing.T, module, pkg string, env ...string) string {
	t.Helper()
	server := filepath.Join(t.TempDir(), "server")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", filepath.Join("../../../tools", module), "-o", server, pkg)

	build.Env = append(os.Environ(), env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return server
}

// freeAddress returns an address of this machine on which no server listens.
func freeAddress(t *testing.T) string {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// start starts a server, and waits until it listens on an address.
func start(t *testing.T, address string, cmd *exec.Cmd) {
	t.Helper()
	var log bytes.Buffer

	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed

		if t.Failed() {
			t.Logf("the server:\n%s", log.String())
		}
	})

	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return false, nil //nolint:nilerr // the server has not started yet
		}
		return true, c.Close()
	})
	if err != nil {
		t.Fatal(fmt.Errorf("the server did not start: %w", err))
	}
}
