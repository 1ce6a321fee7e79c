// Package markdown reads the blocks of code of Markdown pages, so that tests can check and run what users copy.
package markdown

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Block is a fenced block of a page.
type Block struct {
	Page string // the name of the file
	Kind string // the language, such as sh
	Text string
}

// fence matches a block. A block in a list is indented.
var fence = regexp.MustCompile("(?ms)^( *)```(\\w+)\n(.*?)^ *```$")

// Blocks returns the blocks of the pages that match a pattern of files, in the order of the pages. If kinds are given,
// it returns only blocks of these kinds. The test fails if no page matches.
func Blocks(t testing.TB, pattern string, kinds ...string) (blocks []Block) {
	t.Helper()

	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no page is %s: %v", pattern, err)
	}

	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for _, match := range fence.FindAllStringSubmatch(string(text), -1) {
			if len(kinds) == 0 || slices.Contains(kinds, match[2]) {
				unindented := strings.ReplaceAll("\n"+match[3], "\n"+match[1], "\n")
				blocks = append(blocks, Block{filepath.Base(file), match[2], unindented[1:]})
			}
		}
	}
	return blocks
}

// Tasks returns the blocks of all tutorials and how-to pages in the directory docs.
func Tasks(t testing.TB, docs string, kinds ...string) []Block {
	t.Helper()

	return append(Blocks(t, filepath.Join(docs, "tutorials", "*.md"), kinds...),
		Blocks(t, filepath.Join(docs, "how-to", "*.md"), kinds...)...)
}
