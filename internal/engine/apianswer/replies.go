package apianswer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/internal/ground/bykey"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// Replies caches the last reply of the API server for each Question. Executor churn causes many passes of an
// application, and without the cache each of them would send the same requests. The cache is in memory only, so a new
// process sends the requests again. The zero value is empty.
type Replies struct {
	bykey.ByKey[Question, Reply]
}

// Question is the key of a cached reply. It consists of a custom resource and the part of it that the request was
// about.
type Question struct {
	Key  types.NamespacedName
	Part lifecycle.Part
}

// Reply is the API server's reply to a question.
type Reply struct {
	UID     types.UID // the UID of the custom resource, or of the pod that the question was about
	Attempt int32
	Since   time.Time       // when the question was first answered; only for answers whose interval grows
	Until   time.Time       // the question is not asked again before this time
	Cause   lifecycle.Cause // empty if nothing is wrong
	Failed  bool            // the query failed and no earlier cause is known, so the empty Cause says nothing
}

// Last returns the cause in the last reply to a question about an attempt. The second result reports whether the reply
// is still valid. If no reply is cached, the cause is empty.
func (r *Replies) Last(q Question, uid types.UID, attempt int32, now time.Time) (cause lifecycle.Cause, fresh bool) {
	last, _ := r.About(q, uid, attempt)
	return last.Cause, now.Before(last.Until)
}

// About returns the last reply to a question about an attempt, whether or not it is still valid. The second result
// reports whether a reply is cached. Without a cached reply, the first result is the zero Reply, which is never valid.
func (r *Replies) About(q Question, uid types.UID, attempt int32) (Reply, bool) {
	last, known := r.Get(q)
	if !known || last.UID != uid || last.Attempt != attempt {
		return Reply{}, false
	}
	return last, true
}

// RetryAfter returns the duration from now until the request of a question may be sent again. The duration is negative
// if the request may already be sent again.
func (r *Replies) RetryAfter(q Question, now time.Time) time.Duration {
	last, _ := r.Get(q)
	return last.Until.Sub(now)
}
