package telemetry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// otherReasons holds reasons that are not wait reasons: the reasons of conditions other than Ready and Degraded.
var otherReasons = map[string]bool{
	// The first reasons are those of the condition Exposed.
	"InvalidPort": true, "InvalidAddress": true, "SwitchedOff": true, "NoGateway": true, "LeftByAnotherOperator": true,
	"SetBySpark": true,                                                                    // FieldsOverwritten
	"NoExporter": true, "NothingExposed": true, "ServletMissing": true, "PortTaken": true, // MonitoringImpaired
	"ImageRunsAnotherVersion": true,                                             // SparkVersionMismatch
	"ServerReady":             true, "ServerStarting": true, "RollingOut": true, // Progressing
	"Scheduled":           true,                               // Ready, if it is True
	"KueueIntegrationOff": true, "KueueWorkloadMissing": true, // QueueIgnored
}

var nameOfReason = regexp.MustCompile(`^[rR]eason[A-Z]`)

// reasonsOf returns the reasons among a package's string constants, with their positions. It recognizes a reason by the
// name of the constant or, for phases and outcomes, by the type.
func reasonsOf(t *testing.T, folder string) map[string]string {
	t.Helper()

	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}

	files, found := token.NewFileSet(), map[string]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}

		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok {
				return true
			}

			kind, _ := spec.Type.(*ast.Ident)
			for i, name := range spec.Names {
				if i >= len(spec.Values) || !nameOfReason.MatchString(name.Name) &&
					(kind == nil || kind.Name != "Phase" && kind.Name != "Outcome") {
					continue
				}

				if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					found[strings.Trim(literal.Value, `"`)] = files.Position(name.Pos()).String()
				}
			}
			return true
		})
	}
	return found
}

// TestEveryReasonIsToldApart checks that each reason in the code has its own value of the label reason. An alert with
// the reason Other would not help the engineer on call.
func TestEveryReasonIsToldApart(t *testing.T) {
	all := map[string]string{}
	for folder, least := range map[string]int{
		"../../lifecycle": 40, "../../engine/apianswer": 14, "../../engine/auxiliary": 2, "../../engine/hold": 1,
		"../../engine/dependents": 1,
		"../../dialect":           4, "../../dialect/sparkoperator": 3, "../../dialect/sparkoperator/application/*": 5,
		"../../dialect/sparkoperator/connect": 3, "../../dialect/sparkoperator/schedule": 3,
	} {
		found := reasonsOf(t, folder)
		if len(found) < least {
			t.Errorf("%s has %d reasons, at least %d were expected: do their constants have other names now?", folder,
				len(found), least)
		}

		for reason, where := range found {
			all[reason] = where
			if reason != "" && !otherReasons[reason] && reasonValue(reason) != reason {
				t.Errorf("%s: reason %q is %q in metrics: add it to reasons in bounded.go, or to otherReasons with its condition", where, reason, reasonValue(reason))
			}
		}
	}

	for reason := range otherReasons {
		if all[reason] == "" {
			t.Errorf("no constant has the reason %q any more", reason)
		}
	}

	if got := reasonValue("SomethingOfTheKubelet"); got != otherReason {
		t.Errorf("an unknown reason is %q", got)
	}
}
