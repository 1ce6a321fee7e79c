package sparkoperator

import (
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// These labels of this API group are used by tools, such as dashboards, Airflow and Kueue, to select objects.
const (
	LabelAppName          = v1beta2.AppNameLabel
	LabelScheduledAppName = v1beta2.ScheduledAppNameLabel
	LabelSubmissionID     = v1beta2.SubmissionIDLabel
	LabelLaunchedBy       = "sparkoperator.k8s.io/launched-by-spark-operator"
	LabelCreatedBy        = "sparkoperator.k8s.io/created-by-spark-operator"
	LabelConnectName      = v1alpha1.ConnectNameLabel
)

// These are the operator's own labels. They identify every object of an attempt.
const (
	LabelAppUID  = lifecycle.AppUIDLabel
	LabelAttempt = lifecycle.AttemptLabel
	LabelManaged = dialect.ManagedLabel
)

// DriverContainer and ExecutorContainer are the names of the Spark containers in driver and executor pods. A user's pod
// template may give its Spark container another name.
const (
	DriverContainer   = overlay.DriverContainer
	ExecutorContainer = overlay.ExecutorContainer
)

// KueuePrefix is the prefix of Kueue's labels. Kueue requires that these labels are not copied from a workload to its
// pods.
const KueuePrefix = "kueue.x-k8s.io/"
