package trim

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// TestTrimBoundsMetadata checks that the kept metadata of a custom resource takes less memory than its JSON text,
// however many entries a tenant writes.
func TestTrimBoundsMetadata(t *testing.T) {
	const objects = 20
	for name, meta := range map[string]func(*metav1.ObjectMeta){
		"annotations": func(m *metav1.ObjectMeta) { // without the bound, 6.1 bytes of memory for each byte of JSON
			for i := range 25_000 {
				metav1.SetMetaDataAnnotation(m, fmt.Sprintf("%x", i), "")
			}
		},
		"finalizers": func(m *metav1.ObjectMeta) { // without the bound, 4.6 bytes of memory for each byte of JSON
			for range 250_000 {
				m.Finalizers = append(m.Finalizers, "a")
			}
		},
		"owners": func(m *metav1.ObjectMeta) { // without the bound, 1.7 bytes of memory, and an index entry for each owner
			for i := range 20_000 {
				m.OwnerReferences = append(m.OwnerReferences,
					metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: "n", UID: types.UID(fmt.Sprint(i))})
			}
		},
	} {
		app := &v1beta2.SparkApplication{}
		meta(&app.ObjectMeta)

		text, err := json.Marshal(app)
		if err != nil {
			t.Fatal(err)
		}

		before := heap()

		var kept []any
		for range objects {
			var stored v1beta2.SparkApplication
			if err := json.Unmarshal(text, &stored); err != nil {
				t.Fatal(err)
			}

			trimmed, err := Resource(&stored)
			if err != nil {
				t.Fatal(err)
			}

			kept = append(kept, trimmed)
		}

		if grown := heap() - before; grown > int64(len(text)) {
			t.Errorf("%s: %d objects of %d KiB take %d KiB", name, objects, len(text)>>10, grown>>10)
		}

		runtime.KeepAlive(kept)
	}
}

// TestTrimKeepsMetadataThatIsRead checks that trimming keeps the metadata that decisions use.
func TestTrimKeepsMetadataThatIsRead(t *testing.T) {
	t.Parallel()

	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		v1beta2.RunNowAnnotation: "1", v1beta2.ScheduledAtAnnotation: "2", corev1.LastAppliedConfigAnnotation: "{}",
		"other": "x",
	}}}
	for i := range 100 {
		app.Finalizers = append(app.Finalizers, fmt.Sprint("example.com/", i))
		app.OwnerReferences = append(app.OwnerReferences, metav1.OwnerReference{UID: types.UID(fmt.Sprint(i))})
	}

	app.Finalizers = append(app.Finalizers, metav1.FinalizerOrphanDependents)

	app.OwnerReferences = append(app.OwnerReferences, metav1.OwnerReference{UID: "controller", Controller: new(true)})
	if _, err := Resource(app); err != nil {
		t.Fatal(err)
	}

	if len(app.Annotations) != 2 || app.Annotations[v1beta2.RunNowAnnotation] != "1" ||
		app.Annotations[v1beta2.ScheduledAtAnnotation] != "2" {
		t.Errorf("annotations %v", app.Annotations)
	}

	if len(app.Finalizers) != 1 || app.Finalizers[0] != metav1.FinalizerOrphanDependents {
		t.Errorf("finalizers %v", app.Finalizers)
	}

	if len(app.OwnerReferences) != maxOwners || !identity.OwnedBy(app, "controller") || !identity.OwnedBy(app, "0") {
		t.Errorf("owners %v", app.OwnerReferences)
	}

	few := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"a/b", "c/d"},
		OwnerReferences: []metav1.OwnerReference{{UID: "o"}}}}
	if _, err := Resource(few); err != nil || len(few.Finalizers) != 2 || !identity.OwnedBy(few, "o") {
		t.Errorf("%+v, %v", few.ObjectMeta, err)
	}
}

// TestTrimBoundsContainers checks that the cache does not keep all containers of a pod with many of them. Each would
// take half a kilobyte, even if its name has only three letters.
func TestTrimBoundsContainers(t *testing.T) {
	const pods, most = 10, 4 << 20 // without the bound, 94 MiB
	before := heap()

	var kept []any
	for i := range pods {
		pod := &corev1.Pod{}
		pod.Name, pod.UID = fmt.Sprint("p", i), types.UID(fmt.Sprint("p", i))

		pod.Labels = map[string]string{identity.RoleLabel: identity.RoleDriver, identity.AppUIDLabel: "u"}
		for j := range 20_000 {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", j)})
		}

		pod.Spec.Containers[15_000].Name = overlay.DriverContainer

		trimmed, err := Pod(pod)
		if err != nil {
			t.Fatal(err)
		}

		kept = append(kept, trimmed)

		containers := trimmed.(*corev1.Pod).Spec.Containers
		if n := len(containers); n > maxContainers+2 || containers[n-1].Name != overlay.DriverContainer ||
			containers[n-2].Name != "c19999" {
			t.Errorf("%d containers are kept", n)
		}
	}

	if grown := heap() - before; grown > most {
		t.Errorf("%d pods take %d MiB", len(kept), grown>>20)
	}
}
