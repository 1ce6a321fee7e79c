package dialect

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EncodeTime returns a time in the form in which a status stores it, or nil for the zero time.
func EncodeTime(t time.Time) *metav1.MicroTime {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewMicroTime(t))
}

// DecodeTime returns the time that EncodeTime stored, with a precision of microseconds, or the zero time for nil.
func DecodeTime(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
