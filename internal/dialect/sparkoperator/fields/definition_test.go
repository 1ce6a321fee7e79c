package fields

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/sparkoperator/spark-operator/internal/dialect/table"
	"github.com/sparkoperator/spark-operator/test/kit/crd"
)

// elsewhere lists the fields of a SparkApplication that belong to no configuration key and appear in no error of the
// package submit, by the file of the dialect that reads them. If a path ends with a dot, it stands for all fields below
// it.
var elsewhere = map[string][]string{
	"decode.go": {"spec.suspend", "spec.restartPolicy.", "spec.timeouts.", "spec.timeToLiveSeconds"},
	"overlays.go": {
		"spec.ROLE.gpu", "spec.ROLE.env", "spec.ROLE.envFrom", "spec.ROLE.affinity", "spec.ROLE.tolerations", "spec.ROLE.podSecurityContext",
		"spec.ROLE.securityContext", "spec.ROLE.hostNetwork", "spec.ROLE.dnsConfig", "spec.driver.terminationGracePeriodSeconds",
		"spec.ROLE.hostAliases", "spec.ROLE.shareProcessNamespace", "spec.ROLE.lifecycle", "spec.ROLE.priorityClassName",
	},
	"monitoring.go":              {"spec.monitoring."},
	"batch.go":                   {"spec.batchScheduler", "spec.batchSchedulerOptions"},
	"auxiliary.go":               {"spec.sparkUIOptions", "spec.driverIngressOptions", "spec.driverPodDisruptionBudget"},
	"submission.go":              {"spec.submission."},
	"nothing, or only a warning": {"spec.type", "spec.mode", "spec.failureRetries", "spec.retryInterval"},
}

// elsewhereOfConnect is the same for a SparkConnect.
var elsewhereOfConnect = map[string][]string{
	"conf.go":      {"spec.hadoopConf", "spec.executor.gpu"},
	"auxiliary.go": {"spec.ui."},
	"connect.go":   {"spec.suspend"},
}

// TestEveryFieldHasARow walks the definitions. It fails for a field that has neither a row in the kind's table nor an
// exception, and for an exception that is not needed.
func TestEveryFieldHasARow(t *testing.T) {
	everyFieldHasARow(t, "sparkoperator.k8s.io_sparkapplications.yaml", slices.Collect(Application.Rows()), elsewhere)
	everyFieldHasARow(t, "sparkoperator.k8s.io_sparkconnects.yaml", slices.Collect(Connect.Rows()), elsewhereOfConnect)
}

func everyFieldHasARow(t *testing.T, definition string, rows []table.Row, elsewhere map[string][]string) {
	t.Helper()
	spec := crd.Ours(t, definition).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]

	excused := map[string]bool{}
	for _, paths := range elsewhere {
		for _, path := range paths {
			for _, role := range []string{"driver", "executor"} {
				excused[strings.ReplaceAll(path, table.Role, role)] = false
			}
		}
	}
	var walk func(path string, s *apiextensionsv1.JSONSchemaProps)
	walk = func(path string, s *apiextensionsv1.JSONSchemaProps) {
		hasRow := slices.ContainsFunc(rows, func(r table.Row) bool { return r.Path == path })
		for _, exception := range []string{path, path + "."} {
			if _, listed := excused[exception]; listed && !excused[exception] {
				excused[exception] = true

				if hasRow {
					t.Errorf("%s has a row and an exception", path)
				}
				return
			}
		}

		switch {
		case len(s.Properties) > 0 && !strings.HasSuffix(path, ".template") && !strings.HasSuffix(path, ".service"):
			for name, property := range s.Properties {
				walk(path+"."+name, &property)
			}
		case !hasRow:
			t.Errorf("%s has no row: add it to the table of fields, or to the exceptions of this test with the file that reads it", path)
		}
	}
	walk("spec", &spec)

	for path, used := range excused {
		if !used {
			t.Errorf("the exception %s is not needed", path)
		}
	}
}

// readers are the folders with the code that reads each table.
var readers = map[string][]string{
	"Application": {"internal/dialect/sparkoperator/application", "internal/dialect/sparkoperator/schedule", "internal/cli/submission", "internal/cli/doctor"},
	"Connect":     {"internal/dialect/sparkoperator/connect"},
}

// keysOfCode are keys that code names although a row has them, because it does not mean the field.
var keysOfCode = map[string]string{
	"spark.master": "submission removes it: the operator sets it",
	"spark.kubernetes.driver.container.image":   "a default image must not replace these keys of sparkConf",
	"spark.kubernetes.executor.container.image": "a default image must not replace these keys of sparkConf",
}

// TestKeysHaveOneHome checks that no code but the tables names the key of a field. A part of a key counts too, if it
// follows the name of a role.
func TestKeysHaveOneHome(t *testing.T) {
	keysHaveOneHome(t, slices.Collect(Application.Rows()), readers["Application"])
	keysHaveOneHome(t, slices.Collect(Connect.Rows()), readers["Connect"])
}

func keysHaveOneHome(t *testing.T, rows []table.Row, folders []string) {
	t.Helper()

	known := map[string]bool{}
	for _, row := range rows {
		known[row.Key] = row.Key != "" && keysOfCode[row.Key] == ""
		for _, role := range []string{".driver", ".executor"} {
			if _, part, found := strings.Cut(row.Key, role); found && part != "" && part != "." && keysOfCode[row.Key] == "" {
				known[part] = true
			}
		}
	}

	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(crd.Root(t), folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}

		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}

			set := token.NewFileSet()

			tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}

			ast.Inspect(tree, func(node ast.Node) bool {
				if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING {
					if value, _ := strconv.Unquote(text.Value); known[value] {
						t.Errorf("%s: %s is the key of a field: read it from the table", set.Position(text.Pos()), text.Value)
					}
				}
				return true
			})
		}
	}
}

// TestDefinitionDeniesReservedKeys checks that the definition denies exactly the reserved keys of the table, with the
// same advice.
func TestDefinitionDeniesReservedKeys(t *testing.T) {
	spec := crd.Ours(t, "sparkoperator.k8s.io_sparkapplications.yaml").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]

	denied := map[string]string{}
	for _, rule := range spec.Properties["sparkConf"].XValidations {
		key, _, isKey := strings.Cut(strings.TrimPrefix(rule.Rule, "!('"), "' in self)")
		if isKey && rule.Rule == "!('"+key+"' in self)" {
			denied[key] = rule.Message
		}
	}

	want := map[string]string{}
	for key, advice := range Application.Reserved() {
		want[key] = "is not allowed: " + strings.ReplaceAll(advice, "use spec.", "use ")
	}

	if diff := cmp.Diff(want, denied); diff != "" {
		t.Errorf("(-table +definition):\n%s", diff)
	}
}
