package apache

import (
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/overlay"
)

// DefaultOperatorName is the value of the label spark.operator/name where the configuration gives none.
const DefaultOperatorName = "spark-kubernetes-operator"

// Labels that readers of this API group select by.
const (
	LabelOperatorName = "spark.operator/name"
	LabelAppName      = "spark.operator/spark-app-name"
)

// Labels of ours: the identity of everything that an attempt creates.
const (
	LabelAppUID  = lifecycle.AppUIDLabel
	LabelAttempt = lifecycle.AttemptLabel
	LabelManaged = dialect.ManagedLabel
)

// Labels of ours, on pods, for what the image is said to have; nothing depends on them but who selects by them.
const (
	LabelScalaVersion = dialect.OwnPrefix + "scala-version"
	LabelJDKVersion   = dialect.OwnPrefix + "jdk-version"
)

// Names of the Spark containers in driver and executor pods, unless a pod template names its own.
const (
	DriverContainer   = overlay.DriverContainer
	ExecutorContainer = overlay.ExecutorContainer
)
