package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator/application/takeover"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Memory returns the operator's memory that SetMemory stored in the status. A status of another operator
// contains no memory. In this case Memory derives the memory from the state of the application.
func Memory(s *v1beta2.SparkApplicationStatus) lifecycle.Memory {
	m := lifecycle.Memory{
		AttemptID:   s.SubmissionID,
		Runs:        s.ExecutionAttempts,
		Submissions: s.SubmissionAttempts,
	}

	o := s.Operator
	if o == nil {
		takeover.Derive(&m, s)
		return m
	}

	dialect.DecodeMemory(&m, o)
	return m
}

// SetMemory stores the operator's memory in the status. Memory reads it again.
func SetMemory(s *v1beta2.SparkApplicationStatus, m lifecycle.Memory) {
	if s.Operator == nil {
		s.Operator = &v1beta2.OperatorStatus{}
	}

	s.SubmissionID, s.ExecutionAttempts, s.SubmissionAttempts = m.AttemptID, m.Runs, m.Submissions
	s.LastSubmissionAttemptTime, s.TerminationTime = metav1.NewTime(m.SubmittedAt), metav1.NewTime(m.EndedAt)
	dialect.EncodeMemory(s.Operator, m)
}

// SubmissionID returns the submission id of an attempt. A stored id has precedence: with it, a newer operator that
// computes ids differently still finds the objects of an attempt that an older operator launched.
func SubmissionID(app *v1beta2.SparkApplication, attempt int32) string {
	if id := app.Status.SubmissionID; id != "" && Memory(&app.Status).Attempt == attempt {
		return id
	}
	return lifecycle.AttemptID(string(app.UID), attempt)
}
