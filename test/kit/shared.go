package kit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// MainShared is Main for a package whose tests neither depend on the objects of other namespaces nor affect them. An
// object without a namespace that such a test creates has the name of the test's namespace, and concerns only it. A
// definition of another project is installed by the tests of one package, in which a test that needs its absence is
// not parallel. The packages of one `go test` that call MainShared share one embedded control plane. It ends with
// `go test`.
func MainShared(m *testing.M) {
	controlPlane.owner = parent()

	Main(m)
}

// owner identifies the process with which a shared control plane ends.
type owner struct {
	pid   int
	start string // the time at which the process started, because its ID may be reused
}

// parent returns the parent process if it is `go test`. Another program that starts tests, such as a shell or a
// debugger, may run for days, so parent returns nil.
func parent() *owner {
	o := &owner{pid: os.Getppid()}

	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", o.pid))
	if err != nil || filepath.Base(program) != "go" {
		return nil
	}

	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.pid))
	if err != nil {
		return nil
	}
	// The second field is the program's name in parentheses; the start time is the 22nd field (proc_pid_stat(5)).
	_, rest, _ := strings.Cut(string(stat), ") ")

	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return nil
	}

	o.start = fields[19]
	return o
}

// directory returns the state directory of the control plane that ends with the owner.
func (o *owner) directory() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("testkit-shared-%d-%s", o.pid, o.start))
}

// installer is the ConfigMap of the package that installs our definitions into the shared control plane. When that
// package is done, it writes the key result: an empty text, or the error.
const installer, result = "testkit-installer", "result"

// installOnce installs our definitions, or waits until another package has installed them.
func installOnce(ctx context.Context, rc *rest.Config, root string) error {
	core, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return err
	}

	configMaps := core.CoreV1().ConfigMaps(metav1.NamespaceDefault)

	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: installer}}
	switch _, err := configMaps.Create(ctx, marker, metav1.CreateOptions{}); {
	case apierrors.IsAlreadyExists(err):
		return awaitInstaller(ctx, configMaps)
	case err != nil:
		return err
	}

	marker.Data = map[string]string{result: ""}

	failure := installDefinitions(rc, root)
	if failure != nil {
		marker.Data[result] = failure.Error()
	}

	_, err = configMaps.Update(ctx, marker, metav1.UpdateOptions{})
	return errors.Join(failure, err)
}

// awaitInstaller waits until another package has installed our definitions.
func awaitInstaller(ctx context.Context, configMaps typedcorev1.ConfigMapInterface) error {
	failure := ""
	var last error // the API server may be busy

	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*definitionsTimeout, true, func(ctx context.Context) (done bool, _ error) {
		var found *corev1.ConfigMap
		if found, last = configMaps.Get(ctx, installer, metav1.GetOptions{}); last == nil {
			failure, done = found.Data[result]
		}
		return done, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("wait for the package that installs the definitions: %w", err), last)
	}

	if failure != "" {
		return fmt.Errorf("another package could not install the definitions: %s", failure)
	}
	return nil
}
