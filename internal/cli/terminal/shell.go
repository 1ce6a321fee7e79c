package terminal

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sparkoperator/spark-operator/bounds"
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
