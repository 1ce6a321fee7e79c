package patterns

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"sync"
)

var longestTexts sync.Map // by size and pattern

// Longest returns a string of about size bytes that matches a pattern, or an empty string if it finds none. Each
// repetition without an upper bound may use half of the bytes that are left.
func Longest(pattern string, size int) string {
	key := fmt.Sprint(size, pattern)
	if known, found := longestTexts.Load(key); found {
		return known.(string)
	}

	text := longest(pattern, size)
	longestTexts.Store(key, text)
	return text
}

func longest(pattern string, size int) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var out strings.Builder
	left := size
	writeMatch(&out, parsed, &left)

	if text := out.String(); Matches(pattern, text) {
		return text
	}
	return ""
}

// writeMatch writes a text that matches a regular expression. The argument room is the number of bytes that are left.
// writeMatch subtracts the length of the text from it.
func writeMatch(out *strings.Builder, re *syntax.Regexp, room *int) {
	write := func(text string) {
		out.WriteString(text)
		*room -= len(text)
	}
	switch re.Op {
	case syntax.OpLiteral:
		write(string(re.Rune))
	case syntax.OpCharClass:
		write(string(worstRune(re.Rune)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		write("a")
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			writeMatch(out, sub, room)
		}
	case syntax.OpAlternate:
		writeMatch(out, re.Sub[len(re.Sub)-1], room)
	case syntax.OpQuest:
		if *room > 0 {
			writeMatch(out, re.Sub[0], room)
		}
	case syntax.OpPlus, syntax.OpStar:
		repeat(out, re.Sub[0], 1, -1, room)
	case syntax.OpRepeat:
		repeat(out, re.Sub[0], re.Min, re.Max, room)
	}
}

// repeat writes one match of a regular expression after another, until the matches have used half of room. The number
// of matches is between least and most. If most is -1, it has no upper limit.
func repeat(out *strings.Builder, re *syntax.Regexp, least, most int, room *int) {
	share := *room / 2 // the other half is for the rest of the pattern
	for n := 0; n < least || (most < 0 || n < most) && share > 0; n++ {
		before := out.Len()
		writeMatch(out, re, room)

		share -= out.Len() - before
		if out.Len() == before {
			return
		}
	}
}

// worstRune returns a rune of a character class. It prefers a digit, because numbers are costly to parse, and then a
// letter.
func worstRune(ranges []rune) rune {
	for _, want := range []rune{'9', 'a', 'Z'} {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	return ranges[0]
}
