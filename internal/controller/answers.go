package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sparkoperator/spark-operator/lifecycle"
)

// answers remembers what the API server said last to what a decision asks again and again, however often its application is looked at: a thousand
// executors that come and go are no reason for a thousand requests. A new process asks anew.
type answers struct {
	memory[question, reply]
}

// partWarnings is the part of a question about the Events of a pod that waits.
const partWarnings lifecycle.Part = "Warnings"

// partRights is the part of a question about the rights of a driver that failed.
const partRights lifecycle.Part = "Rights"

// partAllowed is the part of a question about the rights of a driver that wants executors, once it was seen to have them all.
const partAllowed lifecycle.Part = "Allowed"

type question struct {
	key  types.NamespacedName
	part lifecycle.Part
}

type reply struct {
	uid     types.UID // of the custom resource, or of the pod that was asked about
	attempt int32
	until   time.Time       // it is not asked again before
	cause   lifecycle.Cause // empty where nothing stands in the way
}

// last returns what was said last about an attempt, and whether that holds still.
func (a *answers) last(q question, uid types.UID, attempt int32, now time.Time) (cause lifecycle.Cause, fresh bool) {
	was, known := a.get(q)
	if !known || was.uid != uid || was.attempt != attempt {
		return lifecycle.Cause{}, false
	}
	return was.cause, now.Before(was.until)
}

// rest is after how long a question is asked again.
func (a *answers) rest(q question, now time.Time) time.Duration {
	was, _ := a.get(q)
	return was.until.Sub(now)
}

// forget drops what is remembered about parts of a custom resource.
func (a *answers) forget(key types.NamespacedName, parts ...lifecycle.Part) {
	for _, part := range parts {
		a.memory.forget(question{key, part})
	}
}
