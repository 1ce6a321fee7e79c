package submit_test

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
)

// ExampleError shows that Build returns an error for a request that cannot run, so the caller creates nothing. The
// error names the key and the fix.
func ExampleError() {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	c.Set("spark.jars", "/home/me/lib.jar")
	_, err := native.Build(submit.Request{
		SparkVersion: "4.1.4", Namespace: "default", AppID: "spark-1", ResourceNamePrefix: "pi-1", MainClass: "Pi",
		Resource: "s3a://b/pi.jar", Conf: c,
	})
	fmt.Println(err)
	// Output:
	// spark.jars: "/home/me/lib.jar" is a file of the submitter, which is never read; use local:///PATH for a file of the image, or a URL that the driver can read, such as s3a://, gs://, hdfs:// or https://
}

// ExampleObjects_DriverObject shows a field of a template that the types of k8s.io/api do not have. DriverExtra keeps
// the field, and DriverObject returns a pod that contains it.
func ExampleObjects_DriverObject() {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")

	objects, err := native.Build(submit.Request{
		SparkVersion: "4.1.4", Namespace: "default", AppID: "spark-1", ResourceNamePrefix: "pi-1", MainClass: "Pi",
		Resource: "local:///pi.jar", Conf: c,
		DriverTemplate: []byte(`{"spec": {"hostUsers": false, "fieldOfTomorrow": {"enabled": true}}}`),
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

	spec := driver.(*unstructured.Unstructured).Object["spec"].(map[string]any)

	fmt.Println(objects.DriverExtra)
	fmt.Println(*objects.Driver.Spec.HostUsers, spec["hostUsers"], spec["fieldOfTomorrow"])
	// Output:
	// map[spec:map[fieldOfTomorrow:map[enabled:true]]]
	// false false map[enabled:true]
}

// ExampleError_notNative shows an error that Build returns but the real spark-submit would not return. The real
// spark-submit, in a pod of the application's image, has a JVM and the files of the image, so it can submit such an
// application.
func ExampleError_notNative() {
	c := conf.New()
	c.Set("spark.kubernetes.container.image", "docker.io/apache/spark:4.1.4")
	c.Set("spark.kubernetes.driver.pod.featureSteps", "com.example.OurStep")

	_, err := native.Build(submit.Request{
		SparkVersion: "4.1.4", Namespace: "default", AppID: "spark-1", ResourceNamePrefix: "pi-1", MainClass: "Pi",
		Resource: "local:///pi.jar", Conf: c,
	})
	if refused, ok := errors.AsType[*submit.Error](err); ok {
		fmt.Println(refused.Key, refused.NotNative)
	}
	// Output: spark.kubernetes.driver.pod.featureSteps true
}
