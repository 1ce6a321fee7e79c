package transport

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sparkoperator/spark-operator/internal/intake/shed"
	"github.com/sparkoperator/spark-operator/test/kit"
)

// TestShedding checks that a request with shed.With returns only the kept parts, also on later pages of a list, and
// that a request without shed.With returns whole objects.
func TestShedding(t *testing.T) {
	t.Parallel()
	plain := kubernetes.NewForConfigOrDie(kit.Rest(t))

	namespace := kit.Namespace(t)
	for _, name := range []string{"a", "b"} {
		if _, err := plain.CoreV1().Pods(namespace).Create(t.Context(), podOf(name),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	rc := rest.CopyConfig(kit.Rest(t))
	rc.ContentType = "application/vnd.kubernetes.protobuf"
	rc.Wrap(Shedding)

	client := kubernetes.NewForConfigOrDie(rc)
	for name, ctx := range map[string]context.Context{"less": shed.With(t.Context(), kinds()), "all": t.Context()} {
		page, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil || page.Continue == "" {
			t.Fatalf("%s: continue %q, %v", name, page.Continue, err)
		}

		page, err = client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1, Continue: page.Continue})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("%s: %d items, %v", name, len(page.Items), err)
		}

		isLess := cmp.Equal(&page.Items[0], keptPod(namespace, "b"))
		if whole := page.Items[0].Spec.Containers[0].Image != ""; isLess != (name == "less") ||
			whole != (name == "all") {
			t.Errorf("%s: %+v", name, page.Items[0])
		}
	}
}
