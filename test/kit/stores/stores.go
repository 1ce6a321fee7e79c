// Package stores starts servers of object stores for tests.
package stores

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
)

// Start starts a server, and waits until it listens on an address.
func Start(t *testing.T, address string, cmd *exec.Cmd) {
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

	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
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

// The credentials of the server that S3 starts.
const (
	User   = "tester"
	Secret = "secret-of-the-tester"
)

// S3 starts an S3 server whose buckets are the directories below root, and returns its address. It sets the credentials
// in the environment.
func S3(t *testing.T, root string) (address string) {
	t.Helper()

	start := Prepare(t)
	address = kit.FreeAddress(t)
	start(address, root)
	return address
}

// Prepare builds an S3 server, sets its credentials in the environment, and returns a function that starts it.
func Prepare(t *testing.T) (start func(address, root string)) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", User)
	t.Setenv("AWS_SECRET_ACCESS_KEY", Secret)
	// The end-to-end tests build it without cgo too.
	server := gobuild.Must(t, "tools/s3", "github.com/versity/versitygw/cmd/versitygw")

	return func(address, root string) {
		t.Helper()
		Start(t, address, exec.Command(server, "--access", User, "--secret", Secret, "--port", address, "posix", root))
	}
}

// URL returns the URL of a bucket in the server at an address.
func URL(bucket, address string) string {
	return "s3://" + bucket + "?region=us-east-1&use_path_style=true&endpoint=http://" + address
}
