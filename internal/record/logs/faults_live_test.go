package logs_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
	"github.com/sparkoperator/spark-operator/test/kit/world"
)

// answers returns a handler that refuses each request as S3 does.
func answers(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no.</Message></Error>", code)
	}
}

// TestStoreThatFails checks every way in which a store can fail. The life of the application is the same as without
// logs: its retry comes, and it ends. The status says what failed and what to do.
func TestStoreThatFails(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "tester")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")

	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })

	for name, test := range map[string]struct {
		serve http.HandlerFunc // nil: nothing listens
		want  string
	}{
		"nothing listens":       {nil, "the store is not reachable"},
		"does not answer":       {func(w http.ResponseWriter, r *http.Request) { <-hang }, "the store does not answer; correct the endpoint in logs[0].store"},
		"wrong credentials":     {answers(http.StatusForbidden, "SignatureDoesNotMatch"), "give the operator's service account a role"},
		"somebody else's":       {answers(http.StatusForbidden, "AccessDenied"), "ask the owner of the bucket"},
		"bucket does not exist": {answers(http.StatusNotFound, "NoSuchBucket"), "correct its name in logs[0].store"},
		"full":                  {answers(http.StatusInsufficientStorage, "XMinioStorageFull"), "free space in the store"},
	} {
		t.Run(name, func(t *testing.T) {
			address := "127.0.0.1:1"

			if test.serve != nil {
				server := httptest.NewServer(test.serve)
				t.Cleanup(server.CloseClientConnections)
				address = server.Listener.Addr().String()
			}

			k := keep(t, "", func(l *keptlogs.Entry) {
				l.Store, l.Wait.Duration = stores.URL("bucket", address), time.Second
			})
			k.RunWith(k.cfg, time.Now)
			app := k.Application("pi", world.OnFailure(1))
			k.Execute(k.running(app, 1, "one\n"), done(1))
			k.Execute(k.running(app, 2, "two\n"), done(0))
			k.WaitState("pi", v1beta2.ApplicationStateCompleted)

			app = k.waitStatus("pi", 2, "StoreFailed")
			k.WaitEvent(app, "LogsNotKept", "attempt 2", test.want)

			if c := world.Condition(app, "LogsNotKept"); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, test.want) || strings.Contains(c.Message, "\n") {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}

// TestStoreThatRecovers checks that the log of an ended driver is kept as soon as an S3 server that was down is back,
// and that the condition is then gone.
func TestStoreThatRecovers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}

	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o755); err != nil {
		t.Fatal(err)
	}

	start := stores.Prepare(t)
	address := kit.FreeAddress(t)
	k := keep(t, stores.URL("bucket", address), func(l *keptlogs.Entry) { l.Wait.Duration = time.Second })
	k.RunWith(k.cfg, time.Now)
	app := k.Application("pi")
	k.Execute(k.running(app, 1, "patience\n"), done(0))
	k.waitStatus("pi", 1, "StoreFailed")
	start(address, root)

	app = k.waitStatus("pi", 1, "")
	k.waitText(app, 1, "", "patience\n")

	if c := world.Condition(app, "LogsNotKept"); c.Status != "" {
		t.Errorf("the condition is %+v", c)
	}
}

// TestRemovedContainer checks that the message of a kubelet which has removed a container, for example because it has
// evicted the pod, is never kept as the log. The kubelet sends it with the status 200. What was uploaded while the
// driver ran is kept.
func TestRemovedContainer(t *testing.T) {
	t.Parallel()

	removed := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "unable to retrieve container logs for containerd://0123abc")
	}

	t.Run("at the end", func(t *testing.T) {
		k := keep(t, directory(t))
		k.RunWith(k.cfg, time.Now)
		app := k.Application("pi")
		driver := k.running(app, 1, "")
		k.node.Serve(driver.Name, removed)
		k.Execute(driver, done(1))
		k.waitStatus("pi", 1, "LogUnreadable")

		if text, file, err := k.text(app, 1, ""); err != nil || text != "" || !strings.Contains(file.Missing, "unable to retrieve container logs") {
			t.Errorf("the log is %q, %+v, %v", text, file, err)
		}
	})

	t.Run("after uploads", func(t *testing.T) {
		k := keep(t, directory(t), streams)
		k.RunWith(k.cfg, time.Now)
		app := k.Application("pi")
		driver, log := k.streamed(app, 1)
		log.write("one\n")
		k.waitUploaded(app, 1, 4)
		k.node.Serve(driver.Name, removed)
		k.Execute(driver, done(1))
		k.waitStatus("pi", 1, "LogUnreadable")

		if text, file, err := k.text(app, 1, ""); err != nil || text != "one\n" || !strings.Contains(file.Partial, "the operator has uploaded it until ") {
			t.Errorf("the log is %q, %+v, %v", text, file, err)
		}
	})
}
