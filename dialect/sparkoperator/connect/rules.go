package connect

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1alpha1"
	"github.com/sparkoperator/spark-operator/dialect"
	"github.com/sparkoperator/spark-operator/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/spark/connect"
)

// ruleFaults returns the violations of the platform's rules by a SparkConnect. The argument objects contains the
// objects of its server, and the argument executor is one of its executors.
func (c Connects) ruleFaults(sc *v1alpha1.SparkConnect, objects connect.Objects, executor *corev1.Pod) []*dialect.FieldError {
	if c.Rules == nil {
		return nil
	}
	faults := c.Rules.Faults(&dialect.Subject{
		Labels:   sc.Labels,
		Settings: func() []dialect.Setting { return settings(sc) },
		Pods: func() ([]dialect.Pod, []*dialect.FieldError) {
			return podsOf(sc, objects, executor), nil
		},
		Workers:  func() dialect.Workers { return workers(sc) },
		Services: dialect.DriverServices(sc.Spec.SparkConf),
	})
	return append(faults, c.exposure(sc, connect.ServiceName(sc.Name, sc.Spec.Server.Service)).Refused...)
}

// settings returns the Spark configuration of a SparkConnect, each key with the field that sets it.
func settings(sc *v1alpha1.SparkConnect) (all []dialect.Setting) {
	for key, value := range connectConf(sc).All() {
		all = append(all, dialect.Setting{Key: key, Value: value, Field: connectKeyField(&sc.Spec, key)})
	}
	return all
}

// workers returns the largest number of executors that a server can have, and the field that sets it.
func workers(sc *v1alpha1.SparkConnect) dialect.Workers {
	return dialect.ExecutorWorkers(connectConf(sc), sparkInstances, "spec.executor.instances", "spec.dynamicAllocation.maxExecutors")
}

// podsOf returns the pods of a server that the rules check: the server's pod, and one executor.
func podsOf(sc *v1alpha1.SparkConnect, objects connect.Objects, executor *corev1.Pod) []dialect.Pod {
	pods := []dialect.Pod{
		dialect.PodOf("server", "spec.server", &objects.Server.ObjectMeta, &objects.Server.Spec),
		dialect.PodOf("executor", "spec.executor", &executor.ObjectMeta, &executor.Spec),
	}
	pods[0].AccountField, pods[1].AccountField = serverAccountField(&sc.Spec), executorAccountField(&sc.Spec)
	pods[1].Worker = true
	for i := range objects.Server.Spec.Containers {
		if c := &objects.Server.Spec.Containers[i]; c.Name == objects.Container {
			pods[0].Container = c
		}
	}
	pods[1].OwnCommand = dialect.TemplateCommand(sc.Spec.Executor.Template, pods[1].Container)
	for i := range pods {
		if sparkoperator.StringValue(sc.Spec.Image) == pods[i].Image {
			pods[i].ImageField = "spec.image"
		}
	}
	return pods
}

const driverAccountKey = sparkoperator.CredentialPrefix + "driver.serviceAccountName"

// serverAccountField returns the field that sets the service account of the server's pod. The server's template
// precedes the driver's key (see connect.Build).
func serverAccountField(spec *v1alpha1.SparkConnectSpec) string {
	template := dialect.PodTemplate(spec.Server.Template).Spec
	if template.ServiceAccountName+template.DeprecatedServiceAccount == "" && spec.SparkConf[driverAccountKey] != "" {
		return connectKeyField(spec, driverAccountKey)
	}
	return dialect.TemplateAccountField("spec.server.template", &template)
}

// executorAccountField returns the field that sets the service account of the executors. It may be the driver's key,
// which also overrides the field serviceAccountName of the executors' template. Only the deprecated field
// serviceAccount of this template precedes both keys (see native.Executor).
func executorAccountField(spec *v1alpha1.SparkConnectSpec) string {
	template := dialect.PodTemplate(spec.Executor.Template).Spec
	if template.DeprecatedServiceAccount == "" {
		for _, key := range []string{sparkoperator.CredentialPrefix + "executor.serviceAccountName", driverAccountKey} {
			account, written := spec.SparkConf[key]
			if account != "" {
				return connectKeyField(spec, key)
			}
			if written {
				break // Spark does not read the driver's key if the executors' key is empty
			}
		}
	}
	return dialect.TemplateAccountField("spec.executor.template", &template)
}
