package cluster

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect/launch"
	"github.com/sparkoperator/spark-operator/internal/dialect/platform"
	"github.com/sparkoperator/spark-operator/internal/dialect/rawtemplate"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
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
	case o != nil && started(lifecycle.Phase(o.Phase)):
		return c.Defaults.WithoutSecrets().Placed(platform.Recall(o.Defaults).Placements())
	}
	return c.Defaults.WithoutSecrets()
}

// started reports whether the pods of a cluster in the given phase keep what a queue has added to them.
func started(phase lifecycle.Phase) bool {
	return phase == lifecycle.Launched || phase == lifecycle.Started || phase == lifecycle.Running
}

// conflict returns the fault of a spec that contradicts what a queue adds to the pods; nil if there is none.
func (c Clusters) conflict(sc *sparkv1.SparkCluster) error {
	settings := c.settings(sc)
	if len(settings.Placements()) == 0 {
		return nil // the common case, in which no template is read
	}

	var members [2]*sparkv1.MemberSpec
	if sc.Spec.MasterSpec != nil {
		members[0] = &sc.Spec.MasterSpec.MemberSpec
	}

	if sc.Spec.WorkerSpec != nil {
		members[1] = &sc.Spec.WorkerSpec.MemberSpec
	}

	for i, role := range []string{platform.Driver, platform.Executor} {
		var set struct {
			Template json.RawMessage `json:"template"`
		}
		if members[i] == nil || utiljson.Unmarshal(rawtemplate.Bytes(members[i].StatefulSetSpec), &set) != nil {
			continue
		}

		field := []string{clusterFields["Master.StatefulSet"], clusterFields["Workers.StatefulSet"]}[i]
		if wrong := launch.Conflict(settings, role, set.Template, field+".template", nil); wrong != nil {
			return wrong
		}
	}
	return nil
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
	if raw := rawtemplate.Bytes(member.StatefulSetSpec); len(raw) > 0 && utiljson.Unmarshal(raw, &tree) != nil {
		return nil // validateCluster reports the fault
	}

	template, isMap := tree["template"].(map[string]any)
	if tree["template"] != nil && !isMap {
		return nil // validateCluster reports the fault
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
