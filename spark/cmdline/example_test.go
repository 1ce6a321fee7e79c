package cmdline_test

import (
	"fmt"
	"os"

	"github.com/sparkoperator/spark-operator/spark/cmdline"
)

// ExampleParse parses a command line of spark-submit into a Request. The caller adds the IDs and the submission time;
// then Build accepts the Request.
func ExampleParse() {
	r, warnings, err := cmdline.Parse([]string{
		"--master", "k8s://https://cluster.example.org", "--deploy-mode", "cluster", "--name", "spark-pi",
		"--conf", "spark.kubernetes.namespace=jobs", "--num-executors=2", "--queue", "default",
		"local:///opt/spark/examples/src/main/python/pi.py", "1000",
	}, cmdline.Submitter{SparkVersion: "4.1.4", ReadFile: os.ReadFile})
	if err != nil {
		fmt.Println(err)
		return
	}

	instances, _ := r.Conf.Get("spark.executor.instances")
	fmt.Println(r.Namespace, r.AppName, r.Resource, r.Arguments, instances)
	fmt.Println(warnings)
	// Output:
	// jobs spark-pi local:///opt/spark/examples/src/main/python/pi.py [1000] 2
	// [--queue: has no effect: only YARN has these queues; set those of a batch scheduler with labels or annotations]
}
