package doctor

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/doctor/findings"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
	"github.com/sparkoperator/spark-operator/internal/kinds"
)

// checkOperators checks that this project's operators are healthy.
func (d *doctor) checkOperators(ctx context.Context) {
	ours, others := 0, []string{}
	for i := range d.operators {
		o := &d.operators[i]
		if o.Other {
			others = append(others, o.String())
		} else {
			ours++
		}

		switch {
		case !o.examined:
			d.Add(findings.Note, "operator", "", "%s does not serve the namespace %s and was not examined; use -A to examine all", o, d.namespace)
		case o.Wanted == 0 && o.Other:
			d.Add(findings.Note, "operator", scale(o), "%s is scaled to 0 replicas", o)
		case o.Wanted == 0:
			d.Add(findings.Error, "operator", scale(o), "%s is scaled to 0 replicas, so nothing happens in its namespaces", o)
		}

		if !o.examined || o.Wanted == 0 || o.Other {
			continue
		}

		switch {
		case o.Ready == 0:
			d.Add(findings.Error, "operator", logs(o), "%s: no replica of version %s is ready", o, o.Version)
		case o.Ready < o.Wanted:
			d.Add(findings.Warning, "operator", terminal.Commandf("kubectl -n %s describe deployment %s", o.Namespace, o.Name), "%s: %d of %d replicas are ready", o, o.Ready, o.Wanted)
		default:
			d.Add(findings.OK, "operator", "", "%s: version %s, %d of %d replicas are ready", o, o.Version, o.Ready, o.Wanted)
		}

		d.checkLeader(ctx, o)
		d.checkNamespaces(ctx, o)
	}

	switch {
	case ours == 0 && len(others) > 0: // an installation beside it could serve the same namespaces
		d.Add(findings.Error, "operator", listOperators, "no operator of this project is installed, only %s; docs/migrate-kubeflow.md describes the change from one to the other",
			strings.Join(others, ", "))
	case ours == 0:
		d.Add(findings.Error, "operator", terminal.Commandf("helm upgrade --install spark-operator charts/spark-operator -n spark-operator --create-namespace --set %s",
			"spark.jobNamespaces={"+d.namespace+"}"), "no operator is installed: no Deployment has the labels %s", operatorLabels)
	}
}

// scale returns the command that starts an operator again.
func scale(o *Operator) terminal.Command {
	return terminal.Commandf("kubectl -n %s scale deployment %s --replicas=1", o.Namespace, o.Name)
}

// leases is a number of lease durations. If the lease was not renewed for longer than that, checkLeader reports that no
// replica leads.
const leases = 2

// lease returns the namespace and the name of the lease of an operator's leader. If the configuration is unknown, they
// are those of the chart.
func (o *Operator) lease() (namespace, name string) {
	if o.config == nil {
		return o.Namespace, o.Name + "-lock"
	}

	election := o.config.LeaderElection
	return cmp.Or(election.Namespace, o.Namespace), cmp.Or(election.LeaseName, o.Name+"-lock")
}

// checkLeader checks that a replica holds the operator's lease. Without leader election, an operator has no lease.
func (d *doctor) checkLeader(ctx context.Context, o *Operator) {
	place, name := o.lease()

	var lease coordinationv1.Lease
	switch err := d.Get(ctx, client.ObjectKey{Namespace: place, Name: name}, &lease); {
	case apierrors.IsNotFound(err) && o.config != nil && isOn(o.config.LeaderElection.Enabled) && o.Ready > 0:
		d.Add(findings.Error, "leader", logs(o), "no replica of %s leads: the lease %s/%s does not exist", o, place, name)
		return
	case apierrors.IsNotFound(err):
		return
	case err != nil:
		d.unchecked("leader", d.Explain(err))
		return
	}

	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		d.Add(findings.Error, "leader", terminal.Commandf("kubectl -n %s get lease %s -o yaml", place, name), "no replica of %s holds the lease of the leader", o)
		return
	}

	if age := time.Since(spec.RenewTime.Time); age > leases*time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		d.Add(findings.Error, "leader", terminal.Commandf("kubectl -n %s rollout restart deployment %s", o.Namespace, o.Name),
			"the leader of %s, %s, has not renewed its lease for %s", o, *spec.HolderIdentity, age.Round(time.Second))
		return
	}

	d.Add(findings.OK, "leader", "", "%s leads", *spec.HolderIdentity)
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
	owner := ""

	var missing []*kinds.Kind
	for _, kind := range kinds.All {
		var found definition
		switch err := d.readInto(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+kind.FullName(), &found); {
		case apierrors.IsNotFound(err):
			missing = append(missing, kind)
		case err != nil:
			d.unchecked("definitions", d.Explain(err))
			return
		default:
			owner = found.owner()
			d.checkDefinition(kind, &found)
		}
	}

	for _, kind := range missing { // if a release owns the others, it should own these too
		d.reportMissing(kind, owner)
	}
}

// reportMissing reports that the definition of a kind is not installed. It is not needed if the operators do not serve
// the kind, as after a move from the kubeflow operator, whose users keep the names of their API.
func (d *doctor) reportMissing(kind *kinds.Kind, owner string) {
	if value := d.servedByNone(kind); value != "" {
		d.Add(findings.Note, "definitions", "", "%s is not installed, and no examined operator serves it (%s is false)", kind.FullName(), value)
		return
	}

	d.Add(findings.Error, "definitions", d.define(kind, owner), "%s is not installed", kind.FullName())
}

// servedByNone returns the chart's value by which the examined operators do not serve a kind. The value is empty if one
// of them serves the kind or has an unknown configuration, or if there is no such operator.
func (d *doctor) servedByNone(kind *kinds.Kind) (value string) {
	for i := range d.operators {
		o := &d.operators[i]
		if o.Other || !o.examined {
			continue
		}

		if o.config == nil {
			return ""
		}

		if value = switchedOff(o.config, kind); value == "" {
			return ""
		}
	}
	return value
}

// owner returns the release to which Helm's annotations assign a definition, as NAMESPACE/NAME, or an empty string.
func (c *definition) owner() string {
	return strings.Trim(c.Metadata.Annotations["meta.helm.sh/release-namespace"]+"/"+c.Metadata.Annotations["meta.helm.sh/release-name"], "/")
}

// define returns the command that installs or updates a definition. If a release owns it, only this release may change
// it; if that is not the user's, the command shows the owner. The command also names the value of the kind's group,
// because a release may leave out the definitions of a group.
func (d *doctor) define(kind *kinds.Kind, owner string) terminal.Command {
	switch o := d.own(); {
	case o != nil && owner == o.Namespace+"/"+o.Release:
		family := "crds.sparkoperator.enable"
		if kind.Group == apacheGroup {
			family = "crds.apache.enable"
		}
		return upgrade(o, "crds.install=true,"+family+"=true")
	case owner != "":
		return terminal.Commandf("kubectl get crd -L app.kubernetes.io/instance %s", kind.FullName())
	}
	return terminal.Commandf("kubectl apply --server-side --force-conflicts -f charts/spark-operator/files/crds/%s_%s.yaml", kind.Group, kind.Resource)
}

func (d *doctor) checkDefinition(kind *kinds.Kind, found *definition) {
	name, owner := found.Metadata.Name, cmp.Or(found.owner(), "no release")
	for _, condition := range found.Status.Conditions {
		if condition.Type == "Established" && condition.Status != metav1.ConditionTrue {
			d.Add(findings.Error, "definitions", terminal.Commandf("kubectl describe crd %s", name), "%s is not served: %s", name, condition.Message)
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
		d.Add(findings.Error, "definitions", d.define(kind, found.owner()), "%s, which belongs to %s, does not serve the version %s, only %v", name, owner, kind.Version, served)
	case !remembersRestarts(kind, found.Spec.Versions[at].Schema.OpenAPIV3Schema):
		d.Add(findings.Warning, "definitions", d.define(kind, found.owner()),
			"%s, which belongs to %s, is older than this program: it has no field for restart requests, so an operator with this program's version would not start", name, owner)
	default:
		d.Add(findings.OK, "definitions", "", "%s serves %v", name, served)
	}
}

// remembersRestarts reports whether a CustomResourceDefinition has status.operator.restartRequest, the newest field
// that the operator needs. The definition of schedules does not need it.
func remembersRestarts(kind *kinds.Kind, schema field) bool {
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
