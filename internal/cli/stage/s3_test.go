package stage

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// TestS3 checks the life of staged files in an S3 server that stores objects as files of a directory (versitygw).
func TestS3(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}
	address := startS3(t, root)
	url := "s3://bucket/files?region=us-east-1&use_path_style=true&endpoint=http://" + address
	storeLife(t, url, "s3a://bucket/files", func() map[string]string {
		files := map[string]string{}
		for path, text := range stored(t, filepath.Join(root, "bucket")) {
			files[strings.TrimPrefix(path, "files/")] = text
		}
		return files
	})
}

// startS3 starts an S3 server whose buckets are the directories below root, and returns its address.
func startS3(t *testing.T, root string) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "tester")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-tester")
	server := filepath.Join(t.TempDir(), "versitygw")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "../../../tools/s3", "-o", server, "github.com/versity/versitygw/cmd/versitygw")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(server, "--access", "tester", "--secret", "secret-of-the-tester", "--port", address, "posix", root)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("the S3 server:\n%s", log.String())
		}
	})
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return false, nil //nolint:nilerr // the server has not started yet
		}
		return true, c.Close()
	})
	if err != nil {
		t.Fatal(fmt.Errorf("the S3 server did not start: %w", err))
	}
	return address
}
