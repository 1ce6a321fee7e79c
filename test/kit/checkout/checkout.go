// Package checkout finds the files of the repository for tests.
package checkout

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
)

// Root returns the root of the repository. It is the nearest parent folder of the tested package that contains the
// go.mod of the main module. Packages of the other modules have the same root.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}

	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(mod, []byte("module github.com/sparkoperator/spark-operator\n")) {
			return dir, nil
		}

		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod of the main module above the working directory")
		}

		dir = filepath.Dir(dir)
	}
}

// Docs returns the texts of pages of docs/, one after the other.
func Docs(pages ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}

	var all []byte
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		if err != nil {
			return "", err
		}

		all = append(all, text...)
	}
	return string(all), nil
}
