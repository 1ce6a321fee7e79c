package prosecheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxWords is the maximum number of words on a page of docs/. A longer page is split by concern.
const maxWords = 2500

// longPages are the pages that may be longer, with the reason.
var longPages = map[string]string{
	"api-spark.md":         "generated from the types",
	"api-sparkoperator.md": "generated from the types",
	"cli.md":               "generated from the commands",
	"failures.md":          "generated from the rules and the recorded endings",
	"packages.md":          "test/arch reads its table",
	"states.md":            "generated from the state machines",
	"values.md":            "generated from the values of the chart",
}

func TestPagesAreShort(t *testing.T) {
	const docs = "../../docs"

	pages := 0
	long := map[string]bool{}

	err := filepath.WalkDir(docs, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		pages++

		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		name, err := filepath.Rel(docs, path)
		if words := len(strings.Fields(string(text))); words > maxWords {
			long[name] = true
			if longPages[name] == "" {
				t.Errorf("docs/%s has %d words, want at most %d: split it by concern", name, words, maxWords)
			}
		}
		return err
	})
	if err != nil || pages < 100 {
		t.Errorf("%d pages, %v", pages, err)
	}

	for name := range longPages {
		if !long[name] {
			t.Errorf("docs/%s is not long: remove it from longPages", name)
		}
	}
}
