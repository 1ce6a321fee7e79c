package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// Quote quotes a word for a shell. A word with characters that cannot be printed needs a shell that has $'...', such
// as bash.
func Quote(word string) string {
	switch {
	case plainWord.MatchString(word):
		return word
	case bounds.Line(word) != word:
		return "$'" + bounds.Line(strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(word)) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// pluginName is the name of the binary as a kubectl plugin: kubectl runs a binary of this name for `kubectl spark`.
const pluginName = "kubectl-spark"

// Program returns the name by which users run the program, from the path of the binary.
func Program(path string) string {
	if strings.TrimSuffix(filepath.Base(path), ".exe") == pluginName {
		return "kubectl spark"
	}
	return "sparkctl"
}

// Hint formats a command of this program for users to copy. It begins with the name by which the user runs the program,
// so the format begins with a verb.
func Hint(format string, words ...string) Command {
	return Command(Program(os.Args[0])+" ") + Commandf(format, words...)
}

// Command is a command for a shell, which users copy. Commandf is the way to put texts of others into it.
type Command string

// Commandf formats a command. It quotes all arguments of the format.
func Commandf(format string, words ...string) Command {
	quoted := make([]any, len(words))
	for i, word := range words {
		quoted[i] = Quote(word)
	}
	return Command(fmt.Sprintf(format, quoted...))
}
