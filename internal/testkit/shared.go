package testkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// MainShared is Main for a package whose tests neither change objects without a namespace nor depend on the objects of
// other namespaces. The packages of one `go test` that call MainShared share one embedded control plane. It ends with
// `go test`.
func MainShared(m *testing.M) {
	// If another program started the tests, such as a shell or a debugger, it may run for days.
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", os.Getppid()))
	controlPlane.shared = err == nil && filepath.Base(program) == "go"
	Main(m)
}

// sharedDirectory returns the state directory of the shared control plane, and the ID of the process with which it
// ends.
func sharedDirectory() (directory string, owner int) {
	owner = os.Getppid()
	return filepath.Join(os.TempDir(), fmt.Sprintf("testkit-shared-%d", owner)), owner
}

// installer is the ConfigMap of the package that installs our definitions into the shared control plane. It has the
// label installed when it is done.
const installer, installed = "testkit-installer", "installed"

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
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
			found, err := configMaps.Get(ctx, installer, metav1.GetOptions{})
			return err == nil && found.Labels[installed] != "", err
		})
		if err != nil {
			return fmt.Errorf("wait for the package that installs the definitions: %w", err)
		}
		return nil
	case err != nil:
		return err
	}
	if err := installDefinitions(rc, root); err != nil {
		return err
	}
	marker.Labels = map[string]string{installed: "true"}
	_, err = configMaps.Update(ctx, marker, metav1.UpdateOptions{})
	return err
}
