package apianswer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/memory"
	"github.com/sparkoperator/spark-operator/lifecycle"
)

// Replies caches the API server's last reply to each question, so that every pass of an application can use it.
// Executor churn causes many passes, which must not cause as many requests. The cache is in memory only, so a new
// process queries again. The zero value is empty.
type Replies struct {
	memory.ByKey[Question, Reply]
}

// Question is what is asked about a custom resource.
type Question struct {
	Key  types.NamespacedName
	Part lifecycle.Part
}

// Reply is what was said.
type Reply struct {
	UID     types.UID // of the custom resource, or of the pod that was asked about
	Attempt int32
	Until   time.Time       // it is not asked again before
	Cause   lifecycle.Cause // empty where nothing stands in the way
}

// Last returns what was said last about an attempt, and whether that holds still.
func (r *Replies) Last(q Question, uid types.UID, attempt int32, now time.Time) (cause lifecycle.Cause, fresh bool) {
	last, known := r.Get(q)
	if !known || last.UID != uid || last.Attempt != attempt {
		return lifecycle.Cause{}, false
	}
	return last.Cause, now.Before(last.Until)
}

// RetryAfter is after how long a question is asked again.
func (r *Replies) RetryAfter(q Question, now time.Time) time.Duration {
	last, _ := r.Get(q)
	return last.Until.Sub(now)
}
