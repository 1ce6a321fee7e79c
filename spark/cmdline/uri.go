package cmdline

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// lists resolves the files in the values of fileLists. Like Spark, it trims the items of a list that a key sets, but
// keeps the blanks around the items of a list that an option sets.
func (p *parser) lists() error {
	byOption := map[string]bool{}
	for _, o := range options {
		if _, ok := p.options[o.name]; ok && o.key != "" {
			byOption[o.key] = true
		}
	}

	for _, key := range fileLists {
		text, ok := p.conf.Get(key)
		if !ok {
			continue
		}

		items := conf.SplitList(text)
		if byOption[key] {
			items = slices.DeleteFunc(strings.Split(text, ","), func(item string) bool { return len(conf.SplitList(item)) == 0 })
		}

		for i, item := range items {
			var problem string
			if items[i], problem = p.resolve(key, item); problem != "" {
				return submit.KeyErrorf(key, "%s", problem)
			}
		}

		p.conf.Set(key, strings.Join(items, ","))
	}
	return nil
}

// resolve converts a path or URI to a URI (Utils.resolveURI). A text without a scheme, or a text that is not a URI by
// Java's rules, is the path of a file of the submitter. If such a text has the form of a URL, resolve returns a
// problem, whereas Spark looks for a file below the working directory.
func (p *parser) resolve(key, text string) (uri, problem string) {
	scheme, rest, _ := strings.Cut(text, ":")
	odd := conf.NotURI(text)

	hasScheme := schemePattern.MatchString(scheme) && rest != "" && rest != "//" && odd == ""
	switch {
	case hasScheme:
		return text, ""
	case schemePattern.MatchString(strings.TrimSpace(scheme)) && strings.HasPrefix(rest, "/"):
		if odd == "" {
			return "", conf.Quote(key, text) + " names no file"
		}
		return "", conf.IllegalURI(text, odd)
	}

	name, fragment := text, ""
	if before, after, ok := strings.Cut(text, "#"); ok && odd == "" {
		if decoded, err := url.PathUnescape(before); err == nil {
			name, fragment = decoded, "#"+after
		}
	}
	return fileURI(p.absolute(name)) + fragment, ""
}

var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// absolute returns the absolute path of name, without "." and "..". A relative name is resolved against the working
// directory.
func (p *parser) absolute(name string) string {
	if !path.IsAbs(name) {
		name = path.Join("/", p.submitter.WorkingDirectory, name)
	}
	return path.Clean(name)
}

// fileURI returns the file: URI of a path like java.io.File.toURI: it escapes characters that a URI's path must not
// contain, and keeps letters beyond ASCII.
func fileURI(name string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString("file:")

	for len(name) > 0 {
		_, width := utf8.DecodeRuneInString(name)
		letter := name[:width]
		name = name[width:]

		if letter != "?" && letter != "#" && conf.NotURI(letter) == "" {
			b.WriteString(letter)
			continue
		}

		for _, ch := range []byte(letter) {
			b.WriteByte('%')
			b.WriteByte(hex[ch>>4])
			b.WriteByte(hex[ch&15])
		}
	}
	return b.String()
}
