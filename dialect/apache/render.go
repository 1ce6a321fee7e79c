package apache

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/lifecycle"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

var errUnfinished = errors.New("not rendered yet")

// Render returns the objects that a Create action makes.
func (a Applications) Render(app *sparkv1.SparkApplication, action lifecycle.Action, now time.Time) (submit.Objects, error) {
	return submit.Objects{}, errUnfinished
}

// Executor returns the pod that the driver of an attempt, of the UID given, would ask the API server for as the executor of an id.
func (a Applications) Executor(app *sparkv1.SparkApplication, attempt int32, id int, driver types.UID, now time.Time) (*corev1.Pod, error) {
	return nil, errUnfinished
}
