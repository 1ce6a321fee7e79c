package refusal

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/test/kit/crd"
	"github.com/sparkoperator/spark-operator/test/kit/crd/admission"
)

// files maps the file of each definition to its versions and its file of refused custom resources.
var files = map[string]struct {
	versions []string
	refusals string
}{
	"sparkoperator.k8s.io_sparkapplications.yaml":          {[]string{"v1beta2"}, "sparkoperator/application"},
	"sparkoperator.k8s.io_scheduledsparkapplications.yaml": {[]string{"v1beta2"}, "sparkoperator/schedule"},
	"sparkoperator.k8s.io_sparkconnects.yaml":              {[]string{"v1alpha1"}, "sparkoperator/connect"},
	"spark.apache.org_sparkapplications.yaml":              {[]string{"v1", "v1beta1"}, "apache/application"},
	"spark.apache.org_sparkclusters.yaml":                  {[]string{"v1", "v1beta1"}, "apache/cluster"},
}

func read(t *testing.T, name string) File {
	return Must(t, "../../../internal/dialect/"+name+"/testdata/refusals.yaml")
}

// inTemplates turns rows for applications into rows for schedules: it moves the spec of each row into spec.template. It
// leaves out rows that set no field of the spec.
func inTemplates(t *testing.T, rows []Row) (out []Row) {
	nested := func(piece string) string {
		var object struct {
			Spec any `json:"spec"`
		}
		if err := yaml.Unmarshal([]byte(piece), &object); err != nil {
			t.Fatal(err)
		}

		if object.Spec == nil {
			return ""
		}

		text, err := json.Marshal(map[string]any{"spec": map[string]any{"template": object.Spec}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, r := range rows {
		if r.Piece = nested(r.Piece); r.Piece == "" {
			continue // the row is about metadata, which a template does not have
		}

		r.Also = slices.Clone(r.Also)
		for i := range r.Also {
			r.Also[i] = nested(r.Also[i])
		}

		out = append(out, r)
	}
	return out
}

// TestDefinitionsRefuseTheirRows compares the definitions with docs/validation.md. In each version, a definition must
// refuse a row's object if the page lists the row as refused by the definition, and must accept it otherwise. Each
// validation rule of a definition must refuse the object of at least one row.
func TestDefinitionsRefuseTheirRows(t *testing.T) {
	for file, of := range files {
		rows := read(t, of.refusals)
		if of.refusals == "sparkoperator/schedule" {
			rows.Refusals = append(rows.Refusals, inTemplates(t, read(t, "sparkoperator/application").Refusals)...)
		}

		for _, version := range of.versions {
			var refused field.ErrorList

			object := func(pieces ...string) map[string]any {
				object := map[string]any{}
				if err := json.Unmarshal(rows.JSON(t, pieces...), &object); err != nil {
					t.Fatal(err)
				}

				object["apiVersion"] = strings.Split(file, "_")[0] + "/" + version
				return object
			}
			if errs := admission.Faults(t, file, version, object()); len(errs) > 0 {
				t.Errorf("%s %s: the valid object is refused: %v", file, version, errs)
			}

			for _, r := range rows.Refusals {
				for i, piece := range append([]string{r.Piece}, r.Also...) {
					errs := admission.Faults(t, file, version, object(piece))

					refused = append(refused, errs...)
					switch {
					case (len(errs) > 0) != (r.By == ByDefinition):
						t.Errorf("%s %s: %s: want it to be refused by %q, but the definition finds %v", file, version,
							piece, r.By, errs)
					case i == 0 && len(errs) > 0 && !strings.Contains(errs.ToAggregate().Error(), r.Says):
						t.Errorf("%s %s: %s: the definition says %v, want %q", file, version, piece, errs, r.Says)
					}
				}
			}

			for _, rule := range crd.Rules(crd.Ours(t, file), version) {
				if !slices.ContainsFunc(refused, func(e *field.Error) bool { return says(e, rule) && at(e, rule) }) {
					t.Errorf("%s %s: no row of the kind's testdata/refusals.yaml is refused by the rule at %q: %s",
						file, version, rule.Path, rule.Message)
				}
			}
		}
	}
}

// says reports whether an error has the message of a rule. A computed message ends with the advice of the fixed one.
func says(e *field.Error, rule crd.Rule) bool {
	advice := rule.Message[strings.LastIndex(rule.Message, "; ")+1:]
	return e.Detail == rule.Message || rule.MessageExpression != "" && strings.HasSuffix(e.Detail, advice)
}

// at reports whether an error may come from a rule. It compares the field of the error with the path of the rule, up to
// the first list in that path.
func at(e *field.Error, rule crd.Rule) bool {
	path, _, _ := strings.Cut(rule.Path, "[]")
	return path == "" || strings.HasPrefix("."+e.Field, path)
}
