package apache

import (
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/dialect"
)

// Surroundings returns what is to stand beside the driver of an application whose status Decide wrote.
func (a Applications) Surroundings(app *sparkv1.SparkApplication) dialect.Surroundings {
	return dialect.Surroundings{Unsettled: true}
}
