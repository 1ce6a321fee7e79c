package hostile

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// specialStride determines how many special cases are in the sample: one in specialStride.
const specialStride = 7

// special returns objects in which a combination of fields is hostile. Reviews and earlier runs found these
// combinations.
func (g *Generator) special(d *Definition) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for i, c := range slices.Concat(g.markers(d), g.references(d), g.programs(d), g.schedules(d), g.filled(d), g.fieldOwners(d), g.ended(d)) {
			if !g.Thorough && i%specialStride != 0 {
				continue
			}

			if !yield(c) {
				return
			}
		}
	}
}

func special(d *Definition, field, value string, set func(tree)) *Case {
	return &Case{Definition: d, Field: field, Value: value, set: set}
}

// markers returns objects that repeat a placeholder such as {{APP_NAME}} many times, while the text that replaces it is
// as long as possible.
func (g *Generator) markers(d *Definition) []*Case {
	if !strings.HasPrefix(d.APIVersion, "spark.apache.org") {
		return nil
	}

	var all []*Case
	for _, version := range []int{10, 128, 4096, 150 << 10} {
		for _, marker := range []string{"{{SPARK_VERSION}}", "{{SCALA_VERSION}}", "{{JDK_VERSION}}", "{{APP_NAME}}"} {
			value := fmt.Sprintf("%s x %d KiB, with versions of %d bytes", marker, 300, version)
			all = append(all, special(d, "spec.sparkConf{} x spec.runtimeVersions", value, func(object tree) {
				spec := object["spec"].(tree)
				long := "4.1.4" + strings.Repeat("1", version)

				spec["runtimeVersions"] = tree{"sparkVersion": long, "scalaVersion": long, "jdkVersion": "17" + long}
				for _, key := range []string{"spark.x", "spark.kubernetes.container.image", "spark.kubernetes.driver.container.image"} {
					spec["sparkConf"].(tree)[key] = strings.Repeat(marker, 100<<10/len(marker))
				}
			}))
		}
	}
	return all
}

// references returns objects whose Spark configuration expands to long texts. In some objects, many keys refer to the
// same long text. In others, each key of a chain refers twice to the next key.
func (g *Generator) references(d *Definition) []*Case {
	var all []*Case
	for _, prefix := range []string{
		"spark.kubernetes.driver.annotation.", "spark.kubernetes.executor.annotation.", "spark.kubernetes.driver.label.", "spark.executorEnv.",
		"spark.kubernetes.driverEnv.", "spark.kubernetes.driver.service.annotation.", "spark.kubernetes.driver.node.selector.", "spark.x.",
		"spark.kubernetes.driver.secrets.", "spark.kubernetes.driver.volumes.hostPath.",
	} {
		for _, size := range []int{60, 4096, 400 << 10} {
			all = append(all, conf(d, fmt.Sprintf("1900 of %s, each a reference to %d bytes", prefix, size), func() tree {
				out := tree{"spark.big": strings.Repeat("/", size)}
				for i := range 1900 {
					key := prefix + "n" + strconv.Itoa(i)
					if strings.Contains(prefix, ".volumes.") {
						key += ".mount.path"
					}

					out[key] = "${spark.big}"
				}
				return out
			}))
		}
	}

	twice := func() tree {
		out := tree{}
		for i := range 30 {
			out["spark.n"+strconv.Itoa(i)] = strings.Repeat(fmt.Sprintf("${spark.n%d}", i+1), 2)
		}

		out["spark.n30"] = "x"
		for _, key := range g.Keys {
			if !strings.HasSuffix(key, ".") {
				out[key] = "${spark.n0}"
			}
		}
		return out
	}
	long := func() tree {
		out := tree{"spark.big": strings.Repeat("a,", 190<<10)}
		for _, key := range g.Keys {
			if !strings.HasSuffix(key, ".") {
				out[key] = "${spark.big}"
			}
		}
		return out
	}
	return append(all, conf(d, "every key a reference that doubles 30 times", twice), conf(d, "every key a reference to one long text", long))
}

// programs returns cases with hostile values of spark.redaction.regex. The operator matches this regular expression
// against long texts to find secrets.
func (g *Generator) programs(d *Definition) []*Case {
	var all []*Case
	for _, program := range programs() {
		all = append(all, conf(d, "the pattern of secrets "+program.name+", and 400 KiB of text", func() tree {
			out := tree{"spark.redaction.regex": program.make(program.size)}
			for i := range 40 {
				out["spark.x"+strconv.Itoa(i)] = strings.Repeat("a", 10<<10)
			}
			return out
		}))
	}
	return all
}

// conf returns a case that adds entries to the Spark configuration.
func conf(d *Definition, value string, entries func() tree) *Case {
	path := []string{"spec", "sparkConf"}
	if d.Kind == "ScheduledSparkApplication" {
		path = []string{"spec", "template", "sparkConf"}
	}
	return special(d, strings.Join(path, ".")+"{} together", value, func(object tree) {
		put(object, d.Schema, path, merged(object, path, entries()))
	})
}

// templatePaths contains the paths of the pod templates in the spec of each definition. The definitions' schemas do not
// list the fields of these templates.
var templatePaths = map[string]struct {
	paths [][]string
	whole bool // the template is inside the spec of a StatefulSet
}{
	"sparkoperator.k8s.io SparkApplication":          {paths: [][]string{{"driver", "template"}, {"executor", "template"}}},
	"sparkoperator.k8s.io ScheduledSparkApplication": {paths: [][]string{{"template", "driver", "template"}, {"template", "executor", "template"}}},
	"sparkoperator.k8s.io SparkConnect":              {paths: [][]string{{"server", "template"}, {"executor", "template"}}},
	"spark.apache.org SparkApplication":              {paths: [][]string{{"driverSpec", "podTemplateSpec"}, {"executorSpec", "podTemplateSpec"}}},
	"spark.apache.org SparkCluster":                  {paths: [][]string{{"masterSpec", "statefulSetSpec"}, {"workerSpec", "statefulSetSpec"}}, whole: true},
}

// maxValues is the largest number of values in two templates together. It is the operator's limit for a whole spec,
// minus the values of the fields outside the templates.
const maxValues = 10_000 - 200

// templates returns objects whose pod templates have many containers with long lists, up to the operator's limits. Such
// templates are costly, because each pass reads them several times.
func (g *Generator) templates(d *Definition) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		group, _, _ := strings.Cut(d.APIVersion, "/")

		where := templatePaths[group+" "+d.Kind]
		for l, list := range []struct {
			field string
			value func(i int) tree
		}{
			{"env", func(i int) tree { return tree{"name": "E" + strconv.Itoa(i)} }},
			{"ports", func(i int) tree { return tree{"containerPort": i + 1} }},
			{"envFrom", func(i int) tree { return tree{"prefix": "p" + strconv.Itoa(i)} }},
			{"volumeMounts", func(i int) tree { return tree{"name": "v", "mountPath": "/" + strconv.Itoa(i)} }},
		} {
			for c, containers := range []int{1, 20, 200} {
				if g.shares() && (l+c+slices.Index(g.Definitions, d))%3 != 0 {
					continue
				}

				name := fmt.Sprintf("%d containers, and as many %s as the operator takes", containers, list.field)
				each := min(maxValues/len(where.paths)/containers/(1+len(list.value(0)))-3, most)

				made := special(d, "pod templates", name, func(object tree) {
					for _, path := range where.paths {
						template := templateOf(containers, each, list.field, list.value)
						if where.whole {
							template = tree{"template": template}
						}

						put(object, d.Schema, append([]string{"spec"}, path...), template)
					}
				})
				if len(where.paths) > 0 && !yield(made) {
					return
				}
			}
		}
	}
}

func templateOf(containers, each int, field string, value func(i int) tree) tree {
	var all []any
	for i := range containers {
		var list []any
		for j := range each {
			list = append(list, value(j))
		}

		all = append(all, tree{"name": "c" + strconv.Itoa(i), "image": "i", field: list})
	}
	return tree{"spec": tree{"containers": all}}
}

// schedules returns ScheduledSparkApplications whose last run was at an extreme time.
func (g *Generator) schedules(d *Definition) []*Case {
	if d.Kind != "ScheduledSparkApplication" {
		return nil
	}

	var all []*Case
	for _, schedule := range []string{"* * * * *", "0 0 30 2 *", "0 0 29 2 0", "@every 1s", "@every 1ns", "0 0 31 2,4,6,9,11 *", "59 23 29 2 1"} {
		for _, zone := range []string{"", "Pacific/Apia", "Africa/Casablanca", "America/St_Johns"} {
			for _, last := range []string{"0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"} {
				all = append(all, special(d, "spec.schedule x spec.timeZone x status.lastRun", schedule+" "+zone+" "+last, func(object tree) {
					spec := object["spec"].(tree)

					spec["schedule"] = schedule
					if zone != "" {
						spec["timeZone"] = zone
					}

					spec["startingDeadlineSeconds"] = 1<<31 - 1
					object["metadata"].(tree)["creationTimestamp"] = last
					object["status"] = tree{"lastRun": last, "nextRun": last, "scheduleState": "Scheduled"}
				}))
			}
		}
	}
	return all
}

// filled returns objects in which many lists and maps are long. The objects are as large as the operator or etcd
// accepts.
func (g *Generator) filled(d *Definition) []*Case {
	var all []*Case
	for _, size := range []int{specSize, etcdSize} {
		for _, typed := range []bool{true, false} {
			for _, count := range []int{20, 100, most} {
				value := fmt.Sprintf("%d each, %d KiB in all, typed %t", count, size>>10, typed)
				all = append(all, special(d, "all lists and maps", value, func(object tree) {
					fields, _ := d.Fields()

					left := size
					for _, f := range fields {
						if !f.IsList() && !f.IsMap() || f.Path[0] != "spec" || strings.Contains(f.String(), "[]") || f.Typed != typed || left < 4096 {
							continue
						}

						value := many(f, count, left/4)
						left -= sizeOf(value)
						put(object, d.Schema, f.Path, value)
					}
				}))
			}
		}
	}
	return all
}

// fieldOwners returns an object with as many managed fields as etcd accepts.
func (g *Generator) fieldOwners(d *Definition) []*Case {
	return []*Case{special(d, "metadata.managedFields", "as many as etcd takes", func(object tree) {
		var entries []any
		for i := range 6000 {
			entries = append(entries, tree{
				"manager": "m" + strconv.Itoa(i), "operation": "Apply", "apiVersion": d.APIVersion, "time": "2026-01-01T00:00:00Z",
				"fieldsType": "FieldsV1", "fieldsV1": tree{"f:spec": tree{"f:n" + strconv.Itoa(i): tree{}}},
			})
		}

		object["metadata"].(tree)["managedFields"] = entries
	})}
}

// ended returns an application of spark.apache.org whose status has a long history.
func (g *Generator) ended(d *Definition) []*Case {
	if d.Kind != "SparkApplication" || !strings.HasPrefix(d.APIVersion, "spark.apache.org") {
		return nil
	}
	return []*Case{special(d, "status.stateTransitionHistory{}", "2000 entries out of order, of which the last is current", func(object tree) {
		history := tree{}
		for i := range 2000 {
			history[strconv.Itoa(i*7919%100003)] = tree{"currentStateSummary": "RunningHealthy", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "m"}
		}

		object["status"] = tree{"stateTransitionHistory": history, "currentState": tree{"currentStateSummary": "RunningHealthy", "lastTransitionTime": "2026-01-01T00:00:00Z"}}
	})}
}

// Ordinary returns the minimal objects of a definition, without hostile values.
func Ordinary(d *Definition) []*Case {
	var all []*Case
	for base := range bases[d.Name()] {
		all = append(all, &Case{Definition: d, Field: "nothing", Value: "ordinary", base: base, set: func(tree) {}})
	}
	return all
}

// Of returns the cases of one definition. Unlike All, it does not leave out cases of twin fields.
func (g *Generator) Of(d *Definition) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for _, cases := range []func(*Definition) iter.Seq[*Case]{g.alone, g.confs, g.pairs, g.special, g.templates} {
			for c := range cases(d) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Filled returns the cases in which many lists and maps are long.
func (g *Generator) Filled(d *Definition) iter.Seq[*Case] { return slices.Values(g.filled(d)) }
