package runner_test

import (
	"fmt"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/runner"
)

// ExampleBuild submits an application whose files match a pattern. Only a client of the file system can expand the
// pattern, so a pod of the application's own image runs spark-submit. The caller creates the Secret first.
func ExampleBuild() {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	c.Set("spark.jars", "s3a://libraries/*.jar")

	made, err := runner.Build(submit.Request{
		SparkVersion: "4.1.4", Namespace: "default", AppName: "pi", AppID: "spark-6c48998273294de495e5c9d3a1722dba",
		ResourceNamePrefix: submit.ResourceNamePrefix("pi", "c05dd8a1fbc0dc03"),
		MainClass:          "Pi", Resource: "s3a://applications/pi.jar", Conf: c,
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(made.Secret.Kind, made.Secret.Name)
	fmt.Println(made.Pod.Kind, made.Pod.Name, made.Pod.Spec.Containers[0].Image)
	// Output:
	// Secret pi-c05dd8a1fbc0dc03-submit
	// Pod pi-c05dd8a1fbc0dc03-submit docker.io/apache/spark:4.1.4
}
