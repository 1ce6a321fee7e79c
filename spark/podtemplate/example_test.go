package podtemplate_test

import (
	"encoding/json"
	"fmt"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

// ExampleRead parses a template with a field that this version of k8s.io/api does not have. Graft merges the field into
// the pod that is created from the template.
func ExampleRead() {
	t, err := podtemplate.Read([]byte("spec:\n  fieldOfTomorrow: true\n  containers:\n  - name: main\n    image: spark\n"))
	if err != nil {
		fmt.Println(err)
		return
	}

	t.Pod.Spec.Containers[0].Image = "spark:4.1.4"

	pod, err := podtemplate.Tree(t.Pod)
	if err != nil {
		fmt.Println(err)
		return
	}

	podtemplate.Graft(pod, t.Extra, func(path string) { fmt.Println("lost:", path) })
	text, err := json.Marshal(pod["spec"])
	fmt.Println(string(text), err)
	// Output:
	// {"containers":[{"image":"spark:4.1.4","name":"main","resources":{}}],"fieldOfTomorrow":true} <nil>
}
