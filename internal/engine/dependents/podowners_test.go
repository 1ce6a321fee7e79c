package dependents_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/engine/dependents"
	"github.com/sparkoperator/spark-operator/internal/ground/identity"
	"github.com/sparkoperator/spark-operator/internal/intake/handlers"
	"github.com/sparkoperator/spark-operator/internal/intake/trim"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// applicationKind and serverKind are two kinds whose pods are in the same cache.
var (
	applicationKind = v1beta2.GroupVersion.WithKind("SparkApplication")
	serverKind      = v1alpha1.GroupVersion.WithKind("SparkConnect")
)

// someonesPod returns a pod with the given labels and owners. The UIDs of the owners have the form "<name>-uid".
func someonesPod(name string, labels map[string]string, owners ...metav1.OwnerReference) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "here", Name: name, UID: types.UID(name + "-uid"), Labels: labels, OwnerReferences: owners,
	}}
}

func ref(kind schema.GroupVersionKind, name string, controls bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: name,
		UID: types.UID(kind.Kind + "-" + name), Controller: &controls}
}

func podRef(name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(name + "-uid"),
		Controller: new(true)}
}

// TestPodsOfTwoKinds checks an application and a server with the same name, which share the namespace, the cache and
// its index. Each pod belongs to exactly one of the two and queues only that one, even if a user created the pod.
func TestPodsOfTwoKinds(t *testing.T) {
	t.Parallel()
	const app, server = "SparkApplication-x", "SparkConnect-x" // UIDs
	ours := func(role, uid string, more ...string) map[string]string {
		l := map[string]string{identity.RoleLabel: role, identity.AppUIDLabel: uid, identity.AttemptLabel: "1"}
		for i := 0; i < len(more); i += 2 {
			l[more[i]] = more[i+1]
		}
		return l
	}

	named := func(role, label string) map[string]string {
		return map[string]string{identity.RoleLabel: role, label: "x"}
	}
	for _, test := range []struct {
		name        string
		pod         *corev1.Pod
		app, server bool     // which of them it queues
		index       []string // the keys that find it
		owner       string   // UID of the owner that counts it; adopted pods are counted by their dialect
	}{
		{"our driver", someonesPod("x-driver", ours(identity.RoleDriver, app, sparkoperator.LabelAppName, "x"),
			ref(applicationKind, "x", true)), true, false, []string{app}, app},
		{"our server", someonesPod("x-server", ours(identity.RoleServer, server, identity.ConnectNameLabel, "x"),
			ref(serverKind, "x", true)), false, true, []string{server}, server},
		{"our executor", someonesPod("x-1-exec-1", ours(identity.RoleExecutor, app, sparkoperator.LabelAppName, "x"),
			podRef("x-driver"), ref(applicationKind, "x", false)),
			true, false, []string{app}, app},
		{"our server's executor, whose only owner is the server's pod",
			someonesPod("x-exec-1", ours(identity.RoleExecutor, server, identity.ConnectNameLabel, "x"),
				podRef("x-server")),
			false, true, []string{server}, server},
		{"an inherited driver", someonesPod("x-driver", named(identity.RoleDriver, sparkoperator.LabelAppName),
			ref(applicationKind, "x", true)),
			true, false, []string{sparkoperator.LabelAppName + "=x"}, app},
		{"an inherited server", someonesPod("x-server", named(identity.RoleServer, identity.ConnectNameLabel),
			ref(serverKind, "x", true)), false, true, []string{identity.ConnectNameLabel + "=x"}, server},
		{"an inherited server's executor",
			someonesPod("x-exec-1", named(identity.RoleExecutor, identity.ConnectNameLabel), podRef("x-server")), false,
			true, []string{identity.ConnectNameLabel + "=x"}, ""},
		{"a server with the name labels of a server and of an application",
			someonesPod("x-server", map[string]string{identity.RoleLabel: identity.RoleServer,
				identity.ConnectNameLabel: "x", sparkoperator.LabelAppName: "x"}, ref(serverKind, "x", true)),
			true, true, []string{sparkoperator.LabelAppName + "=x", identity.ConnectNameLabel + "=x"}, server},
		{"an application's driver with the role of a server",
			someonesPod("x-driver", ours(identity.RoleServer, app), ref(applicationKind, "x", true)), true, false,
			[]string{app}, app},
		{"a pod with our labels and without an owner",
			someonesPod("x-server", ours(identity.RoleServer, server, identity.ConnectNameLabel, "x")), false, true,
			[]string{server}, ""},
		{"an executor that no operator manages",
			someonesPod("y", map[string]string{identity.RoleLabel: identity.RoleExecutor}, podRef("z")), false, false,
			nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			wakes := func(kind schema.GroupVersionKind, label string) bool {
				woken := handlers.OwnerOf(kind.GroupKind(), label)(t.Context(), test.pod)
				if len(woken) > 1 || len(woken) == 1 &&
					woken[0].NamespacedName != (types.NamespacedName{Namespace: "here", Name: "x"}) {
					t.Errorf("%s: the pod queues %v", kind.Kind, woken)
				}
				return len(woken) == 1
			}
			if got := wakes(applicationKind, sparkoperator.LabelAppName); got != test.app {
				t.Errorf("the pod queues the application: %t", got)
			}

			if got := wakes(serverKind, identity.ConnectNameLabel); got != test.server {
				t.Errorf("the pod queues the server: %t", got)
			}

			if diff := cmp.Diff(test.index, identity.IndexKeys(test.pod)); diff != "" {
				t.Errorf("index (-want +got):\n%s", diff)
			}

			for _, uid := range []types.UID{app, server} {
				pods := []corev1.Pod{*test.pod}
				// An executor counts only together with its driver.
				if role := test.pod.Labels[identity.RoleLabel]; role == identity.RoleExecutor &&
					!identity.Unlabelled(test.pod) {
					pods = append(pods, *someonesPod("x-server", ours(identity.RoleServer, server),
						ref(serverKind, "x", true)),
						*someonesPod("x-driver", ours(identity.RoleDriver, app), ref(applicationKind, "x", true)))
				}

				c := dependents.SortPods(pods, uid)

				counted := slices.ContainsFunc(slices.Concat(c.Drivers, c.Submitters, c.Executors),
					func(pod corev1.Pod) bool { return pod.UID == test.pod.UID })
				if want := test.owner == string(uid); counted != want {
					t.Errorf("%s counts the pod: %t", uid, counted)
				}
			}
		})
	}
}

// TestServersAreCached checks that the cache keeps the same fields of a Connect server's pod as of a driver's, since
// the operator reads the same fields of both.
func TestServersAreCached(t *testing.T) {
	t.Parallel()

	for role, kept := range map[string]bool{identity.RoleDriver: true, identity.RoleServer: true,
		identity.RoleExecutor: false} {
		pod := someonesPod("x", map[string]string{identity.RoleLabel: role, identity.AppUIDLabel: "uid"})

		pod.Status.PodIP = "10.0.0.1"
		if trimmed, err := trim.Pod(pod); err != nil || (trimmed.(*corev1.Pod).Status.PodIP != "") != kept {
			t.Errorf("the cache keeps the address %[2]q of a pod with the role %[1]q (%[3]v)", role,
				trimmed.(*corev1.Pod).Status.PodIP, err)
		}
	}

	for label, kept := range map[string]bool{identity.AppUIDLabel: true, sparkoperator.LabelAppName: true,
		identity.ConnectNameLabel: true, identity.ApacheAppNameLabel: true, identity.ClusterNameLabel: true,
		"else": false} {
		pod := someonesPod("x", map[string]string{identity.RoleLabel: identity.RoleServer, label: "x"})
		pod.Spec.NodeName = "node"

		trimmed, err := trim.Pod(pod)
		if err != nil || (trimmed.(*corev1.Pod).Spec.NodeName != "") != kept {
			t.Errorf("with the label %s the cache keeps the pod as %+v (%v)", label, trimmed, err)
		}
	}
}

// TestContainerOfAServer checks that the operator finds Spark's container in a server pod, whether it read the pod live
// or from the cache.
func TestContainerOfAServer(t *testing.T) {
	t.Parallel()

	named := func(names ...string) (all []corev1.Container) {
		for _, name := range names {
			c := corev1.Container{Name: strings.TrimSuffix(name, "*")}
			if c.Name != name { // the container in which the operator runs the server
				c.Env = []corev1.EnvVar{{Name: trim.ServerVariable, Value: "true"}}
			}

			all = append(all, c)
		}
		return all
	}
	for _, test := range []struct {
		role       string
		containers []corev1.Container
		spark      string // the container whose end is the driver's
	}{
		{identity.RoleServer, named("spark-kubernetes-driver*"), "spark-kubernetes-driver"},
		{identity.RoleServer, named("logger", "spark-kubernetes-driver*"), "spark-kubernetes-driver"},
		{identity.RoleServer, named("spark-kubernetes-driver*", "logger"), "spark-kubernetes-driver"},
		{identity.RoleServer, named("main*", "logger"), "main"},
		{identity.RoleServer, named("logger", "main*", "proxy"), "main"},
		{identity.RoleDriver, named("sidecar", "main"), "main"}, // as Spark puts them
		{identity.RoleDriver, named("spark-kubernetes-driver", "sidecar"), "spark-kubernetes-driver"},
	} {
		pod := someonesPod("x", map[string]string{identity.RoleLabel: test.role, identity.AppUIDLabel: "uid"})

		pod.Spec.Containers = test.containers
		for i, c := range test.containers {
			code := int32(i + 1)
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses,
				corev1.ContainerStatus{Name: c.Name, State: scene.Exited(code, "")})
		}

		cached, err := trim.Pod(pod)
		if err != nil {
			t.Fatal(err)
		}

		for where, read := range map[string]*corev1.Pod{"live": pod, "cached": cached.(*corev1.Pod)} {
			code := dependents.DriverFacts(read).ExitCode
			if code < 1 || int(code) > len(test.containers) || test.containers[code-1].Name != test.spark {
				t.Errorf("%s of %v, %s: the exit code is %d, not that of the container %s", test.role, test.containers,
					where, code, test.spark)
			}
		}
	}
}
