module github.com/jdkato/go-tree-sitter-julia

go 1.26.0

require github.com/smacker/go-tree-sitter v0.0.0

replace github.com/smacker/go-tree-sitter => ../
