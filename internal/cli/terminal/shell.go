package terminal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

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

// Words splits a command into words, as a shell does. It refuses everything else that a shell would do with the text:
// the error names the character, and what to write instead.
func Words(command string) (words []string, err error) {
	var word strings.Builder

	text := []rune(strings.TrimSpace(strings.ReplaceAll(command, "\r\n", "\n")))
	begun, quote := false, rune(0)

	for i := 0; i < len(text); i++ {
		r := text[i]
		if err := shellOnly(r, quote, begun); err != nil {
			return nil, err
		}

		switch {
		case escapes(text[i:], quote):
			if i++; text[i] != '\n' {
				word.WriteRune(text[i])

				begun = true
			}
		case r == quote && quote != 0:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote != 0 || !unicode.IsSpace(r):
			word.WriteRune(r)

			begun = true
		case begun:
			words = append(words, word.String())
			word.Reset()

			begun = false
		}
	}

	if quote != 0 {
		return nil, fmt.Errorf("the text ends in quotes; close them with %c", quote)
	}

	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// escapes reports whether a text begins with a backslash that escapes the next character inside the given quotation
// marks; 0 means outside of them.
func escapes(text []rune, quote rune) bool {
	return text[0] == '\\' && len(text) > 1 && (quote == 0 || quote == '"' && strings.ContainsRune("\\\"$`\n", text[1]))
}

// shellOnly returns an error for a character that makes a shell do more than to split a text into words.
func shellOnly(r, quote rune, begun bool) error {
	switch {
	case quote != '\'' && (r == '$' || r == '`'):
		return fmt.Errorf("%q begins a value that only your shell can compute; write the value, or put the word in single quotes", r)
	case quote != 0:
		return nil
	case r == '\n':
		return errors.New("a second command begins in a new line; submit one after the other, or end the line before it with a backslash")
	case strings.ContainsRune("|&;<>()", r), r == '#' && !begun:
		return fmt.Errorf("%q has a meaning for a shell; submit one command, and put the word in quotes if the character belongs to it", r)
	}
	return nil
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
