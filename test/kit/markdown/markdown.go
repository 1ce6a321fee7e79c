// Package markdown reads the blocks of code of Markdown pages, so that tests can check and run what users copy.
package markdown

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
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

// Tasks returns the blocks of all tutorials and how-to pages in the directory docs. The navigation of the site lists
// these pages.
func Tasks(t testing.TB, docs string, kinds ...string) (blocks []Block) {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(docs, "..", "tools", "docs", "mkdocs.yml"))
	if err != nil {
		t.Fatal(err)
	}

	var site struct {
		Nav []map[string]yaml.Node `yaml:"nav"`
	}
	if err := yaml.Unmarshal(text, &site); err != nil {
		t.Fatal(err)
	}

	for _, section := range site.Nav {
		for _, title := range []string{"Tutorials", "How-to"} {
			pages := section[title]
			for _, page := range pagesOf(&pages) {
				blocks = append(blocks, Blocks(t, filepath.Join(docs, page), kinds...)...)
			}
		}
	}
	return blocks
}

// pagesOf returns the pages in a part of the navigation: the texts that are no keys.
func pagesOf(node *yaml.Node) (pages []string) {
	for i, child := range node.Content {
		if child.Kind == yaml.ScalarNode && (node.Kind == yaml.SequenceNode || i%2 == 1) {
			pages = append(pages, child.Value)
		}

		pages = append(pages, pagesOf(child)...)
	}
	return pages
}
