package overlay

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// driver returns a driver pod in the form that Spark creates, with a sidecar before the Spark container.
func driver() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Labels: map[string]string{"spark-role": "driver"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "App", Name: "a", UID: "u1", Controller: new(true)}}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Name: "side", Image: "side:1"},
				{
					Name: DriverContainer, Image: "spark:1",
					Env: []corev1.EnvVar{{Name: "SPARK_USER", Value: "spark"}, {Name: "A", Value: "old"}},
					Ports: []corev1.ContainerPort{{Name: "spark-ui", ContainerPort: 4040,
						Protocol: corev1.ProtocolTCP}},
					VolumeMounts: []corev1.VolumeMount{{Name: "conf", MountPath: "/opt/spark/conf"}},
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
						Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
					},
				},
			},
			Volumes: []corev1.Volume{{Name: "conf",
				VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, DefaultMode: new(int32(0o644)),
				}}}},
			NodeSelector: map[string]string{"zone": "a", "disk": "ssd"},
			DNSPolicy:    corev1.DNSClusterFirst,
			Tolerations:  []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
		},
	}
}

// change is an overlay and its expected effect on the pod that driver returns. The function want changes its arguments,
// a pod and the pod's Spark container, in the expected way.
type change struct {
	overlay Overlay
	want    func(pod *corev1.Pod, spark *corev1.Container)
}

func changes() map[string]change {
	emptyDir := corev1.Volume{Name: "scratch",
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	return map[string]change{
		"nothing": {Overlay{}, func(*corev1.Pod, *corev1.Container) {}},
		"labels and annotations": {Overlay{Labels: map[string]string{"x": "1"},
			Annotations: map[string]string{"y": "2"}}, func(p *corev1.Pod, _ *corev1.Container) {
			p.Labels["x"] = "1"
			p.Annotations = map[string]string{"y": "2"}
		}},
		"owner references by UID": {Overlay{OwnerReferences: []metav1.OwnerReference{{Kind: "App", Name: "a",
			UID: "u1"}, {Kind: "App", Name: "b", UID: "u2"}}}, func(p *corev1.Pod, _ *corev1.Container) {
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Kind: "App", Name: "b", UID: "u2"})
		}},
		"env: a new value is added and counts": {Overlay{Env: []corev1.EnvVar{{Name: "A", Value: "new"},
			{Name: "B", Value: "$(A)"}}}, func(_ *corev1.Pod, c *corev1.Container) {
			c.Env = append(c.Env, corev1.EnvVar{Name: "A", Value: "new"}, corev1.EnvVar{Name: "B", Value: "$(A)"})
		}},
		"env: the same value exists": {Overlay{Env: []corev1.EnvVar{{Name: "A", Value: "old"}}},
			func(*corev1.Pod, *corev1.Container) {}},
		"env: the last of two equal names counts": {Overlay{Env: []corev1.EnvVar{{Name: "B", Value: "1"}, {Name: "C"},
			{Name: "B", Value: "2"}}}, func(_ *corev1.Pod, c *corev1.Container) {
			c.Env = append(c.Env, corev1.EnvVar{Name: "C"}, corev1.EnvVar{Name: "B", Value: "2"})
		}},
		"envFrom": {Overlay{EnvFrom: []corev1.EnvFromSource{{Prefix: "P_", SecretRef: &corev1.SecretEnvSource{}}}},
			func(_ *corev1.Pod, c *corev1.Container) {
				c.EnvFrom = []corev1.EnvFromSource{{Prefix: "P_", SecretRef: &corev1.SecretEnvSource{}}}
			}},
		"hadoop and spark ConfigMaps": {Overlay{HadoopConfigMap: "h", SparkConfigMap: "s"},
			func(p *corev1.Pod, c *corev1.Container) {
				p.Spec.Volumes = append(p.Spec.Volumes, configMapVolume("hadoop-configmap-volume", "h"),
					configMapVolume("spark-configmap-volume", "s"))
				c.VolumeMounts = append(c.VolumeMounts,
					corev1.VolumeMount{Name: "hadoop-configmap-volume", MountPath: "/etc/hadoop/conf", ReadOnly: true},
					corev1.VolumeMount{Name: "spark-configmap-volume", MountPath: "/etc/spark/conf", ReadOnly: true})
				c.Env = append(c.Env, corev1.EnvVar{Name: "HADOOP_CONF_DIR", Value: "/etc/hadoop/conf"},
					corev1.EnvVar{Name: "SPARK_CONF_DIR", Value: "/etc/spark/conf"})
			}},
		"ConfigMaps": {Overlay{ConfigMaps: []ConfigMap{{Name: "one", Path: "/one"}, {Name: "one", Path: "/again"}}},
			func(p *corev1.Pod, c *corev1.Container) {
				p.Spec.Volumes = append(p.Spec.Volumes, configMapVolume("one-vol", "one"))
				c.VolumeMounts = append(c.VolumeMounts,
					corev1.VolumeMount{Name: "one-vol", MountPath: "/one", ReadOnly: true},
					corev1.VolumeMount{Name: "one-vol", MountPath: "/again", ReadOnly: true})
			}},
		"volumes and mounts": {Overlay{Volumes: []corev1.Volume{emptyDir},
			VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/tmp"}}},
			func(p *corev1.Pod, c *corev1.Container) {
				p.Spec.Volumes = append(p.Spec.Volumes, emptyDir)
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "scratch", MountPath: "/tmp"})
			}},
		"a volume that differs only by the API server's defaults": {Overlay{Volumes: []corev1.Volume{configMapVolume("conf", "cm")}}, func(*corev1.Pod, *corev1.Container) {}},
		"ports": {Overlay{Ports: []corev1.ContainerPort{{Name: "spark-ui", ContainerPort: 4040},
			{Name: "jmx", ContainerPort: 8090}, {ContainerPort: 53, Protocol: corev1.ProtocolUDP}}},
			func(_ *corev1.Pod, c *corev1.Container) {
				c.Ports = append(c.Ports, corev1.ContainerPort{Name: "jmx", ContainerPort: 8090,
					Protocol: corev1.ProtocolTCP},
					corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP})
			}},
		"host network": {Overlay{HostNetwork: true}, func(p *corev1.Pod, _ *corev1.Container) {
			p.Spec.HostNetwork, p.Spec.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
		}},
		"host aliases and DNS": {Overlay{HostAliases: []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"h"}}},
			DNSConfig: &corev1.PodDNSConfig{Searches: []string{"x"}}}, func(p *corev1.Pod, _ *corev1.Container) {
			p.Spec.HostAliases = []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"h"}}}
			p.Spec.DNSConfig = &corev1.PodDNSConfig{Searches: []string{"x"}}
		}},
		"init containers": {Overlay{InitContainers: []corev1.Container{{Name: "init", Image: "i:1"}}},
			func(p *corev1.Pod, _ *corev1.Container) {
				p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "i:1"}}
			}},
		"sidecars, one of which exists": {Overlay{Sidecars: []corev1.Container{{Name: "side", Image: "side:1",
			Args: []string{"x"}}, {Name: "more", Image: "m:1"}, {Name: "and", Image: "a:1"}}},
			func(p *corev1.Pod, _ *corev1.Container) {
				// The sidecars come before Spark's container, so that the last container is Spark's.
				p.Spec.Containers = slices.Insert(p.Spec.Containers, 1, corev1.Container{Name: "more", Image: "m:1"},
					corev1.Container{Name: "and", Image: "a:1"})
			}},
		"priority and scheduler": {Overlay{PriorityClassName: "high", SchedulerName: "volcano"},
			func(p *corev1.Pod, _ *corev1.Container) {
				p.Spec.PriorityClassName, p.Spec.SchedulerName = "high", "volcano"
			}},
		"node selector by key": {Overlay{NodeSelector: map[string]string{"zone": "b", "arch": "arm"}},
			func(p *corev1.Pod, _ *corev1.Container) {
				p.Spec.NodeSelector = map[string]string{"zone": "b", "disk": "ssd", "arch": "arm"}
			}},
		"affinity": {Overlay{Affinity: affinity},
			func(p *corev1.Pod, _ *corev1.Container) { p.Spec.Affinity = affinity.DeepCopy() }},
		"tolerations": {Overlay{Tolerations: []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists},
			{Key: "gpu"}}}, func(p *corev1.Pod, _ *corev1.Container) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "gpu"})
		}},
		"memory limit and GPU": {Overlay{MemoryLimit: new(resource.MustParse("2Gi")),
			GPU: GPU{Name: "nvidia.com/gpu", Quantity: 2}}, func(_ *corev1.Pod, c *corev1.Container) {
			c.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi"),
				"nvidia.com/gpu": resource.MustParse("2")}
		}},
		"GPU without name":     {Overlay{GPU: GPU{Quantity: 2}}, func(*corev1.Pod, *corev1.Container) {}},
		"GPU without quantity": {Overlay{GPU: GPU{Name: "nvidia.com/gpu"}}, func(*corev1.Pod, *corev1.Container) {}},
		"security contexts": {Overlay{SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(1))},
			PodSecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(2))}},
			func(p *corev1.Pod, c *corev1.Container) {
				c.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(1))}
				p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(2))}
			}},
		"grace period, lifecycle, termination message": {Overlay{TerminationGracePeriodSeconds: new(int64(7)),
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}, ShareProcessNamespace: true,
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError},
			func(p *corev1.Pod, c *corev1.Container) {
				p.Spec.TerminationGracePeriodSeconds = new(int64(7))
				c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}
				p.Spec.ShareProcessNamespace = new(true)
				c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
			}},
		"account, pull secrets, service links": {Overlay{ServiceAccountName: "sa",
			ImagePullSecrets: []corev1.LocalObjectReference{{Name: "s"}, {Name: "s"}}, EnableServiceLinks: new(false)},
			func(p *corev1.Pod, _ *corev1.Container) {
				p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount = "sa", "sa"
				p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}}
				p.Spec.EnableServiceLinks = new(false)
			}},
	}
}

func configMapVolume(volume, name string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
	}}}
}

func TestApply(t *testing.T) {
	for name, c := range changes() {
		t.Run(name, func(t *testing.T) {
			want := driver()
			spark := &want.Spec.Containers[1]
			c.want(want, spark)

			got := driver()
			if err := Apply(got, DriverContainer, c.overlay); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}

			if err := Apply(got, DriverContainer, c.overlay); err != nil {
				t.Fatalf("a second time: %v", err)
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("a second time changes the pod (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConflictsAreErrorsThatNameTheField(t *testing.T) {
	for _, c := range []struct {
		name    string
		overlay Overlay
		want    string
	}{
		{"another volume", Overlay{Volumes: []corev1.Volume{configMapVolume("conf", "other")}},
			`Volumes: the pod has another volume named "conf"`},
		{"another mount", Overlay{VolumeMounts: []corev1.VolumeMount{{Name: "x", MountPath: "/opt/spark/conf"}}},
			`VolumeMounts: volume "x" cannot be mounted at /opt/spark/conf`},
		{"another mount of a ConfigMap", Overlay{ConfigMaps: []ConfigMap{{Name: "x", Path: "/opt/spark/conf"}}},
			`ConfigMaps: volume "x-vol" cannot`},
		{"a port's name", Overlay{Ports: []corev1.ContainerPort{{Name: "spark-ui", ContainerPort: 1}}},
			`Ports: port name "spark-ui" is taken by port 4040`},
		{"a memory limit below the request", Overlay{MemoryLimit: new(resource.MustParse("512Mi"))},
			`MemoryLimit: 512Mi is below the memory that the container requests, 1Gi`},
		{"a sidecar's image", Overlay{Sidecars: []corev1.Container{{Name: "side", Image: "side:2"}}},
			`Sidecars: the pod has a container "side" with another image, "side:1"`},
		{"the Spark container as a sidecar", Overlay{Sidecars: []corev1.Container{{Name: DriverContainer, Image: "x"}}},
			`Sidecars: the pod has a container "spark-kubernetes-driver"`},
		{"an init container's image",
			Overlay{InitContainers: []corev1.Container{{Name: "i", Image: "1"}, {Name: "i", Image: "2"}}},
			`InitContainers: the pod has a container "i"`},
	} {
		err := Apply(driver(), DriverContainer, c.overlay)
		if _, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to begin with %q", c.name, err, c.want)
		}
	}

	if err := Apply(driver(), "none", Overlay{}); err == nil || !strings.Contains(err.Error(), `no container "none"`) {
		t.Errorf("a container that is not there: %v", err)
	}
}

// TestVariableWithDefaultsIsTheSame checks that a variable is not added again after an API server has filled in the
// defaults of its reference.
func TestVariableWithDefaultsIsTheSame(t *testing.T) {
	reference := func(from corev1.EnvVarSource) corev1.EnvVar { return corev1.EnvVar{Name: "R", ValueFrom: &from} }
	field := func(version, path string) corev1.EnvVar {
		return reference(corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: version,
			FieldPath: path}})
	}

	file := func(optional *bool) corev1.EnvVar {
		return reference(corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{Key: "k", Optional: optional}})
	}
	for name, c := range map[string]struct {
		have, want corev1.EnvVar
		same       bool
	}{
		"a field":                   {field("v1", "metadata.name"), field("", "metadata.name"), true},
		"another field":             {field("v1", "metadata.name"), field("", "metadata.uid"), false},
		"another version":           {field("v2", "metadata.name"), field("", "metadata.name"), false},
		"a file":                    {file(new(false)), file(nil), true},
		"another value of optional": {file(new(true)), file(nil), false},
		"a value":                   {corev1.EnvVar{Name: "R", Value: "x"}, field("", "metadata.name"), false},
	} {
		pod := driver()
		spark := &pod.Spec.Containers[1]
		spark.Env = append(spark.Env, c.have)

		before := len(spark.Env)
		if err := Apply(pod, DriverContainer, Overlay{Env: []corev1.EnvVar{c.want}}); err != nil {
			t.Fatal(err)
		}

		if got := len(pod.Spec.Containers[1].Env) == before; got != c.same {
			t.Errorf("%s: counts as the same: %v", name, got)
		}
	}
}

// TestDeviceRequestFollowsItsLimit checks a pod that already has a request of a device. If Apply changes the limit of
// the device, it must change this request too, because the API server accepts only equal amounts.
func TestDeviceRequestFollowsItsLimit(t *testing.T) {
	pod := driver()

	pod.Spec.Containers[1].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
	if err := Apply(pod, DriverContainer, Overlay{GPU: GPU{Name: "nvidia.com/gpu", Quantity: 2}}); err != nil {
		t.Fatal(err)
	}

	resources := pod.Spec.Containers[1].Resources
	if limit, request := resources.Limits["nvidia.com/gpu"], resources.Requests["nvidia.com/gpu"]; limit.Value() != 2 ||
		request.Value() != 2 {
		t.Errorf("limit %s, request %s, want 2", limit.String(), request.String())
	}
}

func TestPriorityOfAnotherClassIsCleared(t *testing.T) {
	pod := driver()
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = new(int32(0)), new(corev1.PreemptLowerPriority)

	o := Overlay{PriorityClassName: "high"}
	if err := Apply(pod, DriverContainer, o); err != nil {
		t.Fatal(err)
	}

	if pod.Spec.Priority != nil || pod.Spec.PreemptionPolicy != nil {
		t.Error("priority and preemption policy of the old class remain")
	}

	pod.Spec.Priority = new(int32(1000))
	if err := Apply(pod, DriverContainer, o); err != nil {
		t.Fatal(err)
	}

	if pod.Spec.Priority == nil {
		t.Error("the priority of the same class was removed")
	}
}

// TestApplySharesNothing checks that a pod shares no memory with the overlay, because the overlay belongs to the
// caller.
func TestApplySharesNothing(t *testing.T) {
	o := Overlay{
		Env: []corev1.EnvVar{{Name: "E",
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "a"}}}},
		Labels:             map[string]string{"l": "1"},
		Affinity:           &corev1.Affinity{},
		SecurityContext:    &corev1.SecurityContext{},
		PodSecurityContext: &corev1.PodSecurityContext{},
		EnableServiceLinks: new(false),
		Sidecars:           []corev1.Container{{Name: "s", Args: []string{"a"}}},
	}

	pod := driver()
	if err := Apply(pod, DriverContainer, o); err != nil {
		t.Fatal(err)
	}

	spark := &pod.Spec.Containers[2]
	spark.Env[2].ValueFrom.FieldRef.FieldPath = "b"
	pod.Labels["l"] = "2"
	pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	spark.SecurityContext.Privileged = new(true)
	pod.Spec.SecurityContext.FSGroup = new(int64(1))
	*pod.Spec.EnableServiceLinks = true

	pod.Spec.Containers[1].Args[0] = "b"
	if o.Env[0].ValueFrom.FieldRef.FieldPath != "a" || o.Labels["l"] != "1" || o.Affinity.NodeAffinity != nil ||
		o.SecurityContext.Privileged != nil ||
		o.PodSecurityContext.FSGroup != nil || *o.EnableServiceLinks || o.Sidecars[0].Args[0] != "a" {
		t.Errorf("the overlay changed with the pod: %+v", o)
	}
}

func TestConfigMapVolume(t *testing.T) {
	long := strings.Repeat("a", 59)
	for name, want := range map[string]string{"plain": "plain-vol", long: long + "-vol"} {
		if got := configMapVolumeName(name); got != want {
			t.Errorf("ConfigMapVolume(%q) = %q, want %q", name, got, want)
		}
	}

	for _, name := range []string{"with.dots", long + "b", "x." + long + ".y.z", "a." + strings.Repeat("b.", 100)} {
		got := configMapVolumeName(name)
		if errs := validation.IsDNS1123Label(got); len(errs) > 0 || !strings.HasSuffix(got, "-vol") {
			t.Errorf("ConfigMapVolume(%q) = %q cannot be the name of a volume: %v", name, got, errs)
		}
	}

	for _, two := range [][2]string{{"a.b", "a-b"}, {long + "b", long + "c"}} {
		if configMapVolumeName(two[0]) == configMapVolumeName(two[1]) {
			t.Errorf("%q and %q share the name of a volume", two[0], two[1])
		}
	}
}

func TestIsZero(t *testing.T) {
	if !(Overlay{}).IsZero() {
		t.Error("the zero value is not zero")
	}

	if (Overlay{GPU: GPU{Quantity: 1}}).IsZero() || (Overlay{HostNetwork: true}).IsZero() {
		t.Error("an overlay with a field is zero")
	}
}
