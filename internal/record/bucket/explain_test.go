package bucket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
)

// s3Answer is an error response of a server of S3.
type s3Answer struct{ code, message string }

func (a s3Answer) Error() string        { return "operation error S3: " + a.code }
func (a s3Answer) ErrorCode() string    { return a.code }
func (a s3Answer) ErrorMessage() string { return a.message }

// TestExplain checks that the message about a store that fails is one line with the cause and the way out.
func TestExplain(t *testing.T) {
	t.Parallel()

	h := Hints{Setting: "logs[0].store", AWS: "give it a role", Google: "give it a Google account", Azure: "give it an identity"}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no bucket":   {s3Answer{"NoSuchBucket", "The bucket does not exist."}, "the store answers NoSuchBucket: The bucket does not exist; create the bucket, or correct its name in logs[0].store"},
		"credentials": {s3Answer{"InvalidAccessKeyId", ""}, "the store answers InvalidAccessKeyId; give it a role"},
		"full":        {s3Answer{"XMinioStorageFull", "Full."}, "the store answers XMinioStorageFull: Full; free space in the store, or name another one in logs[0].store"},
		"too often":   {s3Answer{"SlowDown", ""}, "the store answers SlowDown; raise the store's limit of requests, or try again later"},
		"unknown":     {s3Answer{"Strange", "text"}, "the store answers Strange: text"},
		"unreachable": {
			&url.Error{Op: "Put", URL: "http://store", Err: errors.New("connection refused")},
			"the store is not reachable: connection refused; correct the endpoint in logs[0].store, or check the network",
		},
		"silent": {
			&url.Error{Op: "Put", URL: "http://store", Err: context.DeadlineExceeded},
			"the store does not answer; correct the endpoint in logs[0].store, or check the store and the network",
		},
		"full directory": {
			&fs.PathError{Op: "write", Path: "/logs/a", Err: syscall.ENOSPC},
			"write /logs/a: no space left on device; free space on the volume of the directory in logs[0].store",
		},
		"directory of another user": {
			&fs.PathError{Op: "open", Path: "/logs/a", Err: os.ErrPermission},
			"open /logs/a: permission denied; let the user of the process read and write the directory in logs[0].store",
		},
		"Azure without an identity": {
			fmt.Errorf("get: DefaultAzureCredential: failed to acquire a token.\n%s", "Attempted credentials: ..."), "no credentials for Azure; give it an identity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := Explain(fmt.Errorf("wrapped: %w", c.err), h)
			if text := strings.TrimPrefix(got.Error(), "wrapped: "); text != c.want {
				t.Errorf("the message is %q, not %q", text, c.want)
			}

			if !errors.Is(got, c.err) {
				t.Error("the cause is lost")
			}
		})
	}
}
