package client_test

import (
	"context"
	"fmt"
	"log"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/client/clientset/versioned"
)

// Example creates an application with the typed client and prints its name. It has no expected output, because it needs
// a cluster.
func Example() {
	config, err := clientcmd.BuildConfigFromFlags("", clientcmd.RecommendedHomeFile)
	if err != nil {
		log.Fatal(err)
	}

	clients, err := versioned.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}

	app := &v1beta2.SparkApplication{ObjectMeta: metav1.ObjectMeta{Name: "pi"}}

	app.Spec.Type, app.Spec.SparkVersion = v1beta2.SparkApplicationTypePython, "4.1.4"
	app.Spec.MainApplicationFile = "local:///opt/spark/examples/src/main/python/pi.py"
	app.Spec.Image, app.Spec.Driver.ServiceAccount = new("docker.io/apache/spark:4.1.4"), new("spark-operator-spark")

	created, err := clients.SparkoperatorV1beta2().SparkApplications("default").
		Create(context.Background(), app, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(created.Name)
}
