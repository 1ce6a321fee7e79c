package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
)

// connectPort is the port at which a Spark Connect server accepts sessions.
const connectPort = 15002

// tokenKey is the configuration key of the token that clients must send.
const tokenKey = "spark.connect.authenticate.token"

// checkTokenIsRequired checks that a server rejects a session whose client does not send the server's token.
func (w *suite) checkTokenIsRequired(t *testing.T, server *v1alpha1.SparkConnect) {
	t.Helper()

	address, stop, err := w.Forward(t.Context(), server.Namespace, server.Status.Server.ServiceName, connectPort)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cmd := exec.CommandContext(ctx, filepath.Join(root, "tools/connect-client.sh"), "testdata/connect/session.py",
		"sc://"+address)

	cmd.WaitDelay = 5 * time.Second
	if text, err := cmd.CombinedOutput(); err == nil || !strings.Contains(strings.ToLower(string(text)), "auth") {
		t.Errorf("a session without the token: %v\n%s", err, text)
	}
}

// session is the output of testdata/connect/session.py.
type session struct {
	Version string
	Conf    map[string]string
	Work    []struct {
		Pod       string
		Rows, Sum int
	}
}

// session opens a session with PySpark's client through the server's Service.
func (w *suite) session(t *testing.T, server *v1alpha1.SparkConnect, args ...string) session {
	t.Helper()

	began := time.Now()

	address, stop, err := w.Forward(t.Context(), server.Namespace, server.Status.Server.ServiceName, connectPort)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	// Without TLS the client sends a token only to localhost.
	if token := server.Spec.SparkConf[tokenKey]; token != "" {
		_, port, _ := strings.Cut(address, ":")
		address = "localhost:" + port + "/;token=" + token
	}

	options := 0
	for options < len(args) && strings.HasPrefix(args[options], "-") {
		options += 2
	}

	args = slices.Insert(slices.Clone(args), options, "sc://"+address)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cmd := exec.CommandContext(ctx, filepath.Join(root, "tools/connect-client.sh"),
		append([]string{"testdata/connect/session.py"}, args...)...)
	cmd.WaitDelay = 5 * time.Second

	text, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Logf("%s", failed.Stderr)
		}

		w.logPod(t, server.Status.Server.PodName)
		t.Fatalf("session: %v", err)
	}

	var s session
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("session printed %q: %v", text, err)
	}

	t.Logf("a session with %s took %.0f s", server.Name, time.Since(began).Seconds())
	return s
}

// checkRanOnExecutors checks the result of a session, and that only executors of the given server pod computed it.
func (w *suite) checkRanOnExecutors(t *testing.T, server *v1alpha1.SparkConnect, pod *corev1.Pod, got session) {
	t.Helper()
	w.checkSum(t, got)

	var executors []string
	for _, executor := range w.podsOf(t, server, "executor") {
		if slices.ContainsFunc(executor.OwnerReferences,
			func(ref metav1.OwnerReference) bool { return ref.UID == pod.UID }) {
			executors = append(executors, executor.Name)
		}
	}

	for _, part := range got.Work {
		if !slices.Contains(executors, part.Pod) {
			t.Errorf("%d rows were counted by %s; the executors are %v", part.Rows, part.Pod, executors)
		}
	}
}

// checkSum checks that the result contains all rows.
func (w *suite) checkSum(t *testing.T, got session) {
	t.Helper()

	rows, sum := 0, 0
	for _, part := range got.Work {
		rows, sum = rows+part.Rows, sum+part.Sum
	}

	if rows != 1000 || sum != 999*1000/2 {
		t.Errorf("%d rows with the sum %d, want 1000 and 499500", rows, sum)
	}
}
