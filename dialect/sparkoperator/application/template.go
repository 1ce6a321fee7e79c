package application

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
)

// templateContainer returns the name by which Spark finds its container in a role's pod template
// (dialect.TemplateContainer).
func templateContainer(raw *runtime.RawExtension, role string) string {
	if role == "executor" {
		return dialect.TemplateContainer(raw, sparkoperator.ExecutorContainer)
	}
	return dialect.TemplateContainer(raw, sparkoperator.DriverContainer)
}
