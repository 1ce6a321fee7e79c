// Package load is what users would ask of the operator: applications of several classes, each with its own rate, described in YAML. It is pure but for
// Send: the same description gives the same applications, at the same moments, wherever it is read.
package load

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Spec is a description of load.
type Spec struct {
	// Seed decides what is left to chance: run times and failures.
	Seed uint64 `json:"seed,omitempty"`
	// Classes are sent side by side, each at its own rate.
	Classes []Class `json:"classes"`
}

// Class is a number of applications of one kind.
type Class struct {
	// Name begins the applications' names: NAME-0 and so on. It is unique among the classes.
	Name string `json:"name"`
	// Namespace is where they go; with Namespaces it is spread over so many, NAMESPACE-0 and so on.
	Namespace  string `json:"namespace"`
	Namespaces int    `json:"namespaces,omitempty"`
	// Count is how many there are.
	Count int `json:"count"`
	// Rate is how many are sent a second; 0 sends them at once.
	Rate float64 `json:"rate,omitempty"`
	// Executors is how many each driver asks for.
	Executors int `json:"executors,omitempty"`
	// Placed has the simulated driver ask for executors that say their node, which spares the scheduler them: half of the writes that
	// standing executors cost.
	Placed bool `json:"placed,omitempty"`
	// Run is how long a driver runs once its executors are asked for; ExecutorRun how long an executor does, 0 for as long as its driver.
	Run         Range `json:"run,omitzero"`
	ExecutorRun Range `json:"executorRun,omitzero"`
	// Fail is the share of drivers that exit with 1.
	Fail float64 `json:"fail,omitempty"`
	// Spec is merged into the applications' spec, over what they have anyway; a list replaces the list that was there, and null takes a field away.
	Spec map[string]any `json:"spec,omitempty"`
}

// Range is two durations, between which one is drawn; in YAML "2s" or "2s..5s".
type Range struct{ From, To time.Duration }

// For is the range that has one duration only.
func For(d time.Duration) Range { return Range{d, d} }

// String is a range in words: "2s to 5s".
func (r Range) String() string {
	if r.From == r.To {
		return r.From.String()
	}
	return r.From.String() + " to " + r.To.String()
}

// UnmarshalJSON reads "2s" and "2s..5s".
func (r *Range) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("%s is no duration or range of durations, such as 2s or 2s..5s", text)
	}
	from, to, isRange := strings.Cut(s, "..")
	if !isRange {
		to = from
	}
	var err error
	if r.From, err = time.ParseDuration(from); err == nil {
		r.To, err = time.ParseDuration(to)
	}
	if err == nil && (r.From < 0 || r.To < r.From) {
		err = fmt.Errorf("%q does not go from less to more", s)
	}
	return err
}

func (r Range) draw(chance *rand.Rand) time.Duration {
	if r.To == r.From {
		return r.From
	}
	return r.From + time.Duration(chance.Int64N(int64(r.To-r.From)+1)).Truncate(time.Millisecond)
}

// Application is one application and when it is sent, counted from the start.
type Application struct {
	Class, Namespace, Name string
	At                     time.Duration
	Object                 *unstructured.Unstructured
}

// Count is how many applications a description has.
func (s Spec) Count() (n int) {
	for _, c := range s.Classes {
		n += c.Count
	}
	return n
}

// Rate is how many applications are sent a second while all classes are; 0 where some are sent at once.
func (s Spec) Rate() (rate float64) {
	for _, c := range s.Classes {
		if c.Rate == 0 {
			return 0
		}
		rate += c.Rate
	}
	return rate
}

// Sized is the same load of n applications: as many of each class as are due to it, but one at least, and the rest of the first. Rates stay as they are.
func (s Spec) Sized(n int) Spec {
	all := s.Count()
	s.Classes = slices.Clone(s.Classes)
	first := n
	for i := len(s.Classes) - 1; i >= 0; i-- {
		c := &s.Classes[i]
		if i > 0 {
			c.Count = max(1, c.Count*n/all)
			first -= c.Count
		} else {
			c.Count = max(1, first)
		}
		c.Namespaces = min(c.Namespaces, c.Count)
	}
	return s
}

// Named is the same load of classes of other names, in other namespaces.
func (s Spec) Named(name, namespace string) Spec {
	s.Classes = slices.Clone(s.Classes)
	for i := range s.Classes {
		s.Classes[i].Name, s.Classes[i].Namespace = name+"-"+s.Classes[i].Name, namespace
	}
	return s
}

// Namespaces are those that the applications go to, each once.
func (s Spec) Namespaces() (names []string) {
	known := map[string]bool{}
	for _, c := range s.Classes {
		for i := range max(1, c.Namespaces) {
			if name := c.namespace(i); !known[name] {
				known[name], names = true, append(names, name)
			}
		}
	}
	return names
}

// Applications are all applications in the order in which they are sent; of those that are due at one moment each class has its turn.
func (s Spec) Applications() iter.Seq[Application] {
	return func(yield func(Application) bool) {
		next := make([]int, len(s.Classes))
		for {
			of := -1
			for i, c := range s.Classes {
				if next[i] == c.Count {
					continue
				}
				if of < 0 || cmp.Or(cmp.Compare(c.at(next[i]), s.Classes[of].at(next[of])), cmp.Compare(next[i], next[of])) < 0 {
					of = i
				}
			}
			if of < 0 || !yield(s.application(of, next[of])) {
				return
			}
			next[of]++
		}
	}
}

func (c Class) at(i int) time.Duration {
	if c.Rate == 0 {
		return 0
	}
	return time.Duration(float64(i) / c.Rate * float64(time.Second))
}

func (c Class) namespace(i int) string {
	if c.Namespaces == 0 {
		return c.Namespace
	}
	return c.Namespace + "-" + strconv.Itoa(i%c.Namespaces)
}

// application is number i of a class. What is drawn for it depends on the seed, the class and the number alone.
func (s Spec) application(class, i int) Application {
	c := s.Classes[class]
	a := Application{Class: c.Name, Namespace: c.namespace(i), Name: c.Name + "-" + strconv.Itoa(i), At: c.at(i)}
	chance := rand.New(rand.NewPCG(s.Seed, uint64(class)<<32|uint64(i)))
	program := Program{Executors: c.Executors, Placed: c.Placed, Run: c.Run.draw(chance), ExecutorRun: c.ExecutorRun.draw(chance)}
	if chance.Float64() < c.Fail {
		program.Exit = 1
	}
	spec := map[string]any{
		"type": "Scala", "mode": "cluster", "sparkVersion": "4.1.4", "image": "docker.io/apache/spark:4.1.4",
		"mainClass": "org.apache.spark.examples.SparkPi", "mainApplicationFile": "local:///opt/spark/examples/jars/spark-examples.jar",
		"arguments": program.Arguments(),
		"driver":    map[string]any{"cores": int64(1), "memory": "512m", "serviceAccount": "default"},
		// The field wants one at least; the simulated driver asks for as many as its arguments say.
		"executor": map[string]any{"instances": int64(max(1, c.Executors)), "cores": int64(1), "memory": "512m"},
	}
	merge(spec, runtime.DeepCopyJSON(c.Spec))
	a.Object = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
		"metadata": map[string]any{"name": a.Name, "namespace": a.Namespace},
		"spec":     spec,
	}}
	return a
}

// merge lays one object over another. What is null there is left out.
func merge(under, over map[string]any) {
	for key, value := range over {
		if value == nil {
			delete(under, key)
			continue
		}
		if sub, ok := value.(map[string]any); ok {
			if has, ok := under[key].(map[string]any); ok {
				merge(has, sub)
				continue
			}
		}
		under[key] = value
	}
}
