// Package golang provides the grammar of Go to Vale.
package golang

import sitter "github.com/smacker/go-tree-sitter"

// GetLanguage returns the grammar of Go.
func GetLanguage() *sitter.Language { return sitter.Go }
