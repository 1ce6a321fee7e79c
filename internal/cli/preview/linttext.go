package preview

import (
	"fmt"
	"strings"

	"github.com/sparkoperator/spark-operator/api/bounds"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Text returns the report as lines in the format of compiler messages, followed by a summary. The argument width is the
// width of the terminal; 0 means no limit.
func (r *Report) Text(width int) string {
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		place := bounds.Line(fmt.Sprintf("%s:%d:%d: %s: ", f.File, f.Line, f.Column, f.Severity))

		line := place + bounds.Line(f.text())
		if width > 0 && len(line) > width {
			line = place + "\n" + terminal.Wrap("    ", f.text(), width)
		}

		b.WriteString(line + "\n")
	}

	fmt.Fprintf(&b, "%s, %s, %s in %s\n",
		bounds.Count(r.Count(Error), "error"), bounds.Count(r.Count(Warning), "warning"), bounds.Count(r.Objects, "custom resource"), bounds.Count(r.Files, "file"))
	return b.String()
}
