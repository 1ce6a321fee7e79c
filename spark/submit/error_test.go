package submit_test

import (
	"testing"

	"github.com/sparkoperator/spark-operator/spark/submit"
)

func TestErrorText(t *testing.T) {
	for want, err := range map[string]error{"spark.x: wrong": &submit.Error{Key: "spark.x", Message: "wrong"},
		"MainClass: wrong": &submit.Error{Field: "MainClass", Message: "wrong"}} {
		if err.Error() != want {
			t.Errorf("Error() = %q, want %q", err, want)
		}
	}
}
