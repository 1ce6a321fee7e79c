package v1beta2_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

const (
	applications = "sparkoperator.k8s.io_sparkapplications.yaml"
	schedules    = "sparkoperator.k8s.io_scheduledsparkapplications.yaml"
	version      = "v1beta2"
)

// deliberate lists the values that our definitions reject on purpose, although the definitions of the peer, the
// kubeflow operator, accept them. An entry covers each crd.Gap whose Path ends with the field path and whose What
// begins with the field what. The field says describes the rejected values. The field why explains why no application
// with such a value ever ran, because a new gap must not break a user's manifest. A table in docs/validation.md
// contains both texts.
var deliberate = []struct{ path, what, says, why string }{
	{"driver.memory", "rule", "a size that Spark does not read; `${...}` is left to Spark",
		"Spark cannot parse it: the driver never starts"},
	{"executor.memory", "rule", "the same", "Spark cannot parse it: the driver ends when it reads its configuration"},
	{"driver.memoryOverhead", "rule", "the same", "like memory"},
	{"executor.memoryOverhead", "rule", "the same", "like memory"},
	{"driver.podName", "rule", "not a name of a pod",
		"no pod with another name can be created; the kubeflow definition's pattern means the same, but matches anywhere"},
	{".port", "minimum -2.147483648e+09", "a port below -2147483648",
		"Go's IntOrString holds an int32: the kubeflow operator cannot decode it"},
	{".port", "maximum 2.147483647e+09", "a port above 2147483647", "like the minimum"},
	{"", "pattern " + strictQuantity,
		"a quantity with a fraction in its exponent, such as 1e1.5, or with more than two digits there, or with a minus sign",
		"no quantity has a fraction there, so the kubeflow operator cannot decode it; it would compute for hours with an exponent of ten digits"},
	{"", "minimum 0", "a negative number as a quantity",
		"the API server refuses pods and claims with a negative amount"},
	{"", "maxLength ", "a longer text than [Limits](limits.md#limits) allows",
		"the kubeflow operator may compute with a long quantity for hours; no real value of the others is as long"},
	{"", "maxItems ", "more items than [Limits](limits.md#limits) allows", "no application that ran is known to have as many"},
	{"", "maxProperties ", "more entries than [Limits](limits.md#limits) allows", "like items of a list"},
	{"Time", "pattern ^[^tz]*$", "a time with a small t or z",
		"Go's times have a capital T and Z: the kubeflow operator cannot decode others"},
	{"Run", "pattern ^[^tz]*$", "the same", "like all times"},
	{"", "rule ", "what [By the operator](refused-applications.md#by-the-operator) and [The other kinds](refused-others.md#the-other-kinds) mark as refused by the definition", "the operator refuses the same values when it reconciles the object"},
}

const strictQuantity = `^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`

// TestPeersManifestsAreAccepted checks that our definitions accept and keep every manifest that the peer's definitions
// accept, except for the deliberate gaps. The peer's users have such manifests.
func TestPeersManifestsAreAccepted(t *testing.T) {
	met := make([]bool, len(deliberate))
	for _, file := range []string{applications, schedules} {
		for _, gap := range crd.Gaps(crd.Theirs(t, file), crd.Ours(t, file)) {
			meant := false
			for i, d := range deliberate {
				if strings.HasSuffix(gap.Path, d.path) && strings.HasPrefix(gap.What, d.what) {
					meant, met[i] = true, true
				}
			}

			if !meant {
				t.Errorf("%s: %s: %s", file, gap.Path, gap.What)
			}
		}
	}

	for i, d := range deliberate {
		if !met[i] {
			t.Errorf("%q %q is listed as deliberate, but there is no such gap", d.path, d.what)
		}
	}
}

// TestApprovalIsThePeers checks the annotation api-approved.kubernetes.io. The API server rejects definitions without
// it if their group's name ends with k8s.io. Our value must equal the peer's, because the definitions in a cluster that
// migrates from the peer have that value.
func TestApprovalIsThePeers(t *testing.T) {
	const approved = "api-approved.kubernetes.io"
	for _, file := range []string{applications, schedules} {
		if got, want := crd.Ours(t, file).Annotations[approved],
			crd.Theirs(t, file).Annotations[approved]; got != want {
			t.Errorf("%s: %s is %q, the peer's is %q", file, approved, got, want)
		}
	}
}

// TestDeliberateGapsAreDocumented checks that the table in docs/validation.md has one row for each entry of the list
// deliberate.
func TestDeliberateGapsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(crd.Root(t), "docs", "validation.md"))
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(text), "<!-- begin stored -->\n")
	documented, _, _ := strings.Cut(rest, "<!-- end stored -->")

	want := "| property | refused value | why nothing is lost |\n|---|---|---|\n"
	for _, d := range deliberate {
		property := map[string]string{"": "every quantity", ".port": "every `port` of a probe or hook",
			"Time": "the status' `...Time`", "Run": "the status' `...Run`"}[d.path]
		if covered, ok := map[string]string{"maxLength ": "every quantity, and some texts", "maxItems ": "every list",
			"maxProperties ": "every map", "rule ": "every field"}[d.what]; ok {
			property = covered
		}

		if property == "" {
			property = "`" + d.path + "`"
		}

		want += fmt.Sprintf("| %s | %s | %s |\n", property, d.says, d.why)
	}

	if diff := cmp.Diff(documented, want); diff != "" {
		t.Errorf("docs/validation.md should say:\n%s\n(-written +wanted):\n%s", want, diff)
	}
}
