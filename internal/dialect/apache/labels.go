package apache

import (
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// DefaultOperatorName is the value of the label spark.operator/name if the operator's configuration sets no other
// value.
const DefaultOperatorName = "spark-kubernetes-operator"

// Labels of this API group by which tools select objects.
const (
	LabelOperatorName = "spark.operator/name"
	LabelAppName      = sparkv1.AppNameLabel
)

// The operator's own labels, which identify every object of an attempt.
const (
	LabelAppUID  = lifecycle.AppUIDLabel
	LabelAttempt = lifecycle.AttemptLabel
	LabelManaged = dialect.ManagedLabel
)

// The operator's own labels on pods with the versions that users declare in spec.runtimeVersions. The operator itself
// does not read these labels.
const (
	LabelScalaVersion = dialect.OwnPrefix + "scala-version"
	LabelJDKVersion   = dialect.OwnPrefix + "jdk-version"
)

// Names of the Spark containers in driver and executor pods. A pod template may set another name.
const (
	DriverContainer   = overlay.DriverContainer
	ExecutorContainer = overlay.ExecutorContainer
)
