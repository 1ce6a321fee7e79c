package submit

import (
	"fmt"
)

// RunnerAccountKey is the configuration key that names the service account of the pod that runs spark-submit. It is the
// operator's own key and overrides Request.RunnerServiceAccount.
const RunnerAccountKey = "spark.kubernetes.authenticate.submission.serviceAccountName"

// DeniedAccountMessage returns the message that no pod of a custom resource may use this service account, and why.
func DeniedAccountMessage(account string) string {
	return fmt.Sprintf("service account %q is the operator's own, and a pod with it would have all rights of the operator; name another", account)
}
