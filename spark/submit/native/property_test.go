package native_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/line"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

func everything(o submit.Objects) []submit.Object { return append(slices.Clone(o.Before), o.Driver) }

func TestTheSameRequestGivesTheSameObjects(t *testing.T) {
	kit.ForAll(t, func(t *testing.T, r submit.Request, o submit.Objects) {
		for range 5 {
			if diff := cmp.Diff(o, kit.Build(t, r)); diff != "" {
				t.Fatalf("(-first +again):\n%s", diff)
			}
		}
	})
}

// TestTheOrderOfTheConfigurationDoesNotReachTheConfigMap checks that the order in which a configuration was written
// does not change the objects that are created before the pod. The test does not compare the pods, because the pod's
// variables and mounts may follow that order.
func TestTheOrderOfTheConfigurationDoesNotReachTheConfigMap(t *testing.T) {
	r := kit.HeavyRequest()
	want := kit.Build(t, r)

	random := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		keys := r.Conf.Keys()
		random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })

		shuffled := conf.New()
		for _, key := range keys {
			value, _ := r.Conf.Get(key)
			shuffled.Set(key, value)
		}

		again := r

		again.Conf = shuffled
		if diff := cmp.Diff(want.Before, kit.Build(t, again).Before); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestTheRequestIsNotChanged(t *testing.T) {
	for name, r := range kit.Requests() {
		before, c := r, r.Conf.Clone()
		driver, executor := r.Driver, r.Executor
		kit.Build(t, r)

		if diff := cmp.Diff(c.Map(), r.Conf.Map()); diff != "" {
			t.Errorf("%s: configuration (-before +after):\n%s", name, diff)
		}

		if diff := cmp.Diff(before.Labels, r.Labels) + cmp.Diff(driver, r.Driver) + cmp.Diff(executor, r.Executor) +
			cmp.Diff(before.ConfFiles, r.ConfFiles) + cmp.Diff(before.Owner, r.Owner); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// TestOnlyServiceAndPodCarrySparksSelector checks that only the Service and the pods have the label spark-app-selector.
// A stopping driver deletes Services and claims with this label, and it must delete only its own Service.
func TestOnlyServiceAndPodCarrySparksSelector(t *testing.T) {
	kit.ForAll(t, func(t *testing.T, r submit.Request, o submit.Objects) {
		for _, object := range o.Before {
			_, isService := object.(*corev1.Service)
			if got := object.GetLabels()["spark-app-selector"]; (got != "") != isService || isService &&
				got != r.AppID {
				t.Errorf("%T %s has spark-app-selector=%q", object, object.GetName(), got)
			}
		}

		if o.Driver.Labels["spark-app-selector"] != r.AppID {
			t.Errorf("the driver's labels are %v", o.Driver.Labels)
		}
	})
}

func TestEverythingIsOwnedLabelledAndNamed(t *testing.T) {
	kit.ForAll(t, func(t *testing.T, r submit.Request, o submit.Objects) {
		names := map[string]bool{}
		for _, object := range everything(o) {
			id := fmt.Sprintf("%T %s", object, object.GetName())

			owners := object.GetOwnerReferences()
			if len(owners) != 1 || owners[0].UID != r.Owner.UID || owners[0].Controller == nil ||
				!*owners[0].Controller {
				t.Errorf("%s has the owners %v", id, owners)
			}

			for key, value := range r.Labels {
				if object.GetLabels()[key] != value {
					t.Errorf("%s lacks the label %s=%s", id, key, value)
				}
			}

			if object.GetNamespace() != r.Namespace {
				t.Errorf("%s is in namespace %q", id, object.GetNamespace())
			}

			if errs := validation.IsDNS1123Subdomain(object.GetName()); len(errs) > 0 || names[id] {
				t.Errorf("%s: no name, or twice: %v", id, errs)
			}

			names[id] = true
			if kind := object.GetObjectKind().GroupVersionKind(); kind.Kind == "" || kind.Version == "" {
				t.Errorf("%s does not say its kind", id)
			}

			if cm, ok := object.(*corev1.ConfigMap); ok && (cm.Immutable == nil || !*cm.Immutable) {
				t.Errorf("%s can be changed", id)
			}
		}

		for key, value := range r.Labels {
			if got := propsOf(t, r, o)["spark.kubernetes.executor.label."+key]; got != value {
				t.Errorf("executors get the label %s=%q, want %q", key, got, value)
			}
		}
	})
}

func propsOf(t *testing.T, r submit.Request, o submit.Objects) map[string]string {
	t.Helper()

	for _, object := range o.Before {
		if cm, ok := object.(*corev1.ConfigMap); ok && cm.Data["spark.properties"] != "" {
			c, err := conf.UnmarshalProperties(cm.Data["spark.properties"])
			if err != nil {
				t.Fatal(err)
			}
			return c.Map()
		}
	}

	t.Fatalf("no spark.properties for %s", r.AppName)
	return nil
}

// TestThePodFindsWhatItMounts checks that the pod has every volume that it mounts, and that the objects that its
// volumes name are created before the pod.
func TestThePodFindsWhatItMounts(t *testing.T) {
	given := []string{"creds", "krb5"} // heavyRequest names them, and users create them
	kit.ForAll(t, func(t *testing.T, _ submit.Request, o submit.Objects) {
		have := map[string]bool{}
		for _, object := range o.Before {
			have[fmt.Sprintf("%T/%s", object, object.GetName())] = true
		}

		volumes := map[string]bool{}
		for _, v := range o.Driver.Spec.Volumes {
			volumes[v.Name] = true
			switch {
			case v.ConfigMap != nil && !slices.Contains(given, v.ConfigMap.Name):
				if !have["*v1.ConfigMap/"+v.ConfigMap.Name] {
					t.Errorf("volume %s names the ConfigMap %s, which is not made", v.Name, v.ConfigMap.Name)
				}
			case v.Secret != nil && !slices.Contains(given, v.Secret.SecretName):
				if !have["*v1.Secret/"+v.Secret.SecretName] {
					t.Errorf("volume %s names the Secret %s, which is not made", v.Name, v.Secret.SecretName)
				}
			case v.PersistentVolumeClaim != nil:
				if !have["*v1.PersistentVolumeClaim/"+v.PersistentVolumeClaim.ClaimName] {
					t.Errorf("volume %s names the claim %s, which is not made", v.Name,
						v.PersistentVolumeClaim.ClaimName)
				}
			}
		}

		for _, c := range o.Driver.Spec.Containers {
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("container %s mounts %s, which is no volume", c.Name, m.Name)
				}
			}
		}
	})
}

func TestExecutorsFindTheDriver(t *testing.T) {
	kit.ForAll(t, func(t *testing.T, r submit.Request, o submit.Objects) {
		service := kit.ServiceOf(t, o)
		for key, value := range service.Spec.Selector {
			if o.Driver.Labels[key] != value {
				t.Errorf("the Service selects %s=%s, which the driver does not have", key, value)
			}
		}

		p := propsOf(t, r, o)
		if want := service.Name + "." + r.Namespace + ".svc"; p["spark.driver.host"] != want {
			t.Errorf("spark.driver.host is %q, want %q", p["spark.driver.host"], want)
		}

		for i, key := range []string{"spark.driver.port", "spark.driver.blockManager.port"} {
			if want := fmt.Sprint(service.Spec.Ports[i].Port); p[key] != want {
				t.Errorf("%s is %q, the Service's port %s", key, p[key], want)
			}
		}

		if p["spark.kubernetes.driver.pod.name"] != o.Driver.Name {
			t.Errorf("the driver looks for its pod as %q", p["spark.kubernetes.driver.pod.name"])
		}
	})
}

func TestNetworkPolicyOf42(t *testing.T) {
	kit.ForAll(t, func(t *testing.T, r submit.Request, o submit.Objects) {
		count := 0
		for _, object := range o.Before {
			if policy, ok := object.(*networkingv1.NetworkPolicy); ok {
				count++

				if policy.Spec.PodSelector.MatchLabels["spark-app-selector"] != r.AppID ||
					policy.Spec.PodSelector.MatchLabels["spark-role"] != "executor" {
					t.Errorf("policy is %+v", policy.Spec)
				}
			}
		}

		q, _ := line.Of(r.SparkVersion)
		if want := map[bool]int{true: 1}[q.NetworkPolicy]; count != want {
			t.Errorf("%d policies, want %d", count, want)
		}
	})
}

func TestWithoutAnOwnerNothingIsOwned(t *testing.T) {
	r := kit.Minimal()

	r.Owner.UID = ""
	for _, object := range everything(kit.Build(t, r)) {
		if len(object.GetOwnerReferences()) > 0 {
			t.Errorf("%s has the owners %v", object.GetName(), object.GetOwnerReferences())
		}
	}
}

// FuzzBuild checks that no configuration makes Build panic, and that every accepted configuration gives valid names and
// a pod that has every volume that it mounts.
func FuzzBuild(f *testing.F) {
	f.Add("spark.driver.memory", "2g", "arg", "4.1.4", `{"spec":{"containers":[{"name":"x"}]}}`)
	f.Add("spark.kubernetes.driver.volumes.emptyDir.a.mount.path", "/a", "$(A)", "3.5", "")
	f.Add("spark.driver.resource.gpu.amount", "1", "", "", "{}")
	f.Add("spark.kubernetes.memoryOverheadFactor", "1e400", "", "4.3",
		`{"spec":{"containers":[{},{}],"volumes":[{"name":"spark-conf-volume-driver"}]}}`)
	f.Fuzz(func(t *testing.T, key, value, arg, version, template string) {
		r := kit.With(key, value)
		r.Arguments, r.SparkVersion, r.DriverTemplate = []string{arg}, version, []byte(template)

		o, err := native.Build(r)
		if err != nil {
			if _, ok := errors.AsType[*submit.Error](err); !ok {
				t.Errorf("the error is not one of ours: %v", err)
			}
			return
		}

		for _, object := range everything(o) {
			if errs := validation.IsDNS1123Subdomain(object.GetName()); len(errs) > 0 {
				t.Errorf("%T %q: %v", object, object.GetName(), errs)
			}
		}

		if propsOf(t, r, o)["spark.kubernetes.driver.pod.name"] != o.Driver.Name {
			t.Error("the driver does not find its pod")
		}
	})
}
