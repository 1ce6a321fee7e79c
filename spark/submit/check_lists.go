package submit

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/sparkoperator/spark-operator/spark/conf"
)

// notURI returns the part of text because of which java.net.URI would not read it, or nothing. Spark takes such text for the path of a file
// (Utils.resolveURI), and its file would be looked for where there is none.
func notURI(text string) string {
	path := true
	for i, r := range text {
		switch {
		case r == '?' || r == '#':
			path = false
		case r == '%':
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return text[i:min(i+3, len(text))]
			}
		case neverInURI(r), path && (r == '[' || r == ']'):
			return string(r)
		}
	}
	return ""
}

// neverInURI tells the characters that are illegal anywhere in a URI.
func neverInURI(r rune) bool {
	if r >= 0x80 {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}
	return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>\\^`{|}", r)
}

func isHex(b byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", b) >= 0 }

// illegal says why part cannot be in uri.
func illegal(uri, part string) string {
	return fmt.Sprintf("%q: %q cannot stand in an address; write it as %%XX, such as %%20 for a blank", conf.Shorten(uri), part)
}

// checkPackages refuses coordinates that the driver would refuse when it looks for them (MavenUtils.extractMavenCoordinates). Nothing is
// looked for here.
func (d *draft) checkPackages() error {
	if packages, _ := d.conf.Get("spark.jars.packages"); strings.TrimSpace(packages) == "" {
		return nil
	}
	for _, list := range [...]struct {
		key, form string
		parts     int
	}{
		{"spark.jars.packages", "GROUP:ARTIFACT:VERSION", 3},
		{"spark.jars.excludes", "GROUP:ARTIFACT", 2},
	} {
		text, _ := d.conf.Get(list.key)
		for _, coordinates := range conf.SplitList(text) {
			// Spark takes slashes too.
			parts := strings.Split(strings.ReplaceAll(coordinates, "/", ":"), ":")
			if len(parts) != list.parts || strings.TrimSpace(parts[0]) == "" || strings.TrimSpace(parts[1]) == "" || strings.TrimSpace(parts[list.parts-1]) == "" {
				return keyError(list.key, "should be %s, but has %s", list.form, conf.Quote(list.key, coordinates))
			}
		}
	}
	return nil
}
