package transport

import (
	"bytes"
	"io"
)

// unmanaged is the body of a watch in JSON, without what metadata.managedFields of its objects hold: who wrote which field, which is a third to a half of a custom
// resource with a status, and which client-go would read four times before it is dropped. The field stays, as an empty list.
type unmanaged struct {
	io.Closer
	from io.Reader
	// Of what came so far:
	depth  int                    // objects and lists that are open
	cut    int                    // how many were when a list was opened that is left out; 0 = none is
	text   bool                   // in a string
	escape bool                   // after a backslash there
	last   name                   // the last string
	keys   [managedDepth + 1]name // the last key at each depth
}

// managedPath is where managed fields are in an event: each key, as it is written, by how deep it is.
var managedPath = [managedDepth + 1]string{1: `"object"`, 2: `"metadata"`, managedDepth: `"managedFields"`}

const managedDepth = 3

// name is the beginning of a string, as it is written. What is longer than a key of managedPath is none of them.
type name struct {
	text [len(`"managedFields"`) + 1]byte
	size int
}

func (n *name) add(part []byte) { n.size += copy(n.text[n.size:], part) }

func (n *name) is(want string) bool { return string(n.text[:n.size]) == want }

// Read implements io.Reader.
func (u *unmanaged) Read(p []byte) (int, error) {
	for {
		n, err := u.from.Read(p)
		if kept := u.keep(p[:n]); kept > 0 || n == 0 || err != nil {
			return kept, err
		}
	}
}

// keep moves to the front of p what is kept of it, and returns how much that is.
func (u *unmanaged) keep(p []byte) int {
	kept := 0
	for at := 0; at < len(p); {
		size := 1
		was := u.cut
		if u.text {
			size = u.inString(p[at:])
		} else {
			u.between(p[at])
		}
		if was == 0 || u.cut == 0 { // the brackets of a list that is left out stay
			kept += copy(p[kept:], p[at:at+size])
		}
		at += size
	}
	return kept
}

// inString reads on in a string: to its end, or over one backslash or what stands after that. It returns how much it read.
func (u *unmanaged) inString(p []byte) int {
	size := 1
	if u.escape {
		u.escape = false
	} else if end := bytes.IndexAny(p, `"\\`); end < 0 {
		size = len(p)
	} else {
		size, u.text, u.escape = end+1, p[end] != '"', p[end] == '\\'
	}
	u.last.add(p[:size])
	return size
}

// between reads one byte that is in no string.
func (u *unmanaged) between(b byte) {
	switch b {
	case '"':
		u.text, u.last = true, name{}
		u.last.add([]byte{b})
	case ':':
		if 0 <= u.depth && u.depth <= managedDepth { // less, of what is no JSON
			u.keys[u.depth] = u.last
		}
	case '[':
		u.depth++
		if u.cut == 0 && u.managed() {
			u.cut = u.depth
		}
	case '{':
		u.depth++
	case ']', '}':
		u.depth--
		if u.depth < u.cut {
			u.cut = 0
		}
	}
}

// managed reports whether the list that was opened last is that of managed fields.
func (u *unmanaged) managed() bool {
	for depth := 1; depth <= managedDepth; depth++ {
		if !u.keys[depth].is(managedPath[depth]) {
			return false
		}
	}
	return u.depth == managedDepth+1
}
