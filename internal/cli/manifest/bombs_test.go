package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
)

const head = "apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata: {name: a}\nspec:\n"

// bombs are texts that take much memory if they are parsed carelessly. If the value is true, the text is within the
// limits, and is read.
var bombs = map[string]struct {
	text   string
	within bool
}{
	"aliases of a long text": {head + "  a: &a " + strings.Repeat("x", 100_000) + "\n  b: [" + strings.Repeat("*a,",
		80_000) + "]\n", false},
	"aliases of aliases":   {head + laughs("  %s: &%[1]s [%s]\n", "*%s,"), false},
	"merged aliases":       {head + laughs("  %s: &%[1]s {<<: [%s], k%[1]s: 1}\n", "*%s,"), false},
	"an alias of itself":   {head + "  a: &a [*a]\n", false},
	"a merge with itself":  {head + "  a: &a {<<: *a}\n", false},
	"many documents":       {strings.Repeat("---\na: b\n", 40_000), false},
	"many empty documents": {strings.Repeat("---\n", 400_000), false},
	"deep lists": {head + "  a: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "\n",
		false},
	"deep objects": {head + "  a: " + strings.Repeat("{a: ", 9_000) + strings.Repeat("}", 9_000) + "\n",
		false},
	"deep dashes":              {head + "  a: \n   " + strings.Repeat("- ", 9_000) + "\n", false},
	"deeper than the parser":   {strings.Repeat("[", 400_000), false},
	"many items":               {head + "  a: [" + strings.Repeat("a,", 1_000_000) + "]\n", false},
	"many short keys":          {head + "  a: {" + numbered(40_000, "%d,") + "}\n", false},
	"many entries":             {head + "  a: {" + numbered(20_000, "k%d: v,") + "}\n", true},
	"many lines":               {head + "  a:\n" + strings.Repeat("  -\n", 900_000), false},
	"a long text":              {head + "  a: " + strings.Repeat("x", podtemplate.MaxYAMLBytes-200) + "\n", true},
	"a long text that escapes": {head + "  a: \"" + strings.Repeat("<", podtemplate.MaxYAMLBytes-200) + "\"\n", false},
	"a long block":             {head + "  a: |\n" + strings.Repeat("   x\n", 500_000), true},
	"a long comment":           {head + "  a: b\n" + strings.Repeat("  # x\n", 500_000), true},
	"many directives":          {numbered(10_000, "%%TAG !a%d! x\n") + "---\n" + head, false},
	"a longer file":            {strings.Repeat("x", podtemplate.MaxYAMLBytes+1), false},
	"anchors as people use": {head +
		"  driver: &pod {cores: 1, env: [{name: A, value: b}]}\n  executor: {<<: *pod, instances: 2}\n", true},
}

// laughs returns lines of which each names the line before it ten times.
func laughs(line, alias string) string {
	var b strings.Builder
	b.WriteString("  a0: &a0 {x: y}\n")

	for i := 1; i < 30; i++ {
		fmt.Fprintf(&b, line, fmt.Sprintf("a%d", i), strings.Repeat(fmt.Sprintf(alias, fmt.Sprintf("a%d", i-1)), 10))
	}
	return b.String()
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestBombs checks that no text takes more than 64 MB, that a text beyond the limits has a fault with the way out,
// and that texts with anchors as people write them are read. Without limits, 340 KB of aliases took over 6 GB.
func TestBombs(t *testing.T) {
	for name, bomb := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)

		documents, faults := Read("f", []byte(bomb.text))

		runtime.ReadMemStats(&after)

		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
			t.Errorf("%s: %d MB were allocated", name, allocated>>20)
		}

		switch {
		case bomb.within && (len(documents) != 1 || len(faults) > 0):
			t.Errorf("%s: %d documents, %v", name, len(documents), faults)
		case !bomb.within && (len(documents) > 0 || len(faults) != 1 || !strings.Contains(faults[0].Message, "; ")):
			t.Errorf("%s: %d documents, %v", name, len(documents), faults)
		}
	}

	documents, _ := Read("f", []byte(bombs["anchors as people use"].text))
	if text := string(documents[0].JSON); !strings.Contains(text,
		`"executor":{"cores":1,"env":[{"name":"A","value":"b"}],"instances":2}`) {
		t.Error(text)
	}
}
