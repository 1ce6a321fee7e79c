package conf

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestNotURI checks which part of a text java.net.URI rejects (the character categories and the grammar in its
// documentation, and RFC 2732 for IPv6 addresses).
func TestNotURI(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a.jar": "", "/opt/a.jar": "", "local:///opt/a.jar": "", "s3a://bucket/a.jar": "",
		"https://h:8443/a/b.jar?sig=a&b=c#f": "", "a;b@c$d,e+f=g": "",
		"~user/(a)*'b!": "", "%20": "", "a%2Fb%c3%BC": "", "hdfs://nameservice1/größe/漢.jar": "", "mailto:a@b": "",
		"a b": " ", "a\tb": "\t", "a\nb": "\n", "a\x00": "\x00", "a\x7f": "\x7f", "\x1fa": "\x1f",
		`a"b`: `"`, "a<b": "<", "a>b": ">", `a\b`: `\`, "a^b": "^", "a`b": "`", "a{b": "{", "a|b": "|", "a}b": "}",
		"a\u0080b": "\u0080", "a\u009fb": "\u009f", "a\u0085b": "\u0085", "a\u00a0b": "\u00a0", "a\u2003b": "\u2003",
		"a\u2028b": "\u2028", "a\u3000b": "\u3000", "a\u200bb": "",
		"%": "%", "a%": "%", "a%2": "%2", "a%zz": "%zz", "%2G": "%2G", "100%.txt": "%.t", "%25%": "%", "%%41": "%%4",
		"a[1].txt": "[", "a]": "]", "https://h/a[1].txt": "[", "a?b[1]": "", "a#b[1]": "", "a?b=c?d": "", "a#b?c": "",
		"a#b#c": "#", "a?b#c#d": "#", "##": "#",
		"local:///a{b}[c] d": "{", "b c{": " ",
		"https://[fd00::1]/a.jar": "", "https://[fd00::1]:8443/a.jar": "", "hdfs://[::ffff:10.0.0.1]:9000": "",
		"ftp://user:word@[::1]?a#b": "", "http://[::1]": "",
		"https://[fd00::1]/a[1].jar": "[", "https://[fd00::1/a.jar": "[", "https://fd00::1]/a.jar": "]",
		"https://[fd00::1]x/a.jar": "[", "https://[]/a": "[",
		"https://[10.0.0.1]/a": "[", "https://[fd00::1]:80x/a": "[", "https://[host]/a": "[", "/[::1]": "[",
		"[::1]": "[", "https:/[::1]/a": "[", "https://a/@[::1]": "[",
		"https://[[::1]]/a": "[",
	} {
		if got := NotURI(text); got != want {
			t.Errorf("NotURI(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestIllegalURISaysWhatToDo checks that the message shows the wrong part, but no credentials and no more than a part
// of a long URI.
func TestIllegalURISaysWhatToDo(t *testing.T) {
	const want = `"https://h/a b": " " cannot be part of a URI; write it as %XX, such as %20 for a blank`
	if got := IllegalURI("https://user:word@h/a b", " "); got != want {
		t.Errorf("the message is %s, want %s", got, want)
	}

	const fragments = `"https://h/a#b#c": a URI has only one fragment; write each # after the first as %23`
	if got := IllegalURI("https://user:word@h/a#b#c", "#"); got != fragments {
		t.Errorf("the message is %s, want %s", got, fragments)
	}

	if got := IllegalURI("https://h/"+strings.Repeat("x", 100_000)+" ", " "); len(got) > 400 ||
		!strings.Contains(got, `xxx...": " " cannot`) {
		t.Errorf("the message for a long URI is %.500s", got)
	}
}

// FuzzNotURI checks that the result is a part of the text, and that the text is a URI after every such part is escaped.
// It also checks that a URI is accepted if all its parts contain the text in an escaped form, and that the letters in
// the text need no escape.
func FuzzNotURI(f *testing.F) {
	for _, seed := range []string{"a b", "100%.txt", "https://[::1]:80/a[1]", "a#b#c", "%zé", "\u00a0", "a\xff{",
		"https://u@[fd00::1"} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 1000 {
			return
		}

		u := url.URL{Scheme: "https", User: url.UserPassword(text, text), Host: "[fd00::1]:80", Path: "/" + text,
			RawQuery: url.QueryEscape(text), Fragment: "f" + text}

		letters := strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, text)
		if uri := u.String() + letters; NotURI(uri) != "" {
			t.Errorf("%q in %q is illegal", NotURI(uri), uri)
		} else if NotURI(uri+"#") != "#" {
			t.Errorf("a second fragment in %q is legal", uri+"#")
		}

		for range len(text) + 1 {
			part := NotURI(text)
			if part == "" {
				return
			}

			at := strings.Index(text, part)
			switch {
			case at < 0:
				t.Fatalf("%q is no part of %q", part, text)
			case part == "#": // the first one begins the fragment
				at += 1 + strings.Index(text[at+1:], part)
			case part[0] == '%' && len(part) < 3:
				at = len(text) - len(part)
			}

			_, width := utf8.DecodeRuneInString(part)

			escaped := ""
			for _, b := range []byte(part[:width]) {
				escaped += fmt.Sprintf("%%%02X", b)
			}

			text = text[:at] + escaped + text[at+width:]
		}

		t.Errorf("%q is still no URI", text)
	})
}
