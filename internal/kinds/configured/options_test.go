package configured_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/engine/apply"
	"github.com/sparkoperator/spark-operator/internal/engine/contract"
	"github.com/sparkoperator/spark-operator/internal/engine/runs"
	"github.com/sparkoperator/spark-operator/internal/kinds/configured"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
	"github.com/sparkoperator/spark-operator/internal/settings/config"
	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/test/kit/hostile"
)

// injections are texts that set the key spark.injected in three places: as an option of spark-submit, as a line of a
// properties file, or as a word in the options of a JVM.
var injections = []string{
	"--conf=spark.injected=x:1", "a:\nspark.injected=1\n\"-Dspark.injected=1\"\n-Dspark.injected=1",
	"a:\r\nspark.injected 1", `a:" "-Dspark.injected=1\`, "$(INJECTED):x",
}

// untypedStride determines how many fields of raw templates the test reaches: one in untypedStride.
const untypedStride = 7

// TestNoFieldBecomesAnOption writes each of the injections into each string field of each kind, and into the keys of
// each map. It checks the objects that a pass creates. The test skips pieces of a pod's template that are options of a
// JVM or a command line by themselves; the rules of the platform judge them (TestRulesSeeOptionsAndVariables).
func TestNoFieldBecomesAnOption(t *testing.T) {
	t.Parallel()

	definitions, err := hostile.Definitions("../../../config/crd")
	if err != nil {
		t.Fatal(err)
	}

	cfg := configWithRules(t, "")
	served := all(func() config.Configuration { return cfg })

	objects, untyped, fields := 0, 0, map[string]bool{}
	for _, d := range definitions {
		if d.Name() == "spark/v1beta1.SparkApplication" || d.Name() == "spark/v1beta1.SparkCluster" {
			continue // their Go types are those of v1
		}

		all, _ := d.Fields()
		for _, f := range all {
			path := f.String()
			if !strings.HasPrefix(path, "spec.") || f.Schema.Type != "string" &&
				(!f.IsMap() || f.Schema.AdditionalProperties.Schema.Type != "string") ||
				strings.HasSuffix(path, "avaOptions") ||
				strings.HasSuffix(path, ".args[]") || strings.HasSuffix(path, ".command[]") {
				continue
			}

			if !f.Typed {
				// The templates have thousands of fields, most of them several times.
				if untyped++; untyped%untypedStride != 0 {
					continue
				}
			}

			for base := range 2 {
				texts := injections
				if base > 0 || !f.Typed {
					texts = injections[:1]
				}

				for _, text := range texts {
					built := createdWith(t, served, caseOf(d, f, base, text), text)

					objects += len(built)
					for _, object := range built {
						fields[path] = true
						for _, problem := range injected(object) {
							t.Errorf("%s %s: %q: %T: %s", d.Name(), path, text, object, problem)
						}
					}
				}
			}
		}
	}

	t.Logf("%d objects, %d fields", objects, len(fields))

	if objects < 10_000 || len(fields) < 1_000 {
		t.Errorf("only %d objects of %d fields were created", objects, len(fields))
	}
}

// caseOf returns a case that sets a field to a text. A map of texts gets an entry with the key k, for which createdWith
// writes the text.
func caseOf(d *hostile.Definition, f *hostile.Field, base int, text string) *hostile.Case {
	if f.IsMap() {
		f, text = &hostile.Field{Path: append(slices.Clone(f.Path), "{}"),
			Schema: f.Schema.AdditionalProperties.Schema}, "x"
	}
	return hostile.At(d, f, base, hostile.Worst{Name: text, Value: func() any { return text }})
}

// createdWith returns the objects that a pass creates for a case, or nothing if it refuses the custom resource.
func createdWith(t *testing.T, served []contract.Kind, c *hostile.Case, injection string) (created []client.Object) {
	t.Helper()

	text, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}

	key, err := json.Marshal(injection)
	if err != nil {
		t.Fatal(err)
	}

	text = bytes.ReplaceAll(text, []byte(`{"k":`), append(append([]byte("{"), key...), ':'))
	for i, admitted := range configured.Admission(nil) {
		if admitted.GVK().Kind != c.Definition.Kind ||
			!strings.HasPrefix(c.Definition.Stored, admitted.GVK().Group+"/") {
			continue
		}

		object := admitted.New()
		if err := json.Unmarshal(text, object); err != nil {
			return nil
		}
		return rendered(served, i, object)
	}

	t.Fatalf("no kind of %s", c.Definition.Name())
	return nil
}

func rendered(served []contract.Kind, i int, object client.Object) (created []client.Object) {
	k := served[i]
	for _, action := range k.Decide(object, lifecycle.Observed{Confirmed: true, Inspected: true, PodsConfirmed: true},
		noon).Actions {
		switch {
		case action.Verb != lifecycle.Create || action.Part == lifecycle.DriverBudget:
		case action.Part == lifecycle.ScheduledRun:
			if run, err := k.(runs.Kind).RenderRun(object, action); err == nil {
				run.SetUID("11111111-2222-4333-8444-555555555556")
				created = append(created, rendered(served, 0, run)...)
			}
		default:
			objects, err := k.(apply.Launcher).Render(object, action, noon)
			if err != nil {
				continue
			}

			for _, before := range objects.Before {
				created = append(created, before)
			}

			if objects.Driver != nil {
				created = append(created, objects.Driver)
			}
		}
	}
	return created
}

// injected returns the places of an object in which spark.injected is set.
func injected(object client.Object) (problems []string) {
	files := map[string]string{}
	switch object := object.(type) {
	case *corev1.ConfigMap:
		files = object.Data
	case *corev1.Secret:
		for name, content := range object.Data {
			files[name] = string(content)
		}
	case *corev1.Pod:
		return injectedOptions(&object.Spec)
	case *appsv1.StatefulSet:
		return injectedOptions(&object.Spec.Template.Spec)
	}

	for name, content := range files {
		if name != "spark.properties" && !strings.HasSuffix(name, ".options") {
			continue
		}

		for _, line := range strings.FieldsFunc(content, func(r rune) bool { return r == '\n' || r == '\r' }) {
			if line = strings.TrimLeft(line, " \t\f"); strings.HasPrefix(line, "spark.injected") ||
				strings.HasPrefix(line, "-D") || strings.Contains(line, `""`) {
				problems = append(problems, name+" has the line "+line)
			}
		}

		read, err := conf.UnmarshalProperties(content)
		if name == "spark.properties" && (err != nil || read.Has("spark.injected")) {
			problems = append(problems, name+" sets spark.injected")
		}
	}
	return problems
}

// withValue are the options with a value that the operator writes.
var withValue = []string{"--proxy-user", "--properties-file", "--class", "--master", "--deploy-mode", "--conf"}

// injectedOptions returns the unexpected options in the command lines of a pod, and the unexpected options of JVMs in
// the variables that the operator writes. It reads a command line as spark-submit does (SparkSubmitOptionParser.parse).
func injectedOptions(spec *corev1.PodSpec) (problems []string) {
	for i := range spec.Containers {
		c := &spec.Containers[i]

		args := c.Args
		switch {
		case len(args) > 1 && (args[0] == "driver" || args[0] == "/opt/spark/bin/spark-submit"):
			args = args[1:]
		case len(args) > 2 && args[0] == "-c" && args[2] == "connect-server":
			args = append(args[3:], "spark-internal")
		case len(args) > 2 && strings.HasSuffix(args[1], "connect-server"):
			args = append(args[2:], "spark-internal")
		default:
			args = []string{"none"}
		}

		for len(args) > 0 && strings.HasPrefix(args[0], "-") {
			switch {
			case args[0] == "--load-spark-defaults":
				args = args[1:]
			case slices.Contains(withValue, args[0]) && len(args) > 1:
				if args[0] == "--conf" && strings.HasPrefix(args[1], "spark.injected") {
					problems = append(problems, "the arguments set spark.injected")
				}

				args = args[2:]
			default:
				problems = append(problems, "an argument is the option "+args[0])
				args = args[1:]
			}
		}

		if len(args) == 0 || strings.HasPrefix(args[0], "$(") {
			problems = append(problems, "the arguments have no main file")
		}

		for _, v := range c.Env {
			options := conf.ReadJavaOptions(v.Value)
			if strings.HasPrefix(v.Name, "SPARK_JAVA_OPT_") || strings.HasSuffix(v.Name, "_OPTS") &&
				len(options.Spark) > 0 {
				problems = append(problems, "the variable "+v.Name+" is "+v.Value)
			}
		}
	}
	return problems
}
