package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func generator(t *testing.T, thorough bool) *Generator {
	t.Helper()

	definitions, err := Definitions("../../../config/crd")
	if err != nil {
		t.Fatal(err)
	}
	return &Generator{Definitions: definitions, Keys: []string{"spark.app.name", "spark.executorEnv."},
		Thorough: thorough}
}

// TestEveryRawFieldHasAType checks that the operator's Go type is known for each field whose schema accepts anything.
// Without the type, the generator cannot build valid values.
func TestEveryRawFieldHasAType(t *testing.T) {
	for _, d := range generator(t, false).Definitions {
		fields, unknown := d.Fields()
		if len(unknown) > 0 {
			t.Errorf("%s: no type is known for %q", d.Name(), unknown)
		}

		if len(fields) < 100 {
			t.Errorf("%s: %d fields", d.Name(), len(fields))
		}
	}
}

// TestSampleReachesEveryField checks that the sample has a case for each field of our schemas, or for a twin of the
// field.
func TestSampleReachesEveryField(t *testing.T) {
	g := generator(t, false)
	reached := map[string]bool{}

	cases, kinds, forms := 0, map[string]int{}, map[string]int{}
	for c := range g.All() {
		for _, field := range append(c.Together, c.Field) {
			reached[twinPath(c.Definition, field)] = true
		}
		kinds[c.Definition.Name()]++
		cases++
		form, _, _ := strings.Cut(c.Value, " ")
		forms[form]++
	}

	for _, d := range g.Definitions {
		fields, _ := d.Fields()
		for _, f := range fields {
			if f.Typed && len(f.Schema.Properties) == 0 && !reached[twinPath(d, f.String())] {
				t.Errorf("%s: nothing reaches %s", d.Name(), f)
			}
		}
	}

	t.Logf("%d cases: %v %v", cases, kinds, forms)
}

// TestShareHasEveryKindOfCase checks that the share of the sample has each kind of case that the whole sample has: both
// turns of the groups, each key of each configuration, and each size of pod templates. It also checks that the share is
// smaller.
func TestShareHasEveryKindOfCase(t *testing.T) {
	kinds := func(whole bool) (found map[string]bool, cases int) {
		g := generator(t, false)
		g.Whole, g.Twins, g.Keys = whole, true, nil // which twins are left out depends on the number of cases

		for i := range 96 {
			g.Keys = append(g.Keys, fmt.Sprintf("spark.k%d", i), fmt.Sprintf("spark.k%d.", i))
		}

		found = map[string]bool{}
		for c := range g.All() {
			cases++

			switch _, key, isKey := strings.Cut(c.Field, "["); {
			case len(c.Together) > 0:
				found[c.Definition.Name()+" "+c.Value] = true
			case isKey && strings.HasPrefix(key, "spark."):
				found[key] = true
			case c.Field == "pod templates":
				found[c.Value] = true
			default:
				found[c.Definition.Name()+" "+c.Field] = true
			}
		}
		return found, cases
	}

	all, count := kinds(true)
	share, fewer := kinds(false)

	for kind := range all {
		if !share[kind] {
			t.Errorf("the share has no %s", kind)
		}
	}

	if fewer >= count || len(all) < 500 {
		t.Errorf("the share has %d cases, the whole sample has %d of %d kinds", fewer, count, len(all))
	}

	t.Logf("%d of %d cases", fewer, count)
}

// TestTwinsAreSampled checks how many cases are measured if several fields are twins (see twins). The first field keeps
// all of its cases, and the others keep one case in twenty.
func TestTwinsAreSampled(t *testing.T) {
	const each = 10 * twinStride
	apps, schedules := &Definition{Kind: "SparkApplication"}, &Definition{Kind: "ScheduledSparkApplication"}

	var twins twins
	for _, test := range []struct {
		d     *Definition
		field string
		twin  bool
	}{
		{schedules, "spec.template.driver.sidecars[].image", true},
		{apps, "spec.driver.initContainers[].image", false},
		{apps, "spec.driver.sidecars[].image", true},
		{apps, "spec.executor.sidecars[].image", true},
		{apps, "spec.executor.template.spec.containers[].image", false},
		{apps, "spec.driver.template.spec.ephemeralContainers[].image", true},
		{apps, "spec.sparkConf[spark.app.name]", false},
		{apps, "spec.hadoopConf[spark.app.name]", true},
		{schedules, "spec.schedule", false},
		{&Definition{Kind: "SparkConnect"}, "spec.executor.template.spec.containers[].image", false},
	} {
		measured := 0
		for range each {
			if !twins.skip(&Case{Definition: test.d, Field: test.field}) {
				measured++
			}
		}

		want := each
		if test.twin {
			want = each / twinStride
		}

		if measured != want {
			t.Errorf("%s %s: %d cases of %d, want %d", test.d.Kind, test.field, measured, each, want)
		}
	}
}

// TestCasesAreTheSameInEachRun checks that each case builds the same valid JSON each time. It checks only some of the
// cases in the sample. If SOAK is set, it checks some of all cases.
func TestCasesAreTheSameInEachRun(t *testing.T) {
	thorough, stride, count := os.Getenv("SOAK") != "", 7, 0
	if thorough {
		stride = 997
	}

	for c := range generator(t, thorough).All() {
		if count++; count%stride != 0 {
			continue
		}

		first, err := c.JSON()
		if err != nil {
			t.Fatalf("%s: %v", c.Name(), err)
		}

		again, _ := c.JSON()
		if !slices.Equal(first, again) || !json.Valid(first) {
			t.Errorf("%s: not the same JSON twice", c.Name())
		}

		if len(first) > 1536<<10 && c.Field != "metadata.managedFields" {
			t.Logf("%s: %d bytes", c.Name(), len(first))
		}
	}

	t.Logf("%d cases", count)
}
