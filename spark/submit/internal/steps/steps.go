// Package steps has Spark's driver feature steps (org.apache.spark.deploy.k8s.features), one file for each, under
// Spark's names. Run runs them over a draft in Spark's order. A few steps also serve executors and runners; they read
// the role from the draft.
package steps

import (
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
)

// step is one of Spark's driver feature steps.
type step struct {
	// name is the class name in org.apache.spark.deploy.k8s.features.
	name string
	// optional is true if users can exclude the step with spark.kubernetes.driver.pod.excludedFeatureSteps. The pod
	// cannot run without the steps that are not optional.
	optional bool
	apply    func(*draft.Draft) error
}

// steps are Spark's driver feature steps, in Spark's order (KubernetesDriverBuilder.buildFromFeatures).
var steps = []step{
	{"BasicDriverFeatureStep", false, basicStep},
	{"DriverKubernetesCredentialsFeatureStep", false, credentialsStep},
	{"DriverServiceFeatureStep", false, serviceStep},
	{"NetworkPolicyFeatureStep", true, networkPolicyStep},
	{"MountSecretsFeatureStep", true, MountSecrets},
	{"EnvSecretsFeatureStep", true, EnvSecrets},
	{"MountVolumesFeatureStep", true, mountVolumesStep},
	{"DriverCommandFeatureStep", false, commandStep},
	{"HadoopConfDriverFeatureStep", true, hadoopConfStep},
	{"KerberosConfDriverFeatureStep", true, kerberosConfStep},
	{"PodTemplateConfigMapStep", false, podTemplateStep},
	{"LocalDirsFeatureStep", true, LocalDirs},
	{"VolcanoFeatureStep", true, volcanoStep},
}

// Run returns a draft of r after all steps.
func Run(r *submit.Request) (*draft.Draft, error) {
	d, err := draft.New(r)
	if err != nil {
		return nil, err
	}

	excluded, err := ExcludedSteps(d)
	if err != nil {
		return nil, err
	}

	for _, s := range steps {
		if slices.Contains(excluded, s.name) {
			continue
		}

		if err := s.apply(d); err != nil {
			return nil, submit.AsError(err)
		}
	}
	return d, nil
}

// ExcludedSteps returns the names of the steps that the user excludes.
func ExcludedSteps(d *draft.Draft) ([]string, error) {
	const key = "spark.kubernetes.driver.pod.excludedFeatureSteps"

	classes, err := d.Conf.List(key, nil)
	if err != nil || len(classes) == 0 {
		return nil, submit.AsError(err)
	}

	if err := d.RequireKnown(key); err != nil {
		return nil, err
	}

	if !d.Line.ExcludedSteps && !d.Request.Bound {
		d.Warn("%s: has no effect in Spark %s", key, d.Line)
		return nil, nil
	}

	var names []string
	for _, class := range classes {
		name, ours := strings.CutPrefix(class, draft.FeaturePackage)

		i := slices.IndexFunc(steps, func(s step) bool { return ours && s.name == name })
		switch {
		case i < 0 && d.Warns.Full():
			d.Warns.Add("") // this warning is only counted, because formatting the class takes time
		case i < 0:
			d.Warn("%s: %s is not one of Spark's driver feature steps", key, d.Conf.Quote(key, class))
		case !steps[i].optional:
			return nil, submit.KeyErrorf(key, "the driver cannot run without %s", name)
		default:
			names = append(names, name)
		}
	}

	if d.Request.Bound {
		return nil, nil // a line that does not read the key runs all steps
	}
	return names, nil
}
