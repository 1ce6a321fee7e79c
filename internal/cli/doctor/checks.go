package doctor

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/sparkoperator/spark-operator/internal/cli/cluster"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// checkOperators checks that this project's operators are healthy, and that no two operators serve the same API group.
func (d *doctor) checkOperators(ctx context.Context) {
	served := map[string]*Operator{}
	for i := range d.operators {
		o := &d.operators[i]
		if o.Wanted == 0 {
			d.add(Note, "operator", terminal.Commandf("kubectl -n %s scale deployment %s --replicas=1", o.Namespace, o.Name), "%s is scaled to 0 replicas", o)
			continue
		}
		for _, group := range o.Groups {
			if before := served[group]; before != nil {
				d.add(Warning, "operator", terminal.Commandf("kubectl -n %s scale deployment %s --replicas=0", o.Namespace, o.Name),
					"%s (%s) and %s (%s) both serve %s; two operators must not serve the same namespaces", before, before.Image, o, o.Image, group)
			}
			served[group] = o
		}
		if o.Other {
			continue
		}
		switch {
		case o.Ready == 0:
			d.add(Error, "operator", terminal.Commandf("kubectl -n %s logs deployment/%s --tail=20", o.Namespace, o.Name), "%s: no replica of version %s is ready", o, o.Version)
		case o.Ready < o.Wanted:
			d.add(Warning, "operator", terminal.Commandf("kubectl -n %s describe deployment %s", o.Namespace, o.Name), "%s: %d of %d replicas are ready", o, o.Ready, o.Wanted)
		default:
			d.add(OK, "operator", "", "%s: version %s, %d of %d replicas are ready", o, o.Version, o.Ready, o.Wanted)
		}
		d.checkLeader(ctx, o)
		d.checkNamespaces(ctx, o)
	}
	if d.own() == nil {
		d.add(Error, "operator", d.upgrade("webhook.enable=true"), "no operator is installed: no Deployment has the labels %s", operatorLabels)
	}
}

// leases is a number of lease durations. If the lease was not renewed for longer than that, checkLeader reports that no
// replica leads.
const leases = 2

// checkLeader checks that a replica holds the operator's lease. Without leader election, an operator has no lease.
func (d *doctor) checkLeader(ctx context.Context, o *Operator) {
	coordination, err := typedcoordinationv1.NewForConfig(d.Config())
	if err != nil {
		d.unchecked("leader", err)
		return
	}
	lease, err := coordination.Leases(o.Namespace).Get(ctx, o.Name+"-lock", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		d.unchecked("leader", d.Explain(err))
		return
	}
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		d.add(Error, "leader", terminal.Commandf("kubectl -n %s get lease %s -o yaml", o.Namespace, lease.Name), "no replica of %s holds the lease of the leader", o)
		return
	}
	if age := time.Since(spec.RenewTime.Time); age > leases*time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		d.add(Error, "leader", terminal.Commandf("kubectl -n %s rollout restart deployment %s", o.Namespace, o.Name),
			"the leader of %s, %s, has not renewed its lease for %s", o, *spec.HolderIdentity, age.Round(time.Second))
		return
	}
	d.add(OK, "leader", "", "%s leads", *spec.HolderIdentity)
}

// definition contains the fields of a CustomResourceDefinition that doctor reads. The official Go types are not used,
// because their library would make the program larger by a megabyte.
type definition struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Versions []version `json:"versions"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// version is a version of a CustomResourceDefinition.
type version struct {
	Name   string `json:"name"`
	Served bool   `json:"served"`
	Schema struct {
		OpenAPIV3Schema field `json:"openAPIV3Schema"`
	} `json:"schema"`
}

// field is a field in the schema of a CustomResourceDefinition.
type field struct {
	Properties map[string]field `json:"properties"`
}

// checkDefinitions checks that the CustomResourceDefinitions of the five kinds are installed and served, and that they
// are as new as this program.
func (d *doctor) checkDefinitions(ctx context.Context) {
	for i := range cluster.Kinds {
		kind := &cluster.Kinds[i]
		text, err := d.Raw(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+kind.FullName())
		var found definition
		if err == nil {
			err = utiljson.Unmarshal(text, &found)
		}
		switch {
		case apierrors.IsNotFound(err):
			d.add(Error, "definitions", d.upgrade("crds.install=true"), "%s is not installed", kind.FullName())
		case err != nil:
			d.unchecked("definitions", d.Explain(err))
			return
		default:
			d.checkDefinition(kind, &found)
		}
	}
}

func (d *doctor) checkDefinition(kind *cluster.Kind, found *definition) {
	name := found.Metadata.Name
	for _, condition := range found.Status.Conditions {
		if condition.Type == "Established" && condition.Status != metav1.ConditionTrue {
			d.add(Error, "definitions", terminal.Commandf("kubectl describe crd %s", name), "%s is not served: %s", name, condition.Message)
			return
		}
	}
	at := slices.IndexFunc(found.Spec.Versions, func(v version) bool { return v.Name == kind.Version })
	var served []string
	for _, v := range found.Spec.Versions {
		if v.Served {
			served = append(served, v.Name)
		}
	}
	switch {
	case at < 0 || !found.Spec.Versions[at].Served:
		d.add(Error, "definitions", d.upgrade("crds.install=true"), "%s does not serve the version %s, only %v", name, kind.Version, served)
	case !remembersRestarts(kind, found.Spec.Versions[at].Schema.OpenAPIV3Schema):
		d.add(Warning, "definitions", d.upgrade("crds.install=true"),
			"%s is older than this program: it has no field for restart requests, so an operator with this program's version would not start", name)
	default:
		d.add(OK, "definitions", "", "%s serves %v", name, served)
	}
}

// remembersRestarts reports whether a CustomResourceDefinition has status.operator.restartRequest, the newest field
// that the operator needs. The definition of schedules does not need it.
func remembersRestarts(kind *cluster.Kind, schema field) bool {
	if kind.Kind == "ScheduledSparkApplication" {
		return true
	}
	for _, name := range []string{"status", "operator", "restartRequest"} {
		next, found := schema.Properties[name]
		if !found {
			return false
		}
		schema = next
	}
	return true
}
