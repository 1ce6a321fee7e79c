package standalone

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/test/kit/effort"
)

// chance builds random requests and templates from fixed parts.
type chance struct{ *rand.Rand }

func pick[T any](c chance, options ...T) T { return options[c.IntN(len(options))] }

// some returns a random selection of the texts, in random order, as a JSON list.
func (c chance) some(texts ...string) string {
	var out []string
	for _, text := range texts {
		if c.IntN(3) == 0 {
			out = append(out, text)
		}
	}

	c.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return "[" + strings.Join(out, ",") + "]"
}

func (c chance) container(name string) string {
	return `{"name":"` + name + `","future":1,"command":` + c.some(`"tini"`, `"--"`) + `,"args":` + c.some(`"a"`,
		`"b"`) +
		`,"env":` + c.some(`{"name":"SPARK_MASTER_OPTS","value":"-Da=b"}`,
		`{"name":"SPARK_WORKER_OPTS","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}`,
		`{"name":"SPARK_LOG_DIR","value":"/l"}`, `{"name":"X"}`) +
		`,"ports":` + c.some(`{"containerPort":9}`, `{"name":"spark","containerPort":7077}`,
		`{"name":"jmx","containerPort":10,"protocol":"UDP"}`, `{"name":"rest","containerPort":6066}`) +
		`,"volumeMounts":` + c.some(`{"name":"data","mountPath":"/data"}`, `{"name":"tmp","mountPath":"/tmp"}`) +
		pick(c, ``, `,"image":"mine"`, `,"securityContext":{"privileged":true}`,
			`,"resources":{"requests":{"cpu":"1"}}`, `,"readinessProbe":{"periodSeconds":3}`) + `}`
}

func (c chance) template(role string) []byte {
	containers := []string{c.container("log")}
	if c.IntN(3) > 0 {
		containers = slices.Insert(containers, c.IntN(2), c.container(pick(c, role, "")))
	}
	return []byte(`{"volumeClaimTemplates":` + c.some(`{"metadata":{"name":"data"}}`) + pick(c, ``,
		`,"selector":{"matchLabels":{"mine":"x"}}`, `,"replicas":9`) +
		`,"template":{"metadata":{"labels":{"mine":"x"},"annotations":` + pick(c, `{}`,
		`{"a":"b"}`) + `},"spec":{"volumes":[{"name":"tmp","emptyDir":{}},{"name":"data","emptyDir":{}}]` +
		pick(c, ``, `,"dnsConfig":{"searches":["example"]}`, `,"schedulerName":"mine"`,
			`,"terminationGracePeriodSeconds":9`, `,"enableServiceLinks":true`) +
		`,"containers":[` + strings.Join(containers, ",") + `]}}}`)
}

func (c chance) service() []byte {
	return []byte(`{"ports":` + c.some(`{"port":9}`, `{"name":"web","port":80}`, `{"name":"x","port":8080}`,
		`{"port":8081,"protocol":"UDP"}`) + pick(c, ``, `,"selector":{"a":"b"}`, `,"type":"ClusterIP"`) + `}`)
}

func (c chance) request() Request {
	first, least, most := c.Int64N(4), c.Int64N(4), c.Int64N(4)
	if least < most {
		first = min(first, most)
	}
	return simple(counts(first, least, most), func(r *Request) {
		r.Master = Member{StatefulSet: c.template(RoleMaster), Service: c.service(),
			StatefulSetMeta: Metadata{Labels: map[string]string{"l": "m"}}}

		r.Workers = Member{StatefulSet: c.template(RoleWorker), Service: c.service(),
			ServiceMeta: Metadata{Name: "n", Annotations: map[string]string{"a": "b"}}}
		for key, value := range map[string]string{
			masterUIKey: "9090", workerUIKey: "0", imageKey: "i:{{SPARK_VERSION}}", authSecretKey: "s",
			recoveryModeKey: "FILESYSTEM", recoveryPathKey: "/data/r", redactionKey: "(", schedulerKey: "y",
		} {
			if c.IntN(3) == 0 {
				r.Conf.Set(key, value)
			}
		}

		if c.IntN(2) == 0 {
			r.Autoscaler = []byte(`{"metrics":[],"future":{"x":1}}`)
		}
	})
}

// twice returns the keys that occur more than once in a list. The API server would reject such a list, because it
// merges the list by key.
func twice[T any](list []T, key func(T) string) (wrong []string) {
	seen := map[string]bool{}
	for _, element := range list {
		k := key(element)
		if seen[k] {
			wrong = append(wrong, k)
		}

		seen[k] = true
	}
	return wrong
}

// faults returns descriptions of the parts of a role's objects that the API server or Spark would reject.
func faults(role string, set *appsv1.StatefulSet, service *corev1.Service) (wrong []string) {
	add := func(what string, keys ...string) {
		if len(keys) > 0 {
			wrong = append(wrong, fmt.Sprintf("%s: %q", what, keys))
		}
	}
	template := set.Spec.Template
	selects := func(object string, selector *metav1.LabelSelector) {
		if parsed, err := metav1.LabelSelectorAsSelector(selector); err != nil ||
			!parsed.Matches(labels.Set(template.Labels)) {
			add(object+" does not select the pods", parsed.String())
		}
	}
	selects("the StatefulSet", set.Spec.Selector)

	if _, mine := service.Spec.Selector["a"]; !mine {
		selects("the Service", &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
	}

	volumes := map[string]bool{}
	for _, v := range template.Spec.Volumes {
		volumes[v.Name] = true
	}

	for _, claim := range set.Spec.VolumeClaimTemplates {
		volumes[claim.Name] = true
	}

	add("volumes that come twice", twice(template.Spec.Volumes, func(v corev1.Volume) string { return v.Name })...)
	add("containers that come twice",
		twice(template.Spec.Containers, func(c corev1.Container) string { return c.Name })...)
	add("ports of the Service that come twice",
		twice(service.Spec.Ports, func(p corev1.ServicePort) string { return fmt.Sprint(p.Port, p.Protocol) })...)
	add("names of its ports that come twice",
		twice(service.Spec.Ports, func(p corev1.ServicePort) string { return p.Name })...)

	daemons := 0
	for _, c := range template.Spec.Containers {
		add("variables that come twice", twice(c.Env, func(e corev1.EnvVar) string { return e.Name })...)
		add("ports that come twice",
			twice(c.Ports, func(p corev1.ContainerPort) string { return fmt.Sprint(p.ContainerPort, p.Protocol) })...)
		add("mounts that come twice",
			twice(c.VolumeMounts, func(m corev1.VolumeMount) string { return m.MountPath })...)

		if slices.Contains(c.Args, "-c") {
			daemons++

			if !volumes[confVolume] || c.Name != role || c.Image == "" ||
				!slices.ContainsFunc(c.VolumeMounts,
					func(m corev1.VolumeMount) bool { return m.Name == confVolume && m.ReadOnly }) {
				add("the daemon has another name, no image or no options", c.Name, c.Image)
			}
		}
	}

	if daemons != 1 {
		add("daemons", fmt.Sprint(daemons))
	}

	for key, value := range template.Labels {
		add("label "+key, append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)...)
	}
	return wrong
}

// TestRandomTemplatesGiveValidObjects builds random templates, and checks the objects against the rules of Kubernetes
// and Spark.
func TestRandomTemplatesGiveValidObjects(t *testing.T) {
	for seed := range uint64(effort.Count(t, 50)) {
		c := chance{rand.New(rand.NewPCG(seed, 8))}
		r := c.request()

		o, err := Build(r)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}

		wrong := append(faults(RoleMaster, o.Master, o.MasterService),
			faults(RoleWorker, o.Workers, o.WorkerService)...)
		if *o.Master.Spec.Replicas != 1 || *o.Workers.Spec.Replicas < 0 || (o.Autoscaler != nil) != r.autoscaled() {
			wrong = append(wrong, "the numbers of pods")
		}

		if a := o.Autoscaler; a != nil &&
			(*a.Spec.MinReplicas < 1 || *a.Spec.MinReplicas > a.Spec.MaxReplicas ||
				*o.Workers.Spec.Replicas < *a.Spec.MinReplicas) {
			wrong = append(wrong, "the bounds of the autoscaler")
		}
		// The name of the Secret occurs in the Secret itself and in a volume of each StatefulSet.
		if named := strings.Count(strings.Join(texts(t, o), ""), `"name":"qa-cluster-secret-`); o.Secret == nil &&
			named != 0 || o.Secret != nil && named != 3 {
			wrong = append(wrong, fmt.Sprintf("there is a Secret: %t, and it is named %d times", o.Secret != nil,
				named))
		}

		future := 0
		for _, text := range texts(t, o) {
			var tree map[string]any
			if err := json.Unmarshal([]byte(text), &tree); err != nil {
				t.Fatal(err)
			}

			delete(tree, "status") // set by the API server

			if withNull(tree) {
				wrong = append(wrong, "a null in "+text)
			}

			future += strings.Count(text, `"future":1`)
		}

		if want := strings.Count(string(r.Master.StatefulSet)+string(r.Workers.StatefulSet),
			`"future":1`); future != want {
			wrong = append(wrong, fmt.Sprintf("%d of %d fields that no type knows are kept", future, want))
		}

		if len(wrong) > 0 {
			t.Fatalf("seed %d: %s\nof the master %s\nof the workers %s", seed, strings.Join(wrong, "\n"),
				r.Master.StatefulSet, r.Workers.StatefulSet)
		}
	}
}

// withNull reports whether a tree of decoded JSON contains a null.
func withNull(tree any) bool {
	switch tree := tree.(type) {
	case nil:
		return true
	case map[string]any:
		for _, value := range tree {
			if withNull(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(tree, withNull)
	}
	return false
}
