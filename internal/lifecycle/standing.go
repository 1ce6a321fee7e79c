package lifecycle

import "time"

// Standing is the current state of a custom resource, as read from its stored status.
type Standing struct {
	Phase Phase
	// State is the API's name for the state; empty before the first pass.
	State string
	// Since is when the phase began; zero if the status does not contain that time.
	Since time.Time
	// Waits is the wait reason, a CamelCase word; empty if the custom resource does not wait.
	Waits string
	// Attempt is the number of the current or last attempt.
	Attempt int32
	// These are the counts of the attempt's executors: how many run now, and how many have succeeded and failed so far.
	ExecutorsRunning, ExecutorsCompleted, ExecutorsFailed int32
}

// Subject is a custom resource that the metrics describe.
type Subject struct {
	// Kind is the controller's name, such as "sparkapplication".
	Kind            string
	Namespace, Name string
	// Created is the creation time of the custom resource.
	Created time.Time
	// Labels are the custom resource's labels. ExecutorLabels are the additional labels of its executors.
	Labels, ExecutorLabels map[string]string
	// NoApplication excludes the subject from the metrics of sparkoperator.k8s.io, which count SparkApplications.
	NoApplication bool
}
