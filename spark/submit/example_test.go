package submit_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// A submission is data in, objects out. Create what comes before the pod, then the pod.
func ExampleBuild() {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	c.Set("spark.executor.instances", "2")
	objects, err := submit.Build(submit.Request{
		SparkVersion:       "4.1.4",
		Namespace:          "default",
		AppName:            "spark-pi",
		AppID:              "spark-6c48998273294de495e5c9d3a1722dba",
		ResourceNamePrefix: submit.ResourceNamePrefix("spark-pi", "c05dd8a1fbc0dc03"),
		SubmitTime:         time.UnixMilli(1795225082480),
		MainClass:          "org.apache.spark.examples.SparkPi",
		Resource:           "local:///opt/spark/examples/jars/spark-examples.jar",
		Conf:               c,
		Owner:              metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "App", Name: "spark-pi", UID: "1"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range objects.Before {
		fmt.Println(o.GetObjectKind().GroupVersionKind().Kind, o.GetName())
	}
	fmt.Println("Pod", objects.Driver.Name)
	// Output:
	// Service spark-pi-c05dd8a1fbc0dc03-driver-svc
	// ConfigMap spark-drv-spark-pi-c05dd8a1fbc0dc03-conf-map
	// Pod spark-pi-c05dd8a1fbc0dc03-driver
}

// What cannot run is refused before anything exists, with the key and the way out.
func ExampleError() {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	c.Set("spark.jars", "/home/me/lib.jar")
	_, err := submit.Build(submit.Request{
		SparkVersion: "4.1.4", Namespace: "default", AppID: "spark-1", ResourceNamePrefix: "pi-1", MainClass: "Pi", Resource: "s3a://b/pi.jar", Conf: c,
	})
	fmt.Println(err)
	// Output:
	// spark.jars: "/home/me/lib.jar" is a file of the submitter, which is never read; use local:///PATH for a file of the image, or a URL that the driver can read, such as s3a://, gs://, hdfs:// or https://
}
