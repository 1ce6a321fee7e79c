// Package python lets Vale compile. Files of this language cannot be read.
package python

import sitter "github.com/smacker/go-tree-sitter"

// GetLanguage returns a language that cannot be read.
func GetLanguage() *sitter.Language { return &sitter.Language{} }
