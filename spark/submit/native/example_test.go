package native_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// ExampleBuild builds the objects of a submission, which is a pure function. The caller creates the objects of Before
// first, then the driver pod.
func ExampleBuild() {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	c.Set("spark.executor.instances", "2")

	objects, err := native.Build(submit.Request{
		SparkVersion:       "4.1.4",
		Namespace:          "default",
		AppName:            "spark-pi",
		AppID:              "spark-6c48998273294de495e5c9d3a1722dba",
		ResourceNamePrefix: submit.ResourceNamePrefix("spark-pi", "c05dd8a1fbc0dc03"),
		SubmitTime:         time.UnixMilli(1795225082480),
		MainClass:          "org.apache.spark.examples.SparkPi",
		Resource:           "local:///opt/spark/examples/jars/spark-examples.jar",
		Conf:               c,
		Owner: metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "App", Name: "spark-pi",
			UID: "1"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	driver, err := objects.DriverObject()
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, o := range append(objects.Before, driver) {
		fmt.Println(o.GetObjectKind().GroupVersionKind().Kind, o.GetName())
	}
	// Output:
	// Service spark-pi-c05dd8a1fbc0dc03-driver-svc
	// ConfigMap spark-drv-spark-pi-c05dd8a1fbc0dc03-conf-map
	// Pod spark-pi-c05dd8a1fbc0dc03-driver
}

// ExampleExecutor builds the pod that the driver will request for its first executor, to find out how much memory the
// application needs.
func ExampleExecutor() {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	c.Set("spark.executor.memory", "4g")

	pod, err := native.Executor(submit.Request{
		SparkVersion: "4.1.4", Namespace: "default", AppName: "pi", AppID: "spark-6c48998273294de495e5c9d3a1722dba",
		ResourceNamePrefix: "pi-1", MainClass: "Pi", Resource: "local:///opt/pi.jar", Conf: c,
	}, 1, "")
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(pod.Spec.Containers[0].Resources.Requests.Memory())
	// Output:
	// 4505Mi
}
