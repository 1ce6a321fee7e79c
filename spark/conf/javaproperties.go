package conf

import (
	"slices"
	"strings"
)

// JavaProperties contains the effect of JVM options on Spark's configuration. A JVM whose system properties begin with
// "spark." reads them as its configuration.
type JavaProperties struct {
	// Spark contains the system properties that begin with "spark.", with their names as keys.
	Spark []Property
	// Unreadable contains the words whose effect cannot be known: files with further options, and words with which the
	// JVM runs another program, whose arguments the following words are. It contains at most the first maxUnreadable.
	Unreadable []string
}

const maxUnreadable = 8

// MaxJavaOptions is the maximum length of options of a JVM that ReadJavaOptions splits. A longer text is unreadable as
// a whole, since the cost would be too high.
const MaxJavaOptions = 32 << 10

// Property is a key of a configuration and its value.
type Property struct{ Key, Value string }

// ReadJavaOptions reads the options of a JVM. Three programs split such a text into words, each by rules of its own:
// Spark's launcher, a driver (for its executors), and the JVM itself (for environment variables). The result contains
// what any of them would read.
func ReadJavaOptions(text string) (all JavaProperties) {
	if len(text) > MaxJavaOptions {
		return JavaProperties{Unreadable: []string{text}}
	}

	launched, _ := SplitJavaOptions(text)
	own, _ := split(text, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) }, func(rune) bool { return false })

	lists := [][]string{launched, SplitExecutorOptions(text), own}
	for i, words := range lists {
		if !slices.ContainsFunc(lists[:i], func(same []string) bool { return slices.Equal(words, same) }) {
			read := ReadJavaWords(words)
			all.Spark, all.Unreadable = append(all.Spark, read.Spark...), append(all.Unreadable, read.Unreadable...)
		}
	}
	return all
}

// optionFiles are the beginnings of JVM options that name a file with further options.
var optionFiles = []string{"@", "-XX:Flags=", "-XX:VMOptionsFile=", "-Xoptionsfile="}

// separateValues are the JVM options whose value is the next word.
var separateValues = []string{
	"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules", "--limit-modules",
	"--add-exports", "--add-opens", "--add-reads", "--patch-module", "--enable-native-access",
}

// ReadJavaWords reads options of a JVM that are already split into words.
func ReadJavaWords(words []string) (all JavaProperties) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		begins := func(prefix string) bool { return strings.HasPrefix(word, prefix) }

		key, value, _ := strings.Cut(strings.TrimPrefix(word, "-D"), "=")
		switch {
		case slices.ContainsFunc(optionFiles, begins), !begins("-"), strings.Contains(key, "${"), strings.Contains(key, "{{"),
			slices.Contains([]string{"-jar", "-m", "--module", "--source"}, word), begins("--module="):
			if len(all.Unreadable) < maxUnreadable {
				all.Unreadable = append(all.Unreadable, word)
			}
		case begins("-Dspark."):
			all.Spark = append(all.Spark, Property{key, value})
		case slices.Contains(separateValues, word) && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") && !strings.HasPrefix(words[i+1], "@"):
			i++
		}
	}
	return all
}
