// Package load describes the applications that the bench creates. The same description always gives the same
// applications at the same times.
package load

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Class describes a number of similar applications.
type Class struct {
	// Name is the prefix of the applications' names: NAME-0 and so on. It is unique in a Spec.
	Name string
	// Namespace is the namespace of the applications. If Namespaces is set, they are spread over that many namespaces:
	// NAMESPACE-0 and so on.
	Namespace  string
	Namespaces int
	Count      int
	// Rate is the number of applications that are created each second. If it is 0, all are created at once.
	Rate float64
	// Executors is the number of executors that each simulated driver creates.
	Executors int
	// Placed is true if executors are created with spec.nodeName, so that no scheduler binds them. That halves the
	// writes for long-running executors.
	Placed bool
	// Run and RunMost are the minimum and the maximum of the time that a driver runs after it has created its
	// executors. The times are evenly distributed between them. If RunMost is 0, it is equal to Run.
	Run, RunMost time.Duration
	// Fail is the share of drivers that exit with code 1.
	Fail float64
	// Log is the size of the log of each driver, in bytes.
	Log int
	// Alone is true if the applications request no executors. The operator then does not search for missing executors.
	Alone bool
	// Apache is true for applications of spark.apache.org. Their simulated drivers create no executors.
	Apache bool
}

// Spec describes a load. Seed determines the random choices: run times and failures.
type Spec struct {
	Seed    uint64
	Classes []Class
}

// Application is an application and the time of its creation, relative to the start.
type Application struct {
	Namespace, Name string
	At              time.Duration
	Program         Program
	Object          *unstructured.Unstructured
}

// Program describes the actions of a simulated driver. It is encoded in the application's arguments, which the operator
// copies to the driver pod. The simulated nodes therefore need no information about the load except the pod.
type Program struct {
	Executors int           `json:"executors"`
	Placed    bool          `json:"placed"`
	Run       time.Duration `json:"run"` // in nanoseconds
	Exit      int32         `json:"exit"`
	Log       int           `json:"log,omitempty"` // in bytes
}

// Arguments returns the program as an application's arguments.
func (p Program) Arguments() []any {
	text, _ := json.Marshal(p) //nolint:errchkjson // fails for no program
	return []any{string(text)}
}

// ReadProgram decodes a program from the arguments of a driver's container, and skips other arguments such as Spark's
// own. A driver without a program succeeds at once.
func ReadProgram(args []string) (p Program, err error) {
	if i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "{") }); i >= 0 {
		err = json.Unmarshal([]byte(args[i]), &p)
	}
	return p, err
}

// WriteLog writes the log of a driver: lines as Spark writes them, which gzip compresses to a fifth or a sixth.
func (p Program) WriteLog(out io.Writer) error {
	var line []byte
	for i, left := 0, p.Log; left > 0; i++ {
		line = fmt.Appendf(line[:0], "26/11/29 10:%02d:%02d INFO TaskSetManager: Finished task %d.0 in stage %d.0 (TID %d) in %d ms on 10.0.%d.%d (executor %d) (%d/200)\n",
			i/60%60, i%60, i%200, i/200, i, i*7919%5000, i%256, i*31%256, i%20, i%200)
		line = line[:min(len(line), left)]

		if _, err := out.Write(line); err != nil {
			return err
		}

		left -= len(line)
	}
	return nil
}

// Count returns the number of applications.
func (s Spec) Count() (n int) {
	for _, c := range s.Classes {
		n += c.Count
	}
	return n
}

// Namespaces returns the namespaces of the applications without duplicates.
func (s Spec) Namespaces() (names []string) {
	for _, c := range s.Classes {
		for i := range max(1, c.Namespaces) {
			if name := c.namespace(i); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Applications returns all applications, in the order of their creation.
func (s Spec) Applications() (all []Application) {
	for class, c := range s.Classes {
		for i := range c.Count {
			all = append(all, s.application(class, i))
		}
	}

	slices.SortStableFunc(all, func(a, b Application) int { return cmp.Compare(a.At, b.At) })
	return all
}

func (c Class) namespace(i int) string {
	if c.Namespaces == 0 {
		return c.Namespace
	}
	return c.Namespace + "-" + strconv.Itoa(i%c.Namespaces)
}

// application returns number i of a class. Its random choices depend only on the seed, the class and the number.
func (s Spec) application(class, i int) Application {
	c := s.Classes[class]
	chance := rand.New(rand.NewPCG(s.Seed, uint64(class)<<32|uint64(i)))

	p := Program{Executors: c.Executors, Placed: c.Placed, Run: c.Run, Log: c.Log}
	if c.RunMost > c.Run {
		p.Run += time.Duration(chance.Int64N(int64(c.RunMost - c.Run))).Truncate(time.Millisecond)
	}

	if chance.Float64() < c.Fail {
		p.Exit = 1
	}

	a := Application{Namespace: c.namespace(i), Name: c.Name + "-" + strconv.Itoa(i), Program: p}
	if c.Rate > 0 {
		a.At = time.Duration(float64(i) / c.Rate * float64(time.Second))
	}

	version, content := "sparkoperator.k8s.io/v1beta2", c.spec(p)
	if c.Apache {
		version, content = "spark.apache.org/v1", apacheSpec(p)
	}

	a.Object = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": version, "kind": "SparkApplication",
		"metadata": map[string]any{"name": a.Name, "namespace": a.Namespace},
		"spec":     content,
	}}
	return a
}

// apacheSpec returns the spec of an application of spark.apache.org.
func apacheSpec(p Program) map[string]any {
	return map[string]any{
		"mainClass":  "org.apache.spark.examples.SparkPi",
		"jars":       "local:///opt/spark/examples/jars/spark-examples.jar",
		"driverArgs": p.Arguments(), "runtimeVersions": map[string]any{"sparkVersion": "4.1.4"},
		"sparkConf": map[string]any{
			"spark.kubernetes.container.image":                        "docker.io/apache/spark:4.1.4",
			"spark.kubernetes.authenticate.driver.serviceAccountName": "default",
			"spark.executor.instances":                                "1",
		},
	}
}

func (c Class) spec(p Program) map[string]any {
	executor := map[string]any{"cores": int64(1), "memory": "512m"}

	spec := map[string]any{
		"type": "Scala", "mode": "cluster", "sparkVersion": "4.1.4", "image": "docker.io/apache/spark:4.1.4",
		"mainClass":           "org.apache.spark.examples.SparkPi",
		"mainApplicationFile": "local:///opt/spark/examples/jars/spark-examples.jar",
		"arguments":           p.Arguments(), "executor": executor,
		"driver": map[string]any{"cores": int64(1), "memory": "512m", "serviceAccount": "default"},
	}
	if c.Alone {
		spec["dynamicAllocation"] = map[string]any{"enabled": true, "initialExecutors": int64(0), "minExecutors": int64(0)}
	} else {
		executor["instances"] = int64(max(1, c.Executors)) // the field must be at least one
	}
	return spec
}
