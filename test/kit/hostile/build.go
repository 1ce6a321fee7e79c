package hostile

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// bases contains minimal valid objects of each kind, by the definition's name. The first object of a kind sets only
// what is necessary. The others set fields that make the operator read more parts of the object.
var bases = map[string][]string{
	"sparkoperator/v1beta2.SparkApplication": {
		application,
		application + "  submission: {mode: SparkSubmit}\n",
		application + "  batchScheduler: volcano\n  dynamicAllocation: {enabled: true, maxExecutors: 100}\n" +
			"  monitoring: {exposeDriverMetrics: true, exposeExecutorMetrics: true}\n",
		application + "  batchScheduler: yunikorn\n  restartPolicy: {type: Always}\n",
	},
	"sparkoperator/v1beta2.ScheduledSparkApplication": {
		"spec:\n  schedule: \"*/10 * * * *\"\n  template:\n" + strings.ReplaceAll(strings.TrimPrefix(application, "spec:\n"), "  ", "    "),
	},
	"sparkoperator/v1alpha1.SparkConnect": {
		"spec:\n  sparkVersion: 4.1.4\n  image: spark:4.1.4\n  server: {cores: 1, memory: 512m}\n  executor: {instances: 2, cores: 1, memory: 512m}\n",
	},
	"spark/v1.SparkApplication": {
		apacheApplication, apacheApplication + "    spark.kubernetes.driver.master: k8s://x\n  applicationTolerations: {restartConfig: {restartPolicy: Always}}\n",
	},
	"spark/v1beta1.SparkApplication": {apacheApplication},
	"spark/v1.SparkCluster":          {apacheCluster},
	"spark/v1beta1.SparkCluster":     {apacheCluster},
}

const (
	application = `spec:
  type: Java
  mode: cluster
  sparkVersion: 4.1.4
  image: spark:4.1.4
  mainClass: org.apache.spark.examples.SparkPi
  mainApplicationFile: local:///pi.jar
  driver: {cores: 1, memory: 512m}
  executor: {instances: 2, cores: 1, memory: 512m}
`
	apacheApplication = `spec:
  mainClass: org.apache.spark.examples.SparkPi
  jars: local:///pi.jar
  runtimeVersions: {sparkVersion: 4.1.4}
  sparkConf:
    spark.kubernetes.container.image: spark:4.1.4
`
	apacheCluster = `spec:
  runtimeVersions: {sparkVersion: 4.1.4}
  clusterTolerations: {instanceConfig: {initWorkers: 1, minWorkers: 1, maxWorkers: 3}}
  sparkConf:
    spark.kubernetes.container.image: spark:4.1.4
`
)

// tree is a custom resource as decoded JSON.
type tree = map[string]any

// base returns a new object of a definition: the i-th of its minimal valid objects.
func base(d *Definition, i int) (tree, error) {
	known := bases[d.Name()]
	if len(known) == 0 {
		return nil, fmt.Errorf("no minimal object of %s is known", d.Name())
	}

	var out tree
	if err := yaml.Unmarshal([]byte(known[i%len(known)]), &out); err != nil {
		return nil, err
	}

	out["apiVersion"], out["kind"] = d.Stored, d.Kind
	out["metadata"] = tree{
		"name": "hostile", "namespace": "hostile", "uid": "8a7a2f2e-6c7e-4f0b-9d61-6a1d5b5f0c11", "resourceVersion": "1", "generation": 1,
		"creationTimestamp": "2026-01-01T00:00:00Z",
	}
	return out, nil
}

// put sets the value at a path of an object. It creates missing parents: a list with one item, a map with one entry, or
// an object with the fields that its schema requires.
func put(object tree, s *Schema, path []string, value any) {
	name := path[0]
	property := s.Properties[name]
	object[name] = inner(object[name], &property, path[1:], value)
	required(object, s, name)
}

// required sets the fields that a schema requires and the object lacks, except the field named exception.
func required(object tree, s *Schema, exception string) {
	for _, key := range s.Required {
		if _, there := object[key]; !there && key != exception {
			property := s.Properties[key]
			object[key] = filler(&property, key, 0, distinct, 0)
		}
	}
}

// inner sets a value below a field, and returns the new content of the field. The parameter existing is the old content
// of the field, and the parameter rest is the path from the field to the value. If this path is empty, the value
// becomes the content itself.
func inner(existing any, s *Schema, rest []string, value any) any {
	if len(rest) == 0 {
		return value
	}

	switch rest[0] {
	case "[]":
		items, _ := existing.([]any)

		var first any
		if len(items) > 0 {
			first = items[0]
		} else {
			first = filler(s.Items.Schema, "", 0, distinct, 0)
		}
		return []any{inner(first, s.Items.Schema, rest[1:], value)}
	case "{}":
		entries, _ := existing.(tree)
		if entries == nil {
			entries = tree{}
		}

		entries["k"] = inner(entries["k"], s.AdditionalProperties.Schema, rest[1:], value)
		return entries
	}

	object, _ := existing.(tree)
	if object == nil {
		object = tree{}
	}

	put(object, s, rest, value)
	return object
}

// encode returns the object as the API server sends it.
func encode(object tree) ([]byte, error) { return json.Marshal(object) }
