package draft

import (
	"cmp"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Spark's keys for the service accounts of drivers and executors.
const (
	DriverAccountKey   = "spark.kubernetes.authenticate.driver.serviceAccountName"
	ExecutorAccountKey = "spark.kubernetes.authenticate.executor.serviceAccountName"
)

// defaultAccount is the service account of a pod that does not name one.
const defaultAccount = "default"

// checkAccounts rejects Request.DeniedServiceAccount as the service account of the driver, the executors or the runner
// (the pod that runs spark-submit). It does not matter whether a key, a template or an overlay names the account.
func (d *Draft) checkAccounts() error {
	denied := d.Request.DeniedServiceAccount
	if denied == "" {
		return nil
	}

	driver := cmp.Or(d.Pod.Spec.ServiceAccountName, d.Pod.Spec.DeprecatedServiceAccount)

	executor := ""
	if t, err := podtemplate.Read(d.Request.ExecutorTemplate); err == nil && len(d.Request.ExecutorTemplate) > 0 {
		executor = cmp.Or(t.Pod.Spec.ServiceAccountName, t.Pod.Spec.DeprecatedServiceAccount)
	}

	for _, pod := range []struct {
		field, template string
		laid            overlay.Overlay
		keys            []string
	}{
		{"Driver", driver, d.Request.Driver, []string{DriverAccountKey}},
		{"Executor", executor, d.Request.Executor, []string{ExecutorAccountKey, DriverAccountKey}},
	} {
		if account := cmp.Or(pod.laid.ServiceAccountName, pod.template); account == denied {
			return submit.FieldErrorf(pod.field+"Template", "serviceAccountName: %s", submit.DeniedAccountMessage(denied))
		}

		named := false
		for _, key := range pod.keys {
			account, err := d.Conf.String(key, "")
			if err != nil {
				return err
			}

			if account == denied {
				return submit.KeyErrorf(key, "%s", submit.DeniedAccountMessage(denied))
			}

			named = named || account != ""
		}

		if !named && cmp.Or(pod.laid.ServiceAccountName, pod.template, defaultAccount) == denied {
			return submit.KeyErrorf(pod.keys[0], "is not set, so the pod would use the service account default: %s", submit.DeniedAccountMessage(denied))
		}
	}

	runner, err := d.Conf.String(submit.RunnerAccountKey, d.Request.RunnerServiceAccount)
	if err == nil && runner == denied {
		err = submit.KeyErrorf(submit.RunnerAccountKey, "%s", submit.DeniedAccountMessage(denied))
	}
	return err
}
