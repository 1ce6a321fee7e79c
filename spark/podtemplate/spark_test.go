package podtemplate_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/test/record/templates"
)

// These are the kinds of templates that only one side accepts. The patterns match the form of the template, the version
// of Spark and the error of the other side. docs/decisions/0034-decoding.md gives the reasons.
var (
	weRefuse = []string{
		`.*: .*: is set twice in the same object; `,
		`.*: .*: differs from .* in the same object only by upper and lower case; `,
		`field .*: is (a number|(the number|the boolean|the text) .*), not (text|a boolean|a whole number|a number|a quantity|in the range of the field); `,
		`file 4.*[mM]ode: is the text "([-+]0400|0888|0409)", not a whole number; `, // Spark 4.0 reads another number
		`file .*: has the character .* at line .*; put the value in double quotation marks`,
		// A map as a key, which Spark 4.3 refuses.
		`file .*: has a key at line 1 that is not text; put quotation marks around it`,
		`.* is not a quantity; write one such as `,
		`.*: .*: the quantity .* is negative; `,
		`.*: kind: is ".*", and the API server accepts only Pod in a pod; `,
	}
	theyRefuse = []string{
		`.* 4[.].*: InvalidFormatException: Cannot deserialize value of type .java.lang.Integer. from String "(1.0|1e2|8080.0|256.0|30.0)"`,
		`.*: IllegalArgumentException: Either integer or string value needs to be provided`, // a port of 1.0 or 1e2
		`file 4[.].*: InvalidFormatException: Cannot deserialize value of type .java.lang.Integer. from String "( 5 | 0400|0400 | |\x00)"`,
		`file .*: YamlEngineException: Number of aliases for non-scalar nodes exceeds the specified max=50`,
		`file 4[.].*: StringIndexOutOfBoundsException: `, // an empty text for an integer
	}
	// rounded is an integer that the API server rounds when it stores a custom resource.
	rounded = "99999999999999999999"
)

// TestSparkReadsTheSamePod compares the pods that Spark's parser made of the generated templates with ours. The oldest
// and newest line of Spark and one between them are recorded: make record
// ARGS=-templates=spark/podtemplate/testdata/spark.json.gz.
//
// A template that both read must be the same pod for the API server, with the same unknown fields. If Spark cannot read
// a template, we must refuse it too, since the rules of the platform would otherwise judge a pod that does not exist.
// We may refuse templates that Spark reads, but only for the listed reasons.
func TestSparkReadsTheSamePod(t *testing.T) {
	recordings, err := templates.Load("testdata/spark.json.gz")
	if err != nil {
		t.Fatal(err)
	}

	all := templates.All()
	if len(all) != len(recordings) {
		t.Fatalf("%d templates, but %d are recorded; run make record ARGS=-templates=spark/podtemplate/testdata/spark.json.gz", len(all), len(recordings))
	}

	count := map[string]int{}
	for i, r := range recordings {
		if r.Name != all[i].Name || r.Text != all[i].Text {
			t.Fatalf("the template %q is not recorded; run make record ARGS=-templates=spark/podtemplate/testdata/spark.json.gz", all[i].Name)
		}

		for _, version := range []string{"3.5.9", "4.1.4", "4.3.0"} {
			spark, ok := r.Of(version)
			if !ok {
				t.Fatalf("%s is not recorded with Spark %s", r.Name, version)
			}

			compare(t, "file "+version, r, spark, count, func(text []byte) (podtemplate.Template, error) {
				asJSON, err := podtemplate.FromFile(text, version)
				if err != nil {
					return podtemplate.Template{}, err
				}
				return podtemplate.Read(asJSON)
			})

			if strings.HasPrefix(r.Text, "{") {
				compare(t, "field "+version, r, spark, count, podtemplate.Read)
			}
		}
	}

	t.Logf("%v", count)
}

func compare(t *testing.T, form string, r templates.Recording, spark templates.Parsed, count map[string]int,
	read func([]byte) (podtemplate.Template, error)) {
	t.Helper()

	ours, err := read([]byte(r.Text))
	switch {
	case err != nil && spark.Error != "":
		count[form+" refused by both"]++
	case err != nil:
		count[form+" refused by us"]++
		if !listed(weRefuse, form+": "+err.Error()) {
			t.Errorf("%s: %s: %s\nonly we refuse it: %v\nSpark: %s", form, r.Name, r.Text, err, spark.Pod)
		}
	case spark.Error != "":
		count[form+" refused by Spark"]++
		if !listed(theyRefuse, form+": "+spark.Error) {
			t.Errorf("%s: %s: %s\nonly Spark refuses it: %s", form, r.Name, r.Text, spark.Error)
		}
	case strings.HasPrefix(form, "field") && strings.Contains(r.Text, rounded):
		count[form+" rounded"]++
	default:
		count[form+" equal"]++
		if diff := difference(spark.Pod, ours); diff != "" {
			t.Errorf("%s: %s: %s\nSpark's pod (-) is not ours (+):\n%s", form, r.Name, r.Text, diff)
		}
	}
}

func listed(patterns []string, text string) bool {
	for _, pattern := range patterns {
		if regexp.MustCompile("^(?:" + pattern + ")").MatchString(text) {
			return true
		}
	}
	return false
}

// difference compares a pod that Spark sends with a template of ours. The API server decodes Spark's pod with the
// decoder that this function uses.
func difference(sent json.RawMessage, ours podtemplate.Template) string {
	var pod corev1.Pod
	if err := utiljson.Unmarshal(sent, &pod); err != nil {
		return err.Error()
	}

	pod.ObjectMeta = metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations, Finalizers: pod.Finalizers}
	pod.Status = corev1.PodStatus{}
	mine := *ours.Pod

	mine.APIVersion, mine.Kind = pod.APIVersion, pod.Kind
	if !equality.Semantic.DeepEqual(pod, mine) { // which is faster than cmp.Diff
		return cmp.Diff(pod, mine, cmpopts.EquateEmpty())
	}

	var tree map[string]any
	if err := utiljson.Unmarshal(sent, &tree); err != nil {
		return err.Error()
	}

	delete(tree, "status")

	unknown, _ := podtemplate.UnknownFields(tree, reflect.TypeFor[corev1.Pod]()).(map[string]any)
	if !equality.Semantic.DeepEqual(unknown, ours.Extra) {
		return cmp.Diff(unknown, ours.Extra, cmpopts.EquateEmpty())
	}
	return ""
}
