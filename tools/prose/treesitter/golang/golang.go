// Package golang gives Vale the language Go.
package golang

import sitter "github.com/smacker/go-tree-sitter"

// GetLanguage returns the language.
func GetLanguage() *sitter.Language { return sitter.Go }
