package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

func (r *root) docsCommand() *cobra.Command {
	var man string
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "Print the documentation of all verbs, or write man pages",
		Long:  "Prints one page of Markdown about all verbs. With --man, it writes a man page for each verb into a directory instead.",
		Example: "  sparkctl docs > cli.md\n" +
			"  sparkctl docs --man /usr/local/share/man/man1",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if man == "" {
				return writePage(r.Out, cmd.Root())
			}

			if err := os.MkdirAll(man, 0o755); err != nil {
				return exit.With(exit.Invalid, err)
			}

			for _, verb := range cmd.Root().Commands() {
				withoutConnection(verb)
			}
			return exit.With(exit.Invalid, doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "sparkctl", Manual: "sparkctl"}, man))
		},
	}
	cmd.Flags().StringVar(&man, "man", "", "write man pages into this `directory`")
	return cmd
}

// pageWidth is the largest number of columns of a line on the page. It is the same in all Markdown files of this
// repository.
const pageWidth = 120

// writePage writes the page docs/cli.md.
func writePage(out io.Writer, top *cobra.Command) error {
	var b strings.Builder
	b.WriteString("<!-- Generated from the commands: go test ./internal/cli -run TestPage -update -->\n\n# sparkctl\n\n")
	paragraphs(&b, top.Long)
	b.WriteString("## Exit codes\n\n| code | meaning |\n|---|---|\n")

	for _, code := range exit.Codes {
		fmt.Fprintf(&b, "| %d | %s |\n", code.Code, code.Text)
	}

	b.WriteString("\n## Verbs\n\n| verb | what it does |\n|---|---|\n")

	for _, cmd := range documented(top) {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", cmd.Name(), cmd.Name(), cmd.Short)
	}

	b.WriteByte('\n')

	for _, cmd := range documented(top) {
		section(&b, cmd, "##")
	}

	_, err := io.WriteString(out, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// section writes the section about a verb. The sections about its subcommands follow, one heading level lower.
func section(b *strings.Builder, cmd *cobra.Command, level string) {
	below := func(path string) string { return strings.TrimPrefix(path, cmd.Root().Name()+" ") }
	fmt.Fprintf(b, "%s %s\n\n", level, below(cmd.CommandPath()))
	fmt.Fprintf(b, "```\nsparkctl %s\n```\n\n", below(cmd.UseLine()))

	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}

	paragraphs(b, long)

	if cmd.Example != "" {
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	}

	flagTable(b, cmd)

	for _, sub := range documented(cmd) {
		section(b, sub, level+"#")
	}
}

// documented returns the verbs that the page describes: all except hidden verbs and help.
func documented(top *cobra.Command) (verbs []*cobra.Command) {
	for _, cmd := range top.Commands() {
		if !cmd.Hidden && cmd.Name() != "help" {
			verbs = append(verbs, cmd)
		}
	}
	return verbs
}

// paragraphs writes a wrapped text. In the text, empty lines separate the paragraphs.
func paragraphs(b *strings.Builder, text string) {
	for part := range strings.SplitSeq(text, "\n\n") {
		b.WriteString(terminal.Wrap("", strings.ReplaceAll(part, "\n", " "), pageWidth) + "\n\n")
	}
}

const connectionNote = "It also takes the flags of kubectl about the connection, such as %s and %s."

// withoutConnection leaves the connection flags out of the man pages of a verb and of its subcommands. A sentence
// mentions them.
func withoutConnection(cmd *cobra.Command) {
	connects := false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if isConnectionFlag(f) {
			f.Hidden, connects = true, true
		}
	})

	if connects {
		cmd.Long += "\n\n" + fmt.Sprintf(connectionNote, "--context", "-n")
	}

	for _, sub := range cmd.Commands() {
		withoutConnection(sub)
	}
}

// flagTable writes a table of the flags of a verb, without the connection flags. These are the same for all verbs, so
// one sentence after the table mentions them.
func flagTable(b *strings.Builder, cmd *cobra.Command) {
	first, connects := true, false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}

		if isConnectionFlag(f) {
			connects = true
			return
		}

		if first {
			b.WriteString("| flag | meaning |\n|---|---|\n")

			first = false
		}

		value, meaning := pflag.UnquoteUsage(f)

		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}

		if value != "" {
			name += " " + strings.ToUpper(value)
		}

		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "[]" {
			meaning += "; default " + f.DefValue
		}

		fmt.Fprintf(b, "| `%s` | %s |\n", name, strings.ReplaceAll(meaning, "|", "\\|"))
	})

	if !first {
		b.WriteByte('\n')
	}

	if connects {
		fmt.Fprintf(b, connectionNote+"\n\n", "`--context`", "`-n`")
	}
}
