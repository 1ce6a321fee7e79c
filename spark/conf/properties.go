package conf

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MarshalProperties formats c as java.util.Properties.store writes it to a Writer: comment lines, then key=value lines
// in order, with backslash escapes. Text that is not ASCII is not escaped.
func MarshalProperties(c *Conf, comments ...string) string {
	size := 0
	for key, value := range c.All() {
		size += len(key) + len(value) + len("=\n")
	}

	var b strings.Builder
	b.Grow(size + size/4) // for the comments and escapes of most configurations

	for _, comment := range comments {
		b.WriteByte('#')
		b.WriteString(commentLines.Replace(comment))
		b.WriteByte('\n')
	}

	for key, value := range c.All() {
		escapeProperty(&b, key, true)
		b.WriteByte('=')
		escapeProperty(&b, value, false)
		b.WriteByte('\n')
	}
	return b.String()
}

// commentLines adds a "#" after each line break inside a comment, so that each of its lines is a comment line.
var commentLines = strings.NewReplacer("\r\n", "\n#", "\n", "\n#", "\r", "\n#")

// escapeProperty writes text to b in a form that Properties.load reads as the same text. In a key, it escapes every
// blank, because a blank would end the key. In a value, it escapes only a blank at the beginning, because load skips
// only the blanks before a value.
func escapeProperty(b *strings.Builder, text string, isKey bool) {
	for i := range len(text) {
		switch ch := text[i]; ch {
		case ' ':
			if isKey || i == 0 {
				b.WriteByte('\\')
			}

			b.WriteByte(' ')
		case '\t':
			b.WriteString(`\t`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\f':
			b.WriteString(`\f`)
		case '\\', ':', '=', '#', '!':
			b.WriteByte('\\')
			b.WriteByte(ch)
		default:
			b.WriteByte(ch)
		}
	}
}

// UnmarshalProperties parses text as java.util.Properties.load does: "#" and "!" comments, "key=value", "key:value" and
// "key value", continued lines, backslash escapes. If a key occurs twice, the last value counts. The only error is a
// broken \uXXXX escape.
func UnmarshalProperties(text string) (*Conf, error) {
	c := New()
	for line := range logicalLines(text) {
		keyEnd, valueStart := splitProperty(line)

		key, err := unescapeProperty(line[:keyEnd])
		if err != nil {
			return nil, err
		}

		value, err := unescapeProperty(line[valueStart:])
		if err != nil {
			return nil, &Error{Key: key, Err: err}
		}

		c.Set(key, value)
	}
	return c, nil
}

// logicalLines yields the lines of a properties file: it removes leading blanks, omits comments and empty lines, and
// joins continued lines. A comment is never continued, but the continuation of a line may begin with "#".
func logicalLines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		var joined strings.Builder

		continuing := false
		for text != "" {
			var line string
			if end := strings.IndexAny(text, "\r\n"); end < 0 {
				line, text = text, ""
			} else {
				next := end + 1
				if strings.HasPrefix(text[end:], "\r\n") {
					next++
				}

				line, text = text[:end], text[next:]
			}

			line = strings.TrimLeft(line, " \t\f")
			if !continuing && (line == "" || line[0] == '#' || line[0] == '!') {
				continue
			}

			if backslashes := len(line) - len(strings.TrimRight(line, `\`)); backslashes%2 == 1 {
				joined.WriteString(line[:len(line)-1])

				continuing = true
				continue
			}

			joined.WriteString(line)

			if joined.Len() > 0 && !yield(joined.String()) {
				return
			}

			joined.Reset()

			continuing = false
		}
		// The last line may end in a backslash although no line follows.
		if joined.Len() > 0 {
			yield(joined.String())
		}
	}
}

// splitProperty returns the index at which the key ends and the index at which the value starts. The first unescaped
// "=", ":" or blank ends the key; blanks and at most one "=" or ":" precede the value.
func splitProperty(line string) (keyEnd, valueStart int) {
	for keyEnd < len(line) && !strings.ContainsRune("=: \t\f", rune(line[keyEnd])) {
		if line[keyEnd] == '\\' {
			keyEnd++
		}
		keyEnd++
	}

	keyEnd = min(keyEnd, len(line))

	valueStart = skipBlanks(line, keyEnd)
	if valueStart < len(line) && (line[valueStart] == '=' || line[valueStart] == ':') {
		valueStart = skipBlanks(line, valueStart+1)
	}
	return keyEnd, valueStart
}

func skipBlanks(line string, i int) int {
	return len(line) - len(strings.TrimLeft(line[i:], " \t\f"))
}

// unescapeProperty replaces backslash escapes by the characters that they stand for. It drops a backslash that does not
// begin a known escape.
func unescapeProperty(text string) (string, error) {
	if !strings.Contains(text, `\`) {
		return text, nil
	}

	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}

		if i++; i == len(text) {
			break
		}

		switch text[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, width, err := unicodeEscape(text[i-1:])
			if err != nil {
				return "", err
			}

			b.WriteRune(r)

			i += width - 2
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), nil
}

// unicodeEscape reads a \uXXXX escape, or a pair of such escapes that stands for one character above U+FFFF, and
// returns the character and the number of bytes read. An escape that is only half of such a pair becomes U+FFFD, since
// a Go string cannot hold it.
func unicodeEscape(text string) (rune, int, error) {
	first, err := hex4(text)
	if err != nil {
		return 0, 0, err
	}

	if !utf16.IsSurrogate(first) {
		return first, 6, nil
	}

	if len(text) > 6 && strings.HasPrefix(text[6:], `\u`) {
		if second, err := hex4(text[6:]); err == nil {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 12, nil
			}
		}
	}
	return utf8.RuneError, 6, nil
}

func hex4(text string) (rune, error) {
	if len(text) < 6 {
		return 0, fmt.Errorf("broken escape %q: \\u needs four hexadecimal digits", text)
	}

	n, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return 0, fmt.Errorf("broken escape %q: \\u needs four hexadecimal digits", text[:6])
	}
	return rune(n), nil
}
