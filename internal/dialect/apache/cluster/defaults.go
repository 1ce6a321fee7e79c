package cluster

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/spark/standalone"
)

// settings returns the platform's defaults with which the objects of a cluster are rendered. These are the present
// defaults if the cluster is new, if its spec was edited and not all objects match the edit yet, or if the cluster
// failed and starts again. In all other cases these are the defaults that the status stores, so that a change of the
// defaults does not replace the pods of a running cluster. A cluster is taken over from another operator without any
// defaults.
func (c Clusters) settings(sc *sparkv1.SparkCluster) *platform.Settings {
	o := sc.Status.Operator
	switch {
	case o == nil && sc.Status.CurrentState != nil:
		return nil // another operator created the cluster
	case o != nil && o.Generation == sc.Generation && (o.BegunAt != nil || o.Adopted):
		return platform.Recall(o.Defaults)
	}
	return c.Defaults.WithoutSecrets()
}

// withDefaults returns a copy of a cluster with the platform's defaults in its spec. If there are no defaults, the
// result merged is the argument sc itself.
func withDefaults(sc *sparkv1.SparkCluster, s *platform.Settings) (merged *sparkv1.SparkCluster, used launch.Defaults) {
	if s == nil {
		return sc, launch.Defaults{}
	}

	used.Settings, used.Own = s, sc.Spec.SparkConf
	out := *sc
	spec, own := &out.Spec, sc.Spec.SparkConf
	spec.SparkConf = s.Conf(own, nil)

	master, worker := sparkv1.MasterSpec{}, sparkv1.WorkerSpec{}
	if spec.MasterSpec != nil {
		master = *spec.MasterSpec
	}

	if spec.WorkerSpec != nil {
		worker = *spec.WorkerSpec
	}

	spec.MasterSpec, spec.WorkerSpec = &master, &worker
	for _, role := range []struct {
		name, container string
		member          *sparkv1.MemberSpec
	}{
		{platform.Driver, standalone.RoleMaster, &master.MemberSpec},
		{platform.Executor, standalone.RoleWorker, &worker.MemberSpec},
	} {
		image, setting := s.Image(spec.RuntimeVersions.SparkVersion)
		if own[platform.ImageKey] != "" {
			image = ""
		}

		used.Filled = append(used.Filled, fillMember(role.member, s, role.name, platform.Container{Name: role.container, Alone: true, Image: image, ImageSetting: setting})...)
	}
	return &out, used
}

// fillMember adds the defaults to the pod template of a StatefulSet, and returns the names of those that it used. If
// the StatefulSet or its template is not a JSON object, fillMember changes nothing.
func fillMember(member *sparkv1.MemberSpec, s *platform.Settings, role string, container platform.Container) []string {
	tree := map[string]any{}
	if raw := dialect.RawBytes(member.StatefulSetSpec); len(raw) > 0 && utiljson.Unmarshal(raw, &tree) != nil {
		return nil // ValidateCluster reports the fault
	}

	template, isMap := tree["template"].(map[string]any)
	if tree["template"] != nil && !isMap {
		return nil // ValidateCluster reports the fault
	}

	if template == nil {
		template = map[string]any{}
	}

	used := s.FillTree(template, role, container, platform.Taken{})
	if len(used) == 0 {
		return nil
	}

	if tree == nil { // the JSON text is null
		tree = map[string]any{}
	}

	tree["template"] = template

	text, err := json.Marshal(tree)
	if err != nil {
		return nil // unreachable: the tree comes from JSON
	}

	member.StatefulSetSpec = &runtime.RawExtension{Raw: text}
	return used
}
