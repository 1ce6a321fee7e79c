package preview

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// Submission is the input of spark-submit for an application of either API group.
type Submission struct {
	// Request has the program, the configuration and the pod templates. The templates contain the settings of all
	// fields of the custom resource that have no configuration key.
	submit.Request
	// ConfigMaps are the ConfigMaps that the operator creates before spark-submit runs.
	ConfigMaps []*corev1.ConfigMap
}

// SubmissionOf returns the input of spark-submit for an application. It leaves out the labels by which the operator
// finds its objects, and the settings of spark-submit's connection to the cluster.
func SubmissionOf(o Operator, object client.Object) (s Submission, err error) {
	made, secret, err := runner(o, object)
	if err != nil {
		return s, err
	}

	for _, before := range made.Before {
		if config, ok := before.(*corev1.ConfigMap); ok {
			s.ConfigMaps = append(s.ConfigMaps, config)
		}
	}

	if s.Conf, err = conf.UnmarshalProperties(string(secret.Data["spark.properties"])); err != nil {
		return s, err
	}

	deleteMarks(s.Conf, secret.Labels)
	s.Conf.Delete("spark.master", "spark.submit.deployMode", "spark.kubernetes.namespace", "spark.kubernetes.submission.waitAppCompletion",
		"spark.kubernetes.driver.podTemplateFile", "spark.kubernetes.executor.podTemplateFile")

	for file, template := range map[string]*[]byte{"driver.json": &s.DriverTemplate, "executor.json": &s.ExecutorTemplate} {
		if content, ok := secret.Data[file]; ok {
			if *template, _, err = withoutMarks(content, secret.Labels); err != nil {
				return s, err
			}

			if *template == nil {
				*template = []byte("{}")
			}
		}
	}

	words := submitWords(made.Driver.Spec.Containers[0].Args)

	end := endOfOptions(words)
	for i := 0; i < end; i += 2 {
		switch words[i] {
		case "--class":
			s.MainClass = words[i+1]
		case "--proxy-user":
			s.ProxyUser = words[i+1]
		}
	}

	s.Resource, s.Arguments = words[end], words[end+1:]
	return s, nil
}
