package hostile

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// text is one sort of hostile string. It can be built in any size.
type text struct {
	name  string
	size  int
	least int // the smallest size at which the text is still hostile
	make  func(size int) string
}

func fixed(name, what string) text {
	return text{name, len(what), len(what), func(int) string { return what }}
}

func repeated(name, what string, size int) text {
	return text{name, size, len(what), func(size int) string { return strings.Repeat(what, size/len(what)) }}
}

func numbered(name, format string, size int) text {
	var made sync.Map // by size, because thousands of fields use the same few texts
	return text{name, size, len(format) + 8, func(size int) string {
		if known, found := made.Load(size); found {
			return known.(string)
		}

		var out strings.Builder
		for i := 0; out.Len()+len(format)+8 < size; i++ {
			fmt.Fprintf(&out, format, i)
		}

		made.Store(size, out.String())
		return out.String()
	}}
}

// within returns a text that consists of prefix, the text t and suffix.
func within(prefix string, t text, suffix string) text {
	inner := t.make
	t.least, t.size = t.least+len(prefix)+len(suffix), t.size+len(prefix)+len(suffix)
	t.make = func(size int) string { return prefix + inner(size-len(prefix)-len(suffix)) + suffix }
	return t
}

// quantities returns quantities with many digits, large exponents, or both. An earlier version of a decoder computed
// for hours with the first of these quantities.
func quantities(size int) []text {
	return []text{
		fixed("huge exponent, long mantissa", "1234567890123456789012e2000000000"), fixed("huge exponent", "1e2000000000"),
		fixed("tiny exponent", "1e-2000000000"), fixed("negative exponent", "1234567890123456789012e-999999999"),
		fixed("exponent of two digits", "9999999999999999999999999999999999999999e99"), fixed("tiny of two digits", "1234567890123456789012345e-99"),
		fixed("exa", "99999999999999999999999999999999999E"), fixed("nano", "0.0000000000000000000000000000000001n"),
		repeated("digits", "9", size), within("0.", repeated("decimals", "7", size-2), ""),
		within("", repeated("digits with an exponent", "9", size-8), "e1000000"),
	}
}

// texts returns hostile strings of about size bytes. They include the worst forms of everything that Spark or the
// operator parses: lists, numbers, times, addresses, and patterns.
func texts(typed bool, size int) []text {
	key := fmt.Sprint(typed, size)
	if known, found := textsOf.Load(key); found {
		return known.([]text)
	}

	all := makeTexts(typed, size)
	textsOf.Store(key, all)
	return all
}

var textsOf sync.Map

func makeTexts(typed bool, size int) []text {
	long := repeated("long", "a", size)
	markers := repeated("markers", "{{SPARK_VERSION}}", size)

	all := []text{long, markers, within("", repeated("digits", "9", 4096), "g"), repeated("commas", "a,", size)}
	if !typed {
		return append(all, quantities(4096)[:2]...)
	}

	all = append(all, quantities(64<<10)...)
	all = append(all,
		repeated("app names", "{{$appName}}{{$appId}}", size), repeated("conf references", "${spark.app.name}", size), repeated("shell references", "$(A)", size),
		numbered("distinct list", "n%d,", size), numbered("distinct pairs", "k%d=v,", size), numbered("distinct lines", "k%d=v\n", size),
		numbered("distinct files", "local:///n%d.jar,", size), numbered("distinct options", "-Dk%d=v ", size),
		repeated("dots", "a.", size), repeated("slashes", "a/", size), repeated("colons", "a:", size), repeated("blanks", " ", size),
		repeated("quotes", `\"`, size/2), repeated("less than", "<", size/6), repeated("control", "\x01", size/6), repeated("line ends", "\n", size/2),
		repeated("percent", "%41", size), within("s3a://user:secret@host/", repeated("query", "?a=b&", size-30), ""),
		fixed("alias bomb", aliasBomb(9)), text{"wide alias bomb", 128 << 10, 1 << 10, wideAliases},
		repeated("JSON lists", "[", size), repeated("JSON objects", `{"a":`, size), repeated("YAML lists", "- ", min(size, 20000)), repeated("YAML maps", "a: ", min(size, 20000)),
		text{"lists in lists", min(size, 19000), 8, func(size int) string { return strings.Repeat("[", size/2) + strings.Repeat("]", size/2) }},
		numbered("JSON entries", `"k%d":0,`, size), fixed("scalar bomb", "a: !!binary "+strings.Repeat("QUFB", 1000)),
	)
	all = append(all, programs()...)
	return append(all, times()...)
}

// programs returns hostile regular expressions and class names.
func programs() []text {
	return []text{
		fixed("nested repeats", "((((a{1,9}){1,9}){1,9})|b)*c"), fixed("counted classes", strings.Repeat(`\pL{1,1000}`, 40)),
		fixed("one counted class", `(?i)[\pL\pN\pS]{1000}`), fixed("alternatives", strings.Repeat("(a|b|", 300)+"c"+strings.Repeat(")*", 300)),
		fixed("dot stars", strings.Repeat(".*", 2000)+"x"), fixed("ambiguous", "(a+)+$"), fixed("optional chain", strings.Repeat("a?", 5000)+strings.Repeat("a", 5000)),
		repeated("parentheses", "(", 4096),
	}
}

// times returns hostile durations, cron expressions, time zones and points in time.
func times() []text {
	list := make([]string, 60)
	for i := range list {
		list[i] = strconv.Itoa(i)
	}
	return []text{
		fixed("longest duration", "9223372036854775807ns"), fixed("hours", "2562047h47m16.854775807s"), repeated("many units", "1ns", 64<<10), fixed("days", "99999999999999999999d"),
		fixed("never", "0 0 30 2 *"), fixed("rarely", "0 0 29 2 0"), fixed("always", "* * * * *"), fixed("every nanosecond", "@every 1ns"), fixed("every second", "@every 1s"),
		within(strings.Join(list, ","), repeated("long list", ",0", 64<<10), " * * * *"), fixed("six fields", "* * * * * *"), fixed("with zone", "CRON_TZ=Pacific/Apia * * * * *"),
		within("*/", repeated("long step", "9", 64<<10), " * * * *"), fixed("zone", "Pacific/Apia"), fixed("file as a zone", "../../../../../../../../proc/self/environ"),
		fixed("first time", "0001-01-01T00:00:00Z"), fixed("last time", "9999-12-31T23:59:59Z"),
	}
}

// aliasBomb returns a YAML text whose aliases expand to 10^levels words.
func aliasBomb(levels int) string {
	var out strings.Builder
	out.WriteString("a0: &a0 lol\n")

	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&out, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return out.String()
}

// wideAliases returns a YAML text of a given size. Half of the text is one long string. The other half consists of
// aliases that refer to this string.
func wideAliases(size int) string {
	return "a: &a " + strings.Repeat("x", size/2) + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a,", size/6-10), ",") + "]\n"
}
