package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// TestLabelsOfTheNamespaceAreReadFromTheCluster checks that explain and diff read the labels of the object's namespace
// if the operator's configuration selects namespaces by labels. Without the right to read them, the verbs print a
// line with the reason and leave out the defaults and rules that the labels would select.
func TestLabelsOfTheNamespaceAreReadFromTheCluster(t *testing.T) {
	withoutSpark(t)
	u := newUser(t, scene.New(t))
	file := filepath.Join(t.TempDir(), "operator.yaml")

	text := "apiVersion: config.sparkoperator.dev/v1alpha1\nkind: Configuration\n" +
		"policy: {owner: data team, rules: [{name: tenants, selector: tier=tenant, images: {allowed: [\"registry.example.com/*\"]}}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	u.does(exit.OK, "pi created", "create", "-f", u.manifest("pi", ""))
	edited := u.manifest("pi", "  sparkConf: {spark.a: b}\n")
	const refused = "is not allowed by the rule images of the policy tenants"

	u.does(exit.OK, "spec.sparkConf[spark.a]", "diff", "-f", edited, "--config", file)
	u.does(exit.OK, "creates the driver pod", "explain", "pi", "--config", file)

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: u.Namespace}}
	if err := u.API.Patch(t.Context(), namespace,
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"tenant"}}}`))); err != nil {
		t.Fatal(err)
	}

	u.does(exit.Invalid, refused, "diff", "-f", edited, "--config", file)

	if got := u.does(exit.OK, "next:", "explain", "pi", "--config", file); strings.Contains(got.out, "creates") ||
		got.err != "" {
		t.Errorf("the explanation of an application that a rule refuses:\n%s%s", got.out, got.err)
	}

	if got := u.does(exit.OK, "spec.sparkConf[spark.a]", "diff", "-f", edited); got.err != "" {
		t.Errorf("without a selector, the labels are read: %s", got.err)
	}

	u.reader("reader")
	got := u.does(exit.OK, "spec.sparkConf[spark.a]", "diff", "-f", edited, "--config", file, "--as",
		"system:serviceaccount:"+u.Namespace+":reader")

	want := "note: you are not allowed to get the namespace " + u.Namespace +
		", so its labels are unknown; defaults and rules for namespaces with certain labels are left out\n"
	if got.err != want {
		t.Errorf("the note is %q, want %q", got.err, want)
	}

	u.does(exit.OK, "note: the namespace nowhere does not exist", "diff", "-f", edited, "-n", "nowhere",
		"--config", file)
}
