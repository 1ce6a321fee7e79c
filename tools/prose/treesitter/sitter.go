// Package sitter is the part of tree-sitter that Vale uses, in pure Go. It finds the comments of Go files and supports
// no other language.
//
// Vale reads comments with github.com/smacker/go-tree-sitter. That module is written in C, so it needs a C compiler,
// and its twenty grammars take minutes to build. The go.mod of tools/prose replaces it with this module. Vale then
// needs only Go, like every other tool of the repository.
package sitter

import (
	"bytes"
	"context"
	"errors"
	"go/scanner"
	"go/token"
	"strings"
)

// Language is a grammar. The zero value is an empty grammar, for which ParseCtx returns an error.
type Language struct {
	comments func([]byte) []*Node
}

// Go is the only grammar that is not empty.
var Go = &Language{comments: goComments}

// Point is a position in a file. Both numbers start at zero, and Column counts bytes.
type Point struct{ Row, Column uint32 }

// Node is one comment with its delimiters, or the root of a file that has comments.
type Node struct {
	start, end int
	point      Point
	comments   []*Node
}

// Content returns the text of the comment.
func (n *Node) Content(source []byte) string { return string(source[n.start:n.end]) }

// StartPoint returns the position at which the comment starts.
func (n *Node) StartPoint() Point { return n.point }

// Tree is a file that was read.
type Tree struct{ root *Node }

// RootNode returns the node that holds all comments.
func (t *Tree) RootNode() *Node { return t.root }

// Parser reads files of one language.
type Parser struct{ language *Language }

// NewParser returns a parser without a language. Call SetLanguage before ParseCtx.
func NewParser() *Parser { return &Parser{} }

// SetLanguage sets the language of the files.
func (p *Parser) SetLanguage(language *Language) { p.language = language }

// ParseCtx reads a file. The context and the older tree are not used.
func (p *Parser) ParseCtx(_ context.Context, _ *Tree, source []byte) (*Tree, error) {
	if p.language == nil || p.language.comments == nil {
		return nil, errors.New("this build of Vale reads comments of Go files only")
	}
	return &Tree{root: &Node{comments: p.language.comments(source)}}, nil
}

// Query represents the only query that Vale uses for Go files, `(comment) @comment`.
type Query struct{}

// NewQuery returns the only query. It ignores its arguments.
func NewQuery([]byte, *Language) (*Query, error) { return &Query{}, nil }

// CaptureNameForId returns the name of the only capture.
func (*Query) CaptureNameForId(uint32) string { return "comment" }

// QueryCapture is a node that matches a query.
type QueryCapture struct {
	Index uint32
	Node  *Node
}

// QueryMatch is one match of a query.
type QueryMatch struct{ Captures []QueryCapture }

// QueryCursor walks over the matches of a query.
type QueryCursor struct{ rest []*Node }

// NewQueryCursor returns a cursor without nodes. Call Exec before NextMatch.
func NewQueryCursor() *QueryCursor { return &QueryCursor{} }

// Exec starts the walk.
func (c *QueryCursor) Exec(_ *Query, root *Node) { c.rest = root.comments }

// NextMatch returns the next comment, in the order of the file, and whether there is one.
func (c *QueryCursor) NextMatch() (*QueryMatch, bool) {
	if len(c.rest) == 0 {
		return nil, false
	}

	node := c.rest[0]
	c.rest = c.rest[1:]
	return &QueryMatch{Captures: []QueryCapture{{Node: node}}}, true
}

// FilterPredicates returns the match unchanged, because the query has no predicates.
func (*QueryCursor) FilterPredicates(match *QueryMatch, _ []byte) *QueryMatch { return match }

// goComments returns the comments of a Go file, without directives such as //go:build and //nolint.
func goComments(source []byte) []*Node {
	var nodes []*Node
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)

	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return nodes
		}

		if tok != token.COMMENT || isDirective(text) {
			continue
		}

		start := file.Offset(pos)
		lineStart := bytes.LastIndexByte(source[:start], '\n') + 1
		nodes = append(nodes, &Node{
			start: start, end: start + len(text),
			point: Point{Row: uint32(bytes.Count(source[:start], []byte{'\n'})), Column: uint32(start - lineStart)},
		})
	}
}

// isDirective reports whether a comment is for a program and not for readers. Such a comment has no space after the
// slashes, or it is a marker of controller-gen.
func isDirective(text string) bool {
	rest, isLine := strings.CutPrefix(text, "//")
	return isLine && rest != "" && rest[0] != ' ' && rest[0] != '\t' || strings.HasPrefix(rest, " +")
}
