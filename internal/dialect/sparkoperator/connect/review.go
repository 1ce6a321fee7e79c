package connect

import (
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Review returns the faults and warnings that the operator would report if it created a server now, and the pods of
// this server.
func (c Connects) Review(sc *v1alpha1.SparkConnect) dialect.Review {
	l := c.next(sc, 1)
	if faults := faults(l); len(faults) > 0 {
		return dialect.Review{Faults: faults}
	}

	warnings := l.Attempt.warnings(sc)
	for _, notice := range l.Attempt.serviceWarnings() {
		warnings = append(warnings, notice.Cause.Message)
	}

	if _, err := l.Attempt.clientService(); err != nil {
		warnings = append(warnings, err.Error()) // a pass creates the server without the Service
	}
	return dialect.Review{Warnings: warnings, Pods: func() []dialect.Pods {
		pods := l.Pods()
		pods[0].Role = "server"
		return pods
	}}
}

// RestartWarning returns a warning if an edit replaces a running server, or else an empty text.
func (c Connects) RestartWarning(old, edited *v1alpha1.SparkConnect) string {
	suspends := dialect.Suspended(edited.Spec.Suspend)
	if !decodeConnect(&old.Status).Phase.Live() || suspends || !lifecycle.Edited(hash(&old.Spec), hash(&edited.Spec)) {
		return ""
	}
	return "the server is running, and this edit of its spec replaces it: its clients lose their sessions"
}
