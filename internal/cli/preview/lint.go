package preview

import (
	"cmp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/manifest"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// The severities of findings.
const (
	Error   = "error"   // the API server or the operator rejects the manifest
	Warning = "warning" // a part of the manifest has no effect, or may have another effect than its author expects
)

// The rules that findings belong to, besides those of package manifest.
const (
	ruleNoEffect = "no-effect"
	rulePolicy   = "policy"
)

// rules describes the rules.
var rules = []struct{ ID, Text string }{
	{manifest.RuleSyntax, "The file is valid YAML or JSON."},
	{manifest.RuleKind, "The API groups of the operator have the kind."},
	{manifest.RuleForeign, "A kind of the operator is in one of its API groups."},
	{manifest.RuleMissingField, "All required fields are set."},
	{manifest.RuleInvalid, "The API server and the operator accept the custom resource, and the operator can launch it."},
	{manifest.RuleUnknownField, "The kind has all fields that the manifest sets."},
	{manifest.RuleDuplicate, "No object has a key twice."},
	{manifest.RulePlaceholder, "All placeholders are replaced."},
	{ruleNoEffect, "All fields that the manifest sets have an effect."},
	{rulePolicy, "The rules of the platform allow the custom resource."},
}

// Finding is one problem that the check found.
type Finding struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	// Object is the kind and the name of the custom resource. It is empty if the document could not be read.
	Object  string `json:"object,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Report is the result of checking files.
type Report struct {
	Findings []Finding `json:"findings"`
	// Files and Objects are the numbers of files and of the operator's custom resources that were checked.
	Files   int `json:"files"`
	Objects int `json:"objects"`
}

// Count returns the number of findings of a severity.
func (r *Report) Count(severity string) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// Add checks the custom resources in a file and adds the findings to the report. If strict is set, an unknown field is
// an error, as it is for kubectl.
func (r *Report) Add(o Operator, file string, data []byte, strict bool) {
	r.Files++
	documents, faults := manifest.Read(file, data)

	found := findings(faults, "", strict)
	for i := range documents {
		object, faults := documents[i].Object()
		name := documents[i].Name()

		found = append(found, findings(faults, name, strict)...)
		if slices.ContainsFunc(faults, func(f *manifest.Fault) bool { return f.Rule != manifest.RuleKind && f.Rule != manifest.RuleForeign }) || object != nil {
			r.Objects++
		}

		lacking := false
		if slices.ContainsFunc(faults, func(f *manifest.Fault) bool { return f.Rule == manifest.RuleInvalid }) {
			object, lacking = documents[i].Partial(faults)
		}

		if object != nil {
			more := check(o, &documents[i], object, faults, lacking)
			// The operator refuses the placeholder in the same words.
			found = append(slices.DeleteFunc(found, func(f Finding) bool {
				return f.Rule == manifest.RulePlaceholder && slices.ContainsFunc(more, func(g Finding) bool { return g.Line == f.Line && g.Message == f.Message })
			}), more...)
		}
	}

	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
	r.Findings = append(r.Findings, found...)
}

// findings converts faults of a manifest into findings about the object with the given name.
func findings(faults []*manifest.Fault, name string, strict bool) (found []Finding) {
	for _, f := range faults {
		severity := Error
		if f.Warning() && (!strict || f.Rule != manifest.RuleUnknownField) {
			severity = Warning
		}

		found = append(found, at(f.Place, Finding{Severity: severity, Rule: f.Rule, Object: name, Field: f.Field, Message: f.Message}))
	}
	return found
}

func at(place manifest.Place, f Finding) Finding {
	f.File, f.Line, f.Column = place.File, place.Line, place.Column
	return f
}

// check returns the findings about one custom resource, except those about the fields that already have a fault. If the
// custom resource lacks these fields, it leaves out the findings about their neighbours, which may follow from that.
func check(o Operator, d *manifest.Document, object client.Object, known []*manifest.Fault, lacking bool) (found []Finding) {
	add := func(severity, rule, field, message string) {
		f := at(d.Place(field), Finding{Severity: severity, Rule: rule, Object: d.Name(), Field: field, Message: message})
		if !slices.Contains(found, f) {
			found = append(found, f)
		}
	}
	for field, way := range ignored {
		if d.Has(field) && strings.HasPrefix(d.Kind().GroupVersion().String(), "sparkoperator.k8s.io/v1beta2") {
			add(Warning, ruleNoEffect, field, "has no effect: "+way)
		}
	}

	rule, faults, err := faultsOf(o, object)
	if err != nil {
		add(Error, manifest.RuleInvalid, "", err.Error())
	}

	for _, fault := range faults {
		if !slices.ContainsFunc(known, func(f *manifest.Fault) bool { return explains(f, fault.Field, lacking) }) {
			add(Error, rule, fault.Field, fault.Message)
		}
	}

	if len(faults) > 0 || slices.ContainsFunc(known, func(f *manifest.Fault) bool { return !f.Warning() }) {
		return found
	}

	for _, warning := range warnings(o, object) {
		field, message := fieldOf(d, warning)
		add(Warning, ruleNoEffect, field, message)
	}
	return found
}

// explains reports whether a known fault is about a field or, in a custom resource that lacks the fault's own field,
// about one of the field's neighbours.
func explains(known *manifest.Fault, field string, lacking bool) bool {
	parent := known.Field[:max(strings.LastIndexByte(known.Field, '.'), 0)]
	consequence := lacking && strings.Count(parent, ".") > 0 && below(field, parent)
	return !known.Warning() && (known.Field == field || below(field, known.Field) || consequence)
}

// below reports whether a field is in another.
func below(field, other string) bool {
	return strings.HasPrefix(field, other+".") || strings.HasPrefix(field, other+"[")
}

// faultsOf returns the faults for which the operator would reject an object, and the lint rule that they break. If the
// spec itself has faults, faultsOf returns only these. Otherwise it returns the violations of the platform's rules.
func faultsOf(o Operator, object client.Object) (string, []*dialect.FieldError, error) {
	review, err := o.Review(object)
	if err != nil || len(review.Faults) == 0 {
		return manifest.RuleInvalid, nil, err
	}

	unruled, err := o.Unruled().Review(object)
	if err != nil || len(unruled.Faults) > 0 {
		return manifest.RuleInvalid, unruled.Faults, err
	}
	return rulePolicy, review.Faults, nil
}

// ignored contains the fields that are accepted but have no effect. The value of each entry says what to do instead.
var ignored = func() map[string]string {
	fields := map[string]string{}
	for _, spec := range []string{"spec.", "spec.template."} {
		fields[spec+"failureRetries"] = "use restartPolicy.onFailureRetries"
		fields[spec+"retryInterval"] = "use restartPolicy.onFailureRetryInterval"
		fields[spec+"pythonVersion"] = "Spark has ignored it since 3.1; set PYSPARK_PYTHON instead"
	}
	return fields
}()

// warnings returns the operator's warnings about the launch of an object. For a schedule, they are about its next run.
func warnings(o Operator, object client.Object) []string {
	launched, err := o.Launch(object)
	if err != nil {
		return nil // a fault, which is reported
	}

	review, err := o.Review(object) // warns also about objects that are held, and about Services
	if err != nil {
		return nil
	}

	var found []string
	for _, warning := range append(launched.Warnings, review.Warnings...) {
		// A condition names the same field as users write it.
		if !strings.HasPrefix(warning, submit.OverwrittenPrefix) && !slices.Contains(found, warning) {
			found = append(found, warning)
		}
	}

	for _, run := range launched.Runs {
		for _, warning := range warnings(o, run) {
			if field, ok := strings.CutPrefix(warning, "spec."); ok {
				warning = "spec.template." + field
			}

			found = append(found, warning)
		}
	}
	return found
}

// fieldOf splits a warning into the name of the field with which the warning begins, and the rest. If the warning
// begins with a Spark configuration key, the field is the entry of sparkConf with that key.
func fieldOf(d *manifest.Document, warning string) (field, message string) {
	end := strings.IndexAny(warning, " :")
	if end < 0 {
		return "spec", warning
	}

	first, rest := warning[:end], strings.TrimLeft(warning[end:], ": ")
	if strings.HasPrefix(first, "spec.") || strings.HasPrefix(first, "metadata.") {
		return first, rest
	}

	for _, conf := range []string{"spec.sparkConf[" + first + "]", "spec.template.sparkConf[" + first + "]"} {
		if d.Has(conf) {
			return conf, rest
		}
	}
	return "spec", warning
}
