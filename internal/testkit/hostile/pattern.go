package hostile

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// longest returns a string of about size bytes that a pattern matches: each repetition without a bound takes what is left.
func longest(pattern string, size int) (string, bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var out strings.Builder
	left := size
	writeMatch(&out, parsed, &left)
	text := out.String()
	matched, err := regexp.MatchString(pattern, text)
	return text, err == nil && matched
}

// writeMatch writes something that an expression matches.
func writeMatch(out *strings.Builder, re *syntax.Regexp, left *int) {
	write := func(text string) {
		out.WriteString(text)
		*left -= len(text)
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
			writeMatch(out, sub, left)
		}
	case syntax.OpAlternate:
		writeMatch(out, re.Sub[len(re.Sub)-1], left)
	case syntax.OpQuest:
		if *left > 0 {
			writeMatch(out, re.Sub[0], left)
		}
	case syntax.OpPlus, syntax.OpStar:
		repeat(out, re.Sub[0], 1, -1, left)
	case syntax.OpRepeat:
		repeat(out, re.Sub[0], re.Min, re.Max, left)
	}
}

// repeat writes what an expression matches again and again: at least so many times, and at most as many, or without an end for -1, while there is room.
func repeat(out *strings.Builder, re *syntax.Regexp, least, most int, left *int) {
	share := *left / 2 // something may follow
	for n := 0; n < least || (most < 0 || n < most) && share > 0; n++ {
		before := out.Len()
		writeMatch(out, re, left)
		share -= out.Len() - before
		if out.Len() == before {
			return
		}
	}
}

// worstRune prefers digits, of which numbers are made, then letters.
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
