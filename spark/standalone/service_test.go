package standalone

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestServices(t *testing.T) {
	o := build(t, simple())

	port := func(name string, number int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP,
			TargetPort: intstr.FromString(name)}
	}
	for _, c := range []struct {
		service *corev1.Service
		want    corev1.ServiceSpec
	}{
		{o.MasterService, corev1.ServiceSpec{
			Type: "ClusterIP", ClusterIP: "None",
			Selector: map[string]string{LabelClusterName: "qa", LabelRole: "master"}, PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{port("web", 8080), port("spark", 7077), port("rest", 6066)},
		}},
		{o.WorkerService, corev1.ServiceSpec{
			Type: "ClusterIP", ClusterIP: "None",
			Selector: map[string]string{LabelClusterName: "qa", LabelRole: "worker"},
			Ports:    []corev1.ServicePort{port("web", 8081)},
		}},
	} {
		if diff := cmp.Diff(c.want, c.service.Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.service.Name, diff)
		}
	}
}

// TestServicesLeadToDaemons checks that each port of a Service leads to the container's port of that name, and that the
// Service's selector matches the pods.
func TestServicesLeadToDaemons(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"default": counts(1, 1, 1), "moved": with(masterUIKey, "9090", workerUIKey, "9091", restKey, "9092"),
		"ports in the template": masterTemplate(`{"template":{"spec":{"containers":[{"name":"master","ports":[{"name":"spark","containerPort":7077}]}]}}}`),
	} {
		o := build(t, simple(change))
		for _, s := range []struct {
			service *corev1.Service
			pod     corev1.PodTemplateSpec
			main    *corev1.Container
		}{{o.MasterService, o.Master.Spec.Template, container(t, o.Master, RoleMaster)},
			{o.WorkerService, o.Workers.Spec.Template, container(t, o.Workers, RoleWorker)}} {
			for _, p := range s.service.Spec.Ports {
				if !slices.ContainsFunc(s.main.Ports,
					func(c corev1.ContainerPort) bool { return c.Name == p.TargetPort.StrVal }) {
					t.Errorf("%s: port %s of %s leads nowhere", name, p.Name, s.service.Name)
				}
			}

			for key, value := range s.service.Spec.Selector {
				if s.pod.Labels[key] != value {
					t.Errorf("%s: %s selects %s=%s, and its pods have %q", name, s.service.Name, key, value,
						s.pod.Labels[key])
				}
			}
		}
	}
}

func TestServiceTemplates(t *testing.T) {
	for spec, c := range map[string]struct {
		ports    []string
		selector map[string]string
		warns    string
	}{
		``:                     {[]string{"web 8081 web"}, nil, ""},
		`{"type":"ClusterIP"}`: {[]string{"web 8081 web"}, nil, ""},
		`{"clusterIP":"None"}`: {[]string{"web 8081 web"}, nil, ""},
		`{"clusterIP":"1.2.3.4","clusterIPs":["1.2.3.4"]}`: {[]string{"web 8081 web"}, nil,
			"Workers.Service: clusterIP has no effect"},
		`{"selector":{"a":"b","spark-role":"mine"}}`: {[]string{"web 8081 web"},
			map[string]string{"a": "b"}, ""},
		`{"ports":[{"port":9}]}`:                                  {[]string{"tcp-9 9 0", "web 8081 web"}, nil, ""},
		`{"ports":[{"name":"metrics","port":9,"targetPort":10}]}`: {[]string{"metrics 9 10", "web 8081 web"}, nil, ""},
		`{"ports":[{"name":"web","port":80,"targetPort":8081}]}`:  {[]string{"web 80 8081"}, nil, ""},
		`{"ports":[{"name":"ui","port":8081}]}`:                   {[]string{"ui 8081 0"}, nil, ""},
		`{"ports":[{"port":8081,"protocol":"UDP"}]}`: {[]string{"udp-8081 8081 0", "web 8081 web"},
			nil, ""},
	} {
		o := build(t, simple(counts(1, 1, 1), func(r *Request) { r.Workers.Service = []byte(spec) }))

		var ports []string
		for _, p := range o.WorkerService.Spec.Ports {
			ports = append(ports, strings.Join([]string{p.Name, new(intstr.FromInt32(p.Port)).String(),
				p.TargetPort.String()}, " "))
		}

		if diff := cmp.Diff(c.ports, ports); diff != "" {
			t.Errorf("%s: ports (-want +got):\n%s", spec, diff)
		}

		want := map[string]string{LabelClusterName: "qa", LabelRole: "worker"}
		maps.Copy(want, c.selector)

		if diff := cmp.Diff(want, o.WorkerService.Spec.Selector); diff != "" {
			t.Errorf("%s: selector (-want +got):\n%s", spec, diff)
		}

		if o.WorkerService.Spec.ClusterIP != "None" || o.WorkerService.Spec.ClusterIPs != nil {
			t.Errorf("%s: the Service has an address", spec)
		}

		if got := strings.Join(warningTexts(o), "\n"); !strings.HasPrefix(got, c.warns) || c.warns == "" && got != "" {
			t.Errorf("%s: warnings are %q", spec, got)
		}
	}
}

func TestServiceTypesRejected(t *testing.T) {
	for _, kind := range []string{"NodePort", "LoadBalancer", "ExternalName", "Future"} {
		_, err := Build(simple(func(r *Request) { r.Master.Service = []byte(`{"type":"` + kind + `"}`) }))
		if err == nil || !strings.Contains(err.Error(), "Master.Service.type: "+kind+" is not possible") ||
			!strings.Contains(err.Error(), "spark.operator/spark-cluster-name=qa and spark-role=master") {
			t.Errorf("%s: the error is %v", kind, err)
		}
	}
}

func TestMetadata(t *testing.T) {
	o := build(t, simple(counts(1, 1, 1), func(r *Request) {
		r.Master.ServiceMeta = Metadata{Name: "other", Namespace: "elsewhere",
			Labels:      map[string]string{"a": "b", "uid": "mine", LabelRole: "mine"},
			Annotations: map[string]string{"c": "d"}}
		r.Workers.StatefulSetMeta = Metadata{Name: "qa-worker", Namespace: "spark", Labels: map[string]string{"e": "f"}}
		r.Master.Service = []byte(`{"future":1}`)
	}))
	if diff := cmp.Diff([]string{
		"Master.ServiceMeta: name has no effect: the object has the name \"qa-master-svc\", by which other objects find it",
		"Master.ServiceMeta: namespace has no effect: the object is in the cluster's namespace",
	}, warningTexts(o)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	s := o.MasterService
	if s.Name != "qa-master-svc" || s.Namespace != "spark" || s.Labels["a"] != "b" || s.Labels["uid"] != "u1" ||
		s.Labels[LabelRole] != "master" || s.Annotations["c"] != "d" {
		t.Errorf("the Service's metadata is %v", s.ObjectMeta)
	}

	if o.Workers.Labels["e"] != "f" || o.Workers.Spec.Template.Labels["e"] != "" {
		t.Errorf("labels of the StatefulSet are %v, of its pods %v", o.Workers.Labels, o.Workers.Spec.Template.Labels)
	}

	all, err := o.All()
	if err != nil {
		t.Fatal(err)
	}

	kept := slices.ContainsFunc(all, func(o Object) bool {
		tree, ok := o.(*unstructured.Unstructured)
		if !ok {
			return false
		}

		future, _, _ := unstructured.NestedInt64(tree.Object, "spec", "future")
		return tree.GetName() == "qa-master-svc" && future == 1 && tree.GetLabels()["a"] == "b"
	})
	if !kept {
		t.Error("a field of the Service that no type knows is lost")
	}
}
