package submit

import (
	"cmp"
	"fmt"

	"github.com/sparkoperator/spark-operator/spark/overlay"
	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// RunnerAccountKey is the configuration key that names the service account of the pod that runs spark-submit. It is the
// operator's own key and overrides Request.RunnerServiceAccount.
const RunnerAccountKey = "spark.kubernetes.authenticate.submission.serviceAccountName"

// Spark's keys for the service accounts of drivers and executors.
const (
	driverAccountKey   = "spark.kubernetes.authenticate.driver.serviceAccountName"
	executorAccountKey = "spark.kubernetes.authenticate.executor.serviceAccountName"
)

// defaultAccount is the service account of a pod that does not name one.
const defaultAccount = "default"

// DeniedAccountMessage returns the message that no pod of a custom resource may use this service account, and why.
func DeniedAccountMessage(account string) string {
	return fmt.Sprintf("service account %q is the operator's own, and a pod with it would have all rights of the operator; name another", account)
}

// checkAccounts rejects Request.DeniedServiceAccount as the service account of the driver, the executors or the runner
// (the pod that runs spark-submit). It does not matter whether a key, a template or an overlay names the account.
func (d *draft) checkAccounts() error {
	denied := d.r.DeniedServiceAccount
	if denied == "" {
		return nil
	}
	driver := cmp.Or(d.pod.Spec.ServiceAccountName, d.pod.Spec.DeprecatedServiceAccount)
	executor := ""
	if t, err := podtemplate.Read(d.r.ExecutorTemplate); err == nil && len(d.r.ExecutorTemplate) > 0 {
		executor = cmp.Or(t.Pod.Spec.ServiceAccountName, t.Pod.Spec.DeprecatedServiceAccount)
	}
	for _, pod := range []struct {
		field, template string
		laid            overlay.Overlay
		keys            []string
	}{
		{"Driver", driver, d.r.Driver, []string{driverAccountKey}},
		{"Executor", executor, d.r.Executor, []string{executorAccountKey, driverAccountKey}},
	} {
		if account := cmp.Or(pod.laid.ServiceAccountName, pod.template); account == denied {
			return FieldErrorf(pod.field+"Template", "serviceAccountName: %s", DeniedAccountMessage(denied))
		}
		named := false
		for _, key := range pod.keys {
			account, err := d.conf.String(key, "")
			if err != nil {
				return err
			}
			if account == denied {
				return KeyErrorf(key, "%s", DeniedAccountMessage(denied))
			}
			named = named || account != ""
		}
		if !named && cmp.Or(pod.laid.ServiceAccountName, pod.template, defaultAccount) == denied {
			return KeyErrorf(pod.keys[0], "is not set, so the pod would use the service account default: %s", DeniedAccountMessage(denied))
		}
	}
	runner, err := d.conf.String(RunnerAccountKey, d.r.RunnerServiceAccount)
	if err == nil && runner == denied {
		err = KeyErrorf(RunnerAccountKey, "%s", DeniedAccountMessage(denied))
	}
	return err
}
