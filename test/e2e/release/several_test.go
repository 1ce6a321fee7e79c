package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/gobuild"
	"github.com/sparkoperator/spark-operator/test/kit/markdown"
)

// definitionKind is the kind of the custom resource definitions.
var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// TestSeveralReleases follows docs/how-to/several-releases.md in a cluster without our definitions. Each operator must
// serve only its own namespaces. When the first release is uninstalled, the second one takes over the definitions, and
// the custom resources stay.
func TestSeveralReleases(t *testing.T) {
	if kit.ExistingCluster(os.Getenv) != "" {
		t.Skip("removes the definitions, and so everybody's custom resources")
	}

	commands := markdown.Blocks(t, "docs/how-to/several-releases.md", "sh")
	if len(commands) != 2 {
		t.Fatalf("the page has %d blocks of commands, want 2", len(commands))
	}

	a, b := severalRelease(t, "spark-operator-a", "team-a"), severalRelease(t, "spark-operator-b", "team-b")
	a.removeDefinitions()
	shell := helmShell(t, a.kubeconfig())
	shell(commands[0].Text)

	if owners := a.definitionOwners(); len(owners) != 1 || !owners[a.name] {
		t.Errorf("the definitions belong to %v", owners)
	}

	// The page quotes this error.
	third := strings.NewReplacer("spark-operator-b", "spark-operator-c", "team-b", "team-c", " --set crds.install=false", "").
		Replace(strings.Split(commands[0].Text, "\n")[1])
	if output, err := runHelm(t, a.kubeconfig(), third); err == nil || !strings.Contains(output, "invalid ownership metadata") {
		t.Errorf("a release that would own the definitions, too: %v\n%s", err, output)
	}

	inA, inB := a.create("team-a"), b.create("team-b")

	_, stop := b.run()
	b.waitState(inB)

	if state := a.state(inA); state != "" {
		t.Errorf("the second release's operator gave the application of the first the state %s", state)
	}

	stop()

	_, stop = a.run()
	a.waitState(inA)
	stop()
	shell(commands[1].Text)

	if owners := a.definitionOwners(); len(owners) != 1 || !owners[b.name] {
		t.Errorf("after the first release is gone, the definitions belong to %v", owners)
	}

	if a.state(inA) == "" || b.state(inB) == "" {
		t.Error("an application was lost")
	}
}

// severalRelease returns a release that the commands of the page install, and creates its job namespace.
func severalRelease(t *testing.T, name, jobs string) *release {
	t.Helper()

	r := &release{t: t, name: name, namespace: name, api: kit.Client(t)}
	if err := r.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: jobs}}); err != nil {
		t.Fatal(err)
	}
	return r
}

// helmShell returns a function that runs commands, which must succeed. At the end of the test, the releases that these
// commands installed are uninstalled.
func helmShell(t *testing.T, kubeconfig string) func(commands string) {
	t.Helper()
	t.Cleanup(func() {
		if output, err := runHelm(t, kubeconfig,
			"helm list --all-namespaces --filter '^spark-operator-[ab]$' --short | xargs -I{} helm uninstall {} --namespace {}"); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	})
	return func(commands string) {
		t.Helper()

		if output, err := runHelm(t, kubeconfig, commands); err != nil {
			t.Fatalf("%s: %v\n%s", commands, err, output)
		}
	}
}

// runHelm runs commands of a shell in which the command helm exists.
func runHelm(t *testing.T, kubeconfig, commands string) (output string, err error) {
	t.Helper()

	helm, dir := gobuild.Must(t, "test/e2e", "helm.sh/helm/v4/cmd/helm"), t.TempDir()
	cmd := exec.Command("bash", "-euo", "pipefail", "-c", commands)

	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+filepath.Dir(helm)+":"+os.Getenv("PATH"),
		"HELM_CACHE_HOME="+dir, "HELM_CONFIG_HOME="+dir, "HELM_DATA_HOME="+dir)

	text, err := cmd.CombinedOutput()
	return string(text), err
}

// definitions returns our custom resource definitions that the API server has.
func (r *release) definitions(ctx context.Context) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(definitionKind)

	err := r.api.List(ctx, list)
	return slices.DeleteFunc(list.Items, func(definition unstructured.Unstructured) bool {
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		return group != "sparkoperator.k8s.io" && group != "spark.apache.org"
	}), err
}

// removeDefinitions deletes our custom resource definitions, and waits until they are gone.
func (r *release) removeDefinitions() {
	r.t.Helper()

	definitions, err := r.definitions(r.t.Context())
	if err != nil || len(definitions) == 0 {
		r.t.Fatalf("%d definitions: %v", len(definitions), err)
	}

	for _, definition := range definitions {
		if err := r.api.Delete(r.t.Context(), &definition); err != nil {
			r.t.Fatal(err)
		}
	}

	kit.Wait(r.t, "the definitions to be gone", func(ctx context.Context) error {
		left, err := r.definitions(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%s exists", left[0].GetName())
		}
		return err
	})
}

// definitionOwners returns the names of the releases that own our definitions.
func (r *release) definitionOwners() map[string]bool {
	r.t.Helper()

	definitions, err := r.definitions(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}

	owners := map[string]bool{}
	for _, definition := range definitions {
		owners[definition.GetAnnotations()["meta.helm.sh/release-name"]] = true
	}
	return owners
}

// create creates an application in a namespace.
func (r *release) create(namespace string) *unstructured.Unstructured {
	r.t.Helper()

	application := object(namespace, "sparkoperator.k8s.io/v1beta2", "SparkApplication", "pi")
	// The API server serves a new definition some moments after its creation.
	kit.Wait(r.t, "the application in "+namespace, func(ctx context.Context) error {
		return r.api.Create(ctx, application)
	})
	return application
}

// state returns the state of an application, or an empty text if no operator has written one.
func (r *release) state(application *unstructured.Unstructured) string {
	r.t.Helper()

	if err := r.api.Get(r.t.Context(), client.ObjectKeyFromObject(application), application); err != nil {
		r.t.Fatal(err)
	}

	state, _, _ := unstructured.NestedString(application.Object, "status", "applicationState", "state")
	return state
}

// waitState waits until an operator has written the state of an application.
func (r *release) waitState(application *unstructured.Unstructured) {
	r.t.Helper()
	kit.Wait(r.t, "the state of the application in "+application.GetNamespace(), func(context.Context) error {
		if r.state(application) == "" {
			return errors.New("there is none")
		}
		return nil
	})
}
