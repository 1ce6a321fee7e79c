package fields

import (
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/dialect/table"
)

// Connect is the table of the fields of a SparkConnect. Its order is that of the options in the server's command line.
var Connect = table.New[v1alpha1.SparkConnect]("server", "executor", append([]table.Row{
	{Path: "spec.server.cores", Key: "spark.driver.cores"},
	{Path: "spec.server.memory", Key: "spark.driver.memory", Check: sparkoperator.CheckMemorySize},
	{Path: "spec.executor.instances", Key: "spark.executor.instances"},
	{Path: "spec.executor.cores", Key: "spark.executor.cores"},
	{Path: "spec.executor.memory", Key: "spark.executor.memory", Check: sparkoperator.CheckMemorySize},

	{Path: "spec.image", Key: kube + "container.image", Part: "Image", Precedence: table.Names},
	{Path: "spec.image", Key: kube + "ROLE.container.image", Precedence: table.Names},
	{Path: "spec.server.template", Key: kube + "driver.podTemplateFile", Part: "ServerTemplate", Precedence: table.Names},
	{Path: "spec.executor.template", Key: kube + "executor.podTemplateFile", Part: "ExecutorTemplate", Precedence: table.Names},
	{Path: "metadata.name", Key: kube + "executor.podNamePrefix", Part: "Name", Precedence: table.Names},
	{Path: "spec.server.service", Part: "Service"},
	{Path: "spec.sparkVersion", Part: "SparkVersion"},
	{Path: "spec.sparkConf", Part: "Conf"},
}, dynamicAllocation...)...)
