package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/sparkoperator/spark-operator/local/internal/kubeapi"
)

// The users of sparklocal's own components. The built-in roles of the API server do not cover these components.
const (
	dnsUser       = "sparklocal:coredns"
	localPathUser = "sparklocal:local-path-provisioner"
	// provisioner is the name in the StorageClass that assigns claims to the local-path provisioner.
	provisioner = "sparkoperator.dev/local-path"
)

type object map[string]any

// rule returns one rule of a ClusterRole.
func rule(group string, resources, verbs []string) object {
	return object{"apiGroups": []string{group}, "resources": resources, "verbs": verbs}
}

// role returns a ClusterRole and the ClusterRoleBinding that binds it to a user. Both have the user's name.
func role(user string, rules ...object) []bootstrapObject {
	const api, group = "/apis/rbac.authorization.k8s.io/v1/", "rbac.authorization.k8s.io"
	meta := object{"name": user}
	return []bootstrapObject{
		{api + "clusterroles", object{"apiVersion": group + "/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules}},
		{api + "clusterrolebindings", object{
			"apiVersion": group + "/v1", "kind": "ClusterRoleBinding", "metadata": meta,
			"roleRef":  object{"apiGroup": group, "kind": "ClusterRole", "name": user},
			"subjects": []object{{"apiGroup": group, "kind": "User", "name": user}},
		}},
	}
}

// bootstrapObject is an object together with the path of the collection in which it is created.
type bootstrapObject struct {
	path   string
	object object
}

// cpuPolicy returns a policy that replaces the number of CPUs in each status that the kubelet writes. The kubelet
// itself cannot report more CPUs than the machine has. It admits pods by the number in the API server.
func cpuPolicy(cpus int) []bootstrapObject {
	const api, group, name = "/apis/admissionregistration.k8s.io/v1/", "admissionregistration.k8s.io", "sparklocal-cpus"

	var patches []string
	for _, field := range []string{"capacity", "allocatable"} {
		patches = append(patches, fmt.Sprintf(`JSONPatch{op: "add", path: "/status/%s/cpu", value: "%d"}`, field, cpus))
	}
	return []bootstrapObject{
		{api + "mutatingadmissionpolicies", object{
			"apiVersion": group + "/v1", "kind": "MutatingAdmissionPolicy", "metadata": object{"name": name},
			"spec": object{
				"failurePolicy": "Fail", "reinvocationPolicy": "Never",
				"matchConstraints": object{"resourceRules": []object{{
					"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE", "UPDATE"}, "resources": []string{"nodes", "nodes/status"},
				}}},
				"matchConditions": []object{{"name": "capacity", "expression": "has(object.status) && has(object.status.capacity) && has(object.status.allocatable)"}},
				"mutations":       []object{{"patchType": "JSONPatch", "jsonPatch": object{"expression": "[" + strings.Join(patches, ", ") + "]"}}},
			},
		}},
		{api + "mutatingadmissionpolicybindings", object{
			"apiVersion": group + "/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": object{"name": name}, "spec": object{"policyName": name},
		}},
	}
}

// bootstrapObjects returns the objects of a new cluster that Kubernetes itself does not create: the permissions of
// CoreDNS and the provisioner, the default StorageClass, and the policy of cpuPolicy unless cpus is 0.
func bootstrapObjects(cpus int) []bootstrapObject {
	read := []string{"get", "list", "watch"}
	objects := role(dnsUser,
		rule("", []string{"services", "pods", "namespaces", "endpoints"}, []string{"list", "watch"}),
		rule("discovery.k8s.io", []string{"endpointslices"}, []string{"list", "watch"}),
	)

	objects = append(objects, role(localPathUser,
		rule("", []string{"persistentvolumes"}, append(read, "create", "delete")),
		rule("", []string{"persistentvolumeclaims"}, read),
		rule("", []string{"events"}, []string{"create", "patch"}),
		rule("storage.k8s.io", []string{"storageclasses"}, read),
	)...)
	if cpus > 0 {
		objects = append(objects, cpuPolicy(cpus)...)
	}
	return append(objects, bootstrapObject{"/apis/storage.k8s.io/v1/storageclasses", object{
		"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
		"metadata": object{
			"name":        DefaultStorageClass,
			"annotations": object{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		"provisioner":       provisioner,
		"reclaimPolicy":     "Delete",
		"volumeBindingMode": "WaitForFirstConsumer",
	}})
}

// bootstrap creates the first objects of the cluster and waits until the policy of cpuPolicy is in force.
func (r *runner) bootstrap(ctx context.Context) error {
	admin, err := r.Admin()
	if err != nil {
		return err
	}
	defer admin.Close()

	for _, p := range bootstrapObjects(r.Node.CPUs) {
		if err := admin.Create(ctx, p.path, p.object); err != nil {
			return fmt.Errorf("create the first objects of the cluster at %s: %w", p.path, err)
		}
	}

	if r.Node.CPUs == 0 {
		return nil
	}
	return awaitCPUs(ctx, admin, r.Node.CPUs)
}

// awaitCPUs waits until the API server applies the policy of cpuPolicy. The API server reads new policies only once a
// second, while a kubelet can register its Node and write that it is ready in less time. It would not write the status
// again within minutes, so the Node would keep the CPUs of the machine.
func awaitCPUs(ctx context.Context, admin *kubeapi.Client, cpus int) error {
	const path = "/api/v1/nodes"

	small := object{"cpu": "1"}
	probe := object{
		"apiVersion": "v1", "kind": "Node", "metadata": object{"name": "sparklocal-cpus"},
		"status": object{"capacity": small, "allocatable": small},
	}
	return poll(ctx, "the API server does not apply the policy for the number of CPUs", func() error {
		var node nodeObject
		if err := admin.DryRun(ctx, path, probe, &node); err != nil {
			return err
		}
		return node.hasCPUs(cpus)
	})
}
