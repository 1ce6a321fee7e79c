// Package kit gives tests a real API server, from an embedded control plane: etcd, kube-apiserver and
// kube-controller-manager, with our custom resource definitions. There is no node, so tests that need a kubelet
// simulate it. A package has a control plane of its own. Packages whose tests stay in their namespaces share one
// (shared.go), because the start of a control plane costs ten seconds of CPU time.
//
// KUBEBUILDER_ASSETS, TEST_KUBECONFIG or TEST_KUBERNETES selects a different control plane (controlplane.go). A test is
// skipped if it needs something that the selected control plane does not offer.
//
// If the control plane cannot start, the tests that use it fail. They are skipped only with -short.
package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/sparkoperator/spark-operator/test/kit/checkout"
)

const (
	// startTimeout limits the start of the control plane. It includes the time to build the control plane's programs
	// without a build cache.
	startTimeout = 40 * time.Minute
	// definitionsTimeout limits the installation of our definitions. Several control planes may start at once on few
	// cores.
	definitionsTimeout = 2 * time.Minute
	// waitTimeout limits Wait. It is far longer than any condition takes, so that a test fails only if the condition
	// never becomes true.
	waitTimeout = 2 * time.Minute
	// Wait begins with short steps, so that quick conditions cost no time. Later it makes longer steps, because half of
	// the API server's requests would otherwise be those of tests that wait.
	firstStep, lastStep = 20 * time.Millisecond, 250 * time.Millisecond
)

// controlPlane is the control plane that the tests of this process use.
var controlPlane struct {
	once  sync.Once
	road  road
	owner *owner // of the control plane that is shared with other packages; nil for an own one
	dir   string // state directory of the embedded control plane
	// audited is true if the control plane writes an audit log (MainAudited).
	audited bool
	rest    *rest.Config
	stop    func() error
	err     error
}

// Main runs a package's tests, and then stops the control plane if a test started it. A TestMain consists of a call of
// Main and nothing else.
func Main(m *testing.M) {
	code := m.Run()
	if controlPlane.stop != nil {
		if err := controlPlane.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "testkit:", err)

			code = max(code, 1)
		}
	}

	os.Exit(code)
}

// Rest returns the connection to the control plane, with the rights of a cluster administrator. The first call starts
// the control plane.
func Rest(t testing.TB) *rest.Config {
	t.Helper()

	if testing.Short() {
		t.Skip("needs a control plane; -short leaves it out")
	}

	controlPlane.once.Do(func() { controlPlane.rest, controlPlane.err = start() })

	if controlPlane.err != nil {
		t.Fatalf("start the control plane: %v", controlPlane.err)
	}
	return rest.CopyConfig(controlPlane.rest)
}

// Client returns a client without a cache. Its scheme contains the built-in kinds and the kinds that the functions in
// register add.
func Client(t testing.TB, register ...func(*runtime.Scheme) error) client.Client {
	t.Helper()

	scheme := runtime.NewScheme()
	for _, add := range append(register, clientgoscheme.AddToScheme) {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}

	rc := Rest(t)
	rc.QPS = -1
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper { return readAgain{next} })

	c, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// readAgain repeats a read once if its stream breaks. A busy API server resets a stream now and then, and what a test
// itself reads is not what it judges.
type readAgain struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r readAgain) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil && request.Method == http.MethodGet && request.Context().Err() == nil {
		return r.next.RoundTrip(request)
	}
	return response, err
}

// Namespace creates a namespace with a default service account for one test, and returns its name.
//
// On an existing control plane, the namespace is deleted at the end of the test. A control plane that the tests started
// keeps the namespace until it stops, because each deletion takes a hundred requests and 0.1 s of CPU time, which is
// more than most tests take.
func Namespace(t testing.TB) string {
	t.Helper()
	c := Client(t)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if controlPlane.road.kind != existing {
			return
		}
		// The test's own context has already ended here.
		ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
		defer cancel()

		if err := c.Delete(ctx, namespace); err != nil {
			t.Errorf("delete namespace %s: %v", namespace.Name, err)
		}
	})

	if controlPlane.road.withoutControllers() {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}}
		if err := c.Create(t.Context(), account); err != nil {
			t.Fatal(err)
		}
	}

	Wait(t, "the default service account of "+namespace.Name, func(ctx context.Context) error {
		return c.Get(ctx, client.ObjectKey{Namespace: namespace.Name, Name: "default"}, &corev1.ServiceAccount{})
	})
	return namespace.Name
}

// Wait calls condition again and again until it returns nil. After waitTimeout Wait fails the test with the last error.
func Wait(t testing.TB, what string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()

	for step := firstStep; ; step = min(step*5/4, lastStep) {
		err := condition(ctx)
		if err == nil {
			return
		}

		select {
		case <-time.After(step):
		case <-ctx.Done():
			t.Fatalf("waited %s for %s: %v", waitTimeout, what, err)
		}
	}
}

// start starts the control plane that the environment selects, or connects to it. It then installs our definitions.
func start() (*rest.Config, error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}

	if controlPlane.road, err = chooseRoad(os.Getenv); err != nil {
		return nil, err
	}

	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()

	var rc *rest.Config
	switch controlPlane.road.kind {
	case assets:
		rc, controlPlane.stop, err = startAssets(controlPlane.road.path)
	case existing:
		rc, err = useExisting(ctx, controlPlane.road.path)
	default:
		rc, err = startEmbedded(ctx, root)
	}

	if err != nil {
		return nil, err
	}

	if controlPlane.owner != nil && controlPlane.road.kind == embedded {
		return rc, installOnce(ctx, rc, root)
	}
	return rc, installDefinitions(rc, root)
}

// installDefinitions installs our custom resource definitions.
func installDefinitions(rc *rest.Config, root string) error {
	_, err := envtest.InstallCRDs(rc, envtest.CRDInstallOptions{
		Scheme: clientgoscheme.Scheme, Paths: []string{filepath.Join(root, "config", "crd")}, ErrorIfPathMissing: true,
		MaxTime: definitionsTimeout,
	})
	return err
}

func startEmbedded(ctx context.Context, root string) (*rest.Config, error) {
	pid := os.Getpid()
	if shared := controlPlane.owner; shared != nil {
		pid, controlPlane.dir = shared.pid, shared.directory()
	} else {
		var err error
		if controlPlane.dir, err = os.MkdirTemp("", "testkit-"); err != nil {
			return nil, err
		}

		controlPlane.stop = func() error { return errors.Join(stopEmbedded(root), os.RemoveAll(controlPlane.dir)) }
	}
	// The control plane ends when the process with the owner's ID ends, even after a crash.
	args := []string{"up", "--control-plane-only", "--dir", controlPlane.dir, "--owner-pid", strconv.Itoa(pid)}
	if controlPlane.road.oldest {
		args = append(args, "--oldest")
	}

	if controlPlane.audited {
		args = append(args, "--audit-bodies")
	}

	if err := sparklocal(ctx, root, args...); err != nil {
		return nil, err
	}
	return clientcmd.BuildConfigFromFlags("", filepath.Join(controlPlane.dir, "kubeconfig"))
}

func stopEmbedded(root string) error {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	return sparklocal(ctx, root, "down", "--dir", controlPlane.dir)
}

// sparklocal runs the program that starts and stops control planes. The environment variable SPARKLOCAL may name the
// program. Otherwise Go builds the program from the module in the folder local, and keeps it in the build cache.
func sparklocal(ctx context.Context, root string, args ...string) error {
	if program := os.Getenv("SPARKLOCAL"); program != "" {
		return run(ctx, program, args...)
	}
	return run(ctx, "go", append([]string{"run", "-C", filepath.Join(root, "local"), "-trimpath", "./cmd/sparklocal"}, args...)...)
}

func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// A child process that is still running must not make this process wait for the end of its output.
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out.Bytes())
	}
	return nil
}
