package report

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// TestEveryFigureIsExplained: a reader of the page finds what each name in its tables is.
func TestEveryFigureIsExplained(t *testing.T) {
	_, run, err := Newest(filepath.Join("../..", Runs))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range run.Figures {
		told := f.Scenario == figure.Micro || strings.HasPrefix(f.Name, "CPU ") || strings.Contains(f.Name, ": ") // as the section's first words say
		if !told && meaning(f.Name) == "" {
			t.Errorf("%s: nothing says what %q is", f.Scenario, f.Name)
		}
	}
}

func TestMeaning(t *testing.T) {
	for name, want := range map[string]string{
		"until 9,000 more were live":             meaning("until N more were live"),
		"creation to driver pod, p50":            meaning("creation to driver pod"),
		"status writes, most of one life":        meaning("status writes"),
		"operator resident, at rest":             meaning(figure.Resident),
		"applications a second, from the moon":   meaning(figure.Rate),
		"status writesof":                        "",
		"until it is quiet and more":             "",
		"until another acts, after it was asked": meaning(figure.TakeOver),
	} {
		if got := meaning(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
