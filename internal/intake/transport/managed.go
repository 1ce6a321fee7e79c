package transport

import (
	"bytes"
	"io"
)

// unmanaged is the body of a JSON watch in which metadata.managedFields is an empty list. Managed fields are a third to
// a half of a custom resource with a status, and client-go would read them four times before the cache drops them.
type unmanaged struct {
	io.Closer
	from io.Reader
	// Parser state:
	depth  int                    // number of open objects and lists
	cut    int                    // depth of the removed list; 0 means none
	text   bool                   // inside a string
	escape bool                   // after a backslash in a string
	last   name                   // the last string
	keys   [managedDepth + 1]name // the last key at each depth
}

// managedPath contains the keys that lead from an event to its managed fields. The index is the depth of the key, and
// the value is the encoded key.
var managedPath = [managedDepth + 1]string{1: `"object"`, 2: `"metadata"`, managedDepth: `"managedFields"`}

const managedDepth = 3

// name holds the start of an encoded string. It has room for one byte more than the longest key of managedPath, so that
// no longer string equals such a key.
type name struct {
	text [len(`"managedFields"`) + 1]byte
	size int
}

func (n *name) add(part []byte) { n.size += copy(n.text[n.size:], part) }

func (n *name) equals(want string) bool { return string(n.text[:n.size]) == want }

// Read implements io.Reader.
func (u *unmanaged) Read(p []byte) (int, error) {
	for {
		n, err := u.from.Read(p)
		if kept := u.keep(p[:n]); kept > 0 || n == 0 || err != nil {
			return kept, err
		}
	}
}

// keep moves the kept bytes to the front of p and returns their number.
func (u *unmanaged) keep(p []byte) int {
	kept := 0
	for at := 0; at < len(p); {
		size := 1

		before := u.cut
		if u.text {
			size = u.inString(p[at:])
		} else {
			u.between(p[at])
		}

		if before == 0 || u.cut == 0 { // keep the bytes outside of the removed list, and the list's brackets
			kept += copy(p[kept:], p[at:at+size])
		}

		at += size
	}
	return kept
}

// inString reads a part of a string: up to the end of the string, up to the next backslash, or one escaped byte. It
// returns how many bytes it has read.
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

// between processes one byte outside of strings: a bracket, a colon, or the quote at which a string begins.
func (u *unmanaged) between(b byte) {
	switch b {
	case '"':
		u.text, u.last = true, name{}
		u.last.add([]byte{b})
	case ':':
		if 0 <= u.depth && u.depth <= managedDepth { // depth is negative if the input is not JSON
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

// managed reports whether the list that was just opened is managedFields.
func (u *unmanaged) managed() bool {
	for depth := 1; depth <= managedDepth; depth++ {
		if !u.keys[depth].equals(managedPath[depth]) {
			return false
		}
	}
	return u.depth == managedDepth+1
}
