package console_test

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	statusv1 "github.com/sparkoperator/spark-operator/api/status/v1"
	"github.com/sparkoperator/spark-operator/internal/console"
	"github.com/sparkoperator/spark-operator/internal/console/model"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/kueue"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestNamespaces checks the page of the namespaces: states, quotas as far as the user may read them, and nothing about
// the namespaces of others.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	kit.NeedsControllers(t, "the usage of quotas")

	w, others := scene.New(t), scene.New(t)
	others.Application("theirs")
	w.Application("one")
	w.Application("two")
	setState(w, "two", v1beta2.ApplicationStateFailed)

	running := w.Application("running")
	before := running.DeepCopy()
	running.Status.AppState.State = v1beta2.ApplicationStateRunning
	running.Status.Operator = &statusv1.OperatorStatus{Attempt: 1, Usage: &statusv1.OperatorUsage{
		Time: new(metav1.Now()), Driver: statusv1.UsageOfPods{Requested: statusv1.UsageRate{CPUMillicores: 1500, MemoryMiB: 64}},
	}}

	if err := w.API.Status().Patch(t.Context(), running, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	kueue.Install(t)

	queue := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": map[string]any{"name": "research", "namespace": w.Namespace},
		"spec": map[string]any{"clusterQueue": "shared"},
	}}
	w.Create(queue)

	flavor := func(cpu string) any {
		return map[string]any{"resources": []any{map[string]any{"name": "cpu", "total": cpu}, map[string]any{"name": "memory", "total": "1Gi"}}}
	}
	queue.Object["status"] = map[string]any{"pendingWorkloads": int64(2), "admittedWorkloads": int64(1), "flavorsUsage": []any{flavor("1500m"), flavor("2500m")}}

	if err := w.API.Status().Update(t.Context(), queue); err != nil {
		t.Fatal(err)
	}

	w.Create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "large"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
		"requests.cpu": resource.MustParse("8"), "requests.memory": resource.MustParse("16Gi"),
	}}})
	w.Create(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "scoped"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"requests.cpu": resource.MustParse("1")}, Scopes: []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating},
	}})

	read := func(b *browser) (page model.Namespaces) {
		got := b.get("/api/v1/namespaces?namespace=" + w.Namespace + "," + others.Namespace)
		if err := json.Unmarshal([]byte(got.text), &page); err != nil || got.status != http.StatusOK {
			t.Fatalf("status %d: %v", got.status, err)
		}
		return page
	}

	admin := serve(t, alone(t, kit.Rest(t))).local()
	admin.waitFor("/api/v1/namespaces?namespace="+w.Namespace, `"limit":8000`)

	page := read(admin)
	if len(page.Namespaces) != 2 {
		t.Fatalf("an administrator sees %+v", page.Namespaces)
	}

	n := page.Namespaces[slices.IndexFunc(page.Namespaces, func(n model.Namespace) bool { return n.Name == w.Namespace })]
	if n.Memory.Limit != 16<<30 || n.Queue != "research of shared: 1 admitted, 2 pending, cpu 4, memory 2Gi" {
		t.Errorf("the namespace has the quota %+v and the queue %q", n.Memory, n.Queue)
	}

	if len(n.Top) != 1 || n.Top[0].Name != "running" || n.CPUMillis != 1500 || n.MemoryBytes != 64<<20 || !slices.Equal(n.Failures, []model.Count{{Text: "Unknown", N: 1}}) {
		t.Errorf("the top consumers are %+v, the failures %+v, the requests %d and %d", n.Top, n.Failures, n.CPUMillis, n.MemoryBytes)
	}

	// The link of the failures without a reason leads to them.
	link := regexp.MustCompile(`<a href="([^"]*result=failed[^"]*)">Unknown</a>`).FindStringSubmatch(admin.get("/namespaces?namespace=" + w.Namespace).text)
	if link == nil {
		t.Fatal("the page has no link to the failures")
	}

	if rows := admin.get(html.UnescapeString(link[1])).text; strings.Count(rows, `<td class="name"`) != 1 {
		t.Errorf("%s shows\n%s", link[1], rows)
	}

	viewer := serve(t, team(t), func(o *console.Options) { o.Namespaces = []string{w.Namespace, others.Namespace} }).user(account(w, "viewer", w.Namespace))

	page = read(viewer)
	if len(page.Namespaces) != 1 || page.Namespaces[0].Name != w.Namespace || page.Namespaces[0].Counts["failed"] != 1 || page.Namespaces[0].Counts["pending"] != 1 || page.Namespaces[0].CPU.Limit != 0 {
		t.Errorf("a viewer of one namespace sees %+v", page.Namespaces)
	}

	if !slices.ContainsFunc(page.Notes, func(note string) bool { return strings.Contains(note, "resourcequotas") }) {
		t.Errorf("the notes are %v, want the missing right", page.Notes)
	}
}

// TestInstallation checks that the page of the installation has the findings of sparkctl doctor, with the user's
// rights.
func TestInstallation(t *testing.T) {
	t.Parallel()

	var page model.Doctor
	if err := json.Unmarshal([]byte(serve(t, alone(t, kit.Rest(t))).local().get("/api/v1/doctor").text), &page); err != nil || page.Loading || len(page.Findings) == 0 {
		t.Errorf("the page is %+v: %v", page, err)
	}
}
