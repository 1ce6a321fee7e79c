package sparkoperator

import (
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// Labels of this API group by which tools select objects. Dashboards, Airflow and Kueue rely on them.
const (
	LabelAppName          = "sparkoperator.k8s.io/app-name"
	LabelScheduledAppName = "sparkoperator.k8s.io/scheduled-app-name"
	LabelSubmissionID     = "sparkoperator.k8s.io/submission-id"
	LabelLaunchedBy       = "sparkoperator.k8s.io/launched-by-spark-operator"
	LabelCreatedBy        = "sparkoperator.k8s.io/created-by-spark-operator"
)

// The operator's own labels, which identify every object of an attempt.
const (
	LabelAppUID  = lifecycle.AppUIDLabel
	LabelAttempt = lifecycle.AttemptLabel
	LabelManaged = dialect.ManagedLabel
)

// Names of the Spark containers in driver and executor pods, unless the pod template of a user has another name for its
// Spark container.
const (
	DriverContainer   = overlay.DriverContainer
	ExecutorContainer = overlay.ExecutorContainer
)

// KueuePrefix is the prefix of labels that belong to the workload and must not be copied to its pods (Kueue's contract
// with job integrations).
const KueuePrefix = "kueue.x-k8s.io/"
