package podcheck

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

// valid is a pod without faults, which has a valid value at the path of every rule.
const valid = `
metadata: {labels: {a: b, example.com/c: D_e}, annotations: {Example.com/a: "any text"}}
spec:
  nodeSelector: {kubernetes.io/arch: amd64}
  tolerations: [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 3}, {operator: Exists}, {key: a, value: b}]
  initContainers: [{name: i, image: "registry.example.com:5000/team/a__b:V1"}]
  containers:
  - name: c
    image: Registry.example.com/a/b-c.d:4.1.4-x@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    imagePullPolicy: Always
    env: [{name: a.b-c}, {name: "1A"}]
    ports: [{name: http-1, containerPort: 65535, hostPort: 1, protocol: UDP}, {containerPort: 1}]
    resources: {limits: {cpu: "2", example.com/gpu: "1"}, requests: {cpu: "1"}}
  volumes: [{name: v}]
  imagePullSecrets: [{name: S_a}] # the API server does not check it
  priorityClassName: high
  runtimeClassName: r
  serviceAccountName: s
  terminationGracePeriodSeconds: -1 # the API server makes it 1
  dnsPolicy: Default
`

func podOf(t testing.TB, text string) *corev1.Pod {
	t.Helper()

	pod := &corev1.Pod{}
	if err := yaml.Unmarshal([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// faulty are replacements of texts in the valid pod, with the path and a part of the message of the fault.
var faulty = []struct{ old, wrong, path, says string }{
	{"a: b,", "a b: c,", "metadata.labels[a b]", "PREFIX/NAME"},
	{"D_e", "D e", "metadata.labels[example.com/c]", "label value"},
	{"Example.com/a", "/a", "metadata.annotations[/a]", "PREFIX/NAME"},
	{"kubernetes.io/arch", "a b", "spec.nodeSelector[a b]", "PREFIX/NAME"},
	{"amd64", "amd 64", "spec.nodeSelector[kubernetes.io/arch]", "label value"},
	{"{key: a, operator", "{key: a b, operator", "spec.tolerations[0].key", "PREFIX/NAME"},
	{"operator: Exists, effect", "operator: exists, effect", "spec.tolerations[0].operator",
		`"exists" is not an operator of tolerations; write Exists or Equal`},
	{"{key: a, value: b}", "{key: a, value: b, effect: Never}", "spec.tolerations[2].effect", "write NoSchedule"},
	{"{operator: Exists}", "{operator: Equal}", "spec.tolerations[1].operator", "should be Exists"},
	{"{operator: Exists}", "{operator: Exists, value: x}", "spec.tolerations[1].operator", "remove the value"},
	{"effect: NoExecute", "effect: NoSchedule", "spec.tolerations[0].effect", "tolerationSeconds"},
	{"name: i,", "name: I,", "spec.initContainers[0].name", "lower case"},
	{"a__b:V1", "A:V1", "spec.initContainers[0].image", "lower case before the tag"},
	{"/a/b-c.d", "/a/b c.d", "spec.containers[0].image", "without blanks"},
	{"Registry.example.com/a/", "Registry.example.com//", "spec.containers[0].image", "name of an image"},
	{"imagePullPolicy: Always", "imagePullPolicy: always", "spec.containers[0].imagePullPolicy", "write Always"},
	{"a.b-c", "a=b", "spec.containers[0].env[0].name", "leave out '='"},
	{"65535", "65536", "spec.containers[0].ports[0].containerPort", "1 to 65535"},
	{"hostPort: 1", "hostPort: -1", "spec.containers[0].ports[0].hostPort", "1 to 65535"},
	{"http-1", "Http", "spec.containers[0].ports[0].name", "at most 15"},
	{"UDP", "udp", "spec.containers[0].ports[0].protocol", "write TCP"},
	{"example.com/gpu", "example.com/g u", "spec.containers[0].resources.limits[example.com/g u]", "PREFIX/NAME"},
	{"requests: {cpu", "requests: {c u", "spec.containers[0].resources.requests[c u]", "PREFIX/NAME"},
	{"name: v", "name: V", "spec.volumes[0].name", "lower case"},
	{"high", "High", "spec.priorityClassName", "lower case"},
	{"runtimeClassName: r", "runtimeClassName: R", "spec.runtimeClassName", "lower case"},
	{"serviceAccountName: s", "serviceAccountName: S", "spec.serviceAccountName", "lower case"},
	{"dnsPolicy: Default", "dnsPolicy: default", "spec.dnsPolicy", "write ClusterFirst"},
}

// TestCheck breaks every rule once.
func TestCheck(t *testing.T) {
	if faults := Check(podOf(t, valid)); len(faults) > 0 {
		t.Errorf("the valid pod: %v", faults)
	}

	broken := map[string]bool{}
	for _, test := range faulty {
		faults := Check(podOf(t, strings.Replace(valid, test.old, test.wrong, 1)))
		if len(faults) != 1 || faults[0].Path != test.path || !strings.Contains(faults[0].Message, test.says) {
			t.Errorf("%s instead of %s: %v, want %s: %s", test.wrong, test.old, faults, test.path, test.says)
			continue
		}

		_, words, _ := strings.Cut(faults[0].Message, `" `)
		broken[words] = true
	}

	for _, r := range rules {
		if !broken[r.words] {
			t.Errorf("nothing breaks the rule for %s", r.path)
		}
	}
}

// TestReferencesAreLeft checks that references are not judged, which only a driver can replace.
func TestReferencesAreLeft(t *testing.T) {
	pod := podOf(t, valid)

	pod.Spec.Containers[0].Image = "${env:REGISTRY}/A B"
	if faults := Check(pod); len(faults) > 0 {
		t.Error(faults)
	}
}

// FuzzLabels compares the scans of labels, and of names of containers, volumes and variables, with the patterns of
// Kubernetes.
func FuzzLabels(f *testing.F) {
	for _, text := range []string{"", "a", "A_b.c-9", "-a", "a-", "a b", "example.com/c", "Example.com/c", "a..b/c", "a/b/c", "/a", "a/", "a-.b/c", "a.-b/c", "é", "a\n", "_A_", "a=b", "a\tb",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253) + "/b", strings.Repeat("a.", 126) + "a/b", strings.Repeat("a.", 127) + "/b",
		strings.Repeat("a.", 127) + "a/b", strings.Repeat("a", 64) + ".a/b"} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		if got, want := IsLabelKey(text), len(validation.IsQualifiedName(text)) == 0; got != want {
			t.Errorf("%q as the name of a label: %v, want %v", text, got, want)
		}

		if got, want := IsLabelValue(text), len(validation.IsValidLabelValue(text)) == 0; got != want {
			t.Errorf("%q as the value of a label: %v, want %v", text, got, want)
		}

		if got, want := isLabel(text), len(validation.IsDNS1123Label(text)) == 0; got != want {
			t.Errorf("%q as the name of a container: %v, want %v", text, got, want)
		}

		if got, want := isVariable(text), len(validation.IsRelaxedEnvVarName(text)) == 0; got != want {
			t.Errorf("%q as the name of a variable: %v, want %v", text, got, want)
		}
	})
}
