package debian

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRelease(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       Release
		wantErr    bool
	}{
		{"debian", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n",
			Release{"debian", "bookworm"}, false},
		{"ubuntu, quoted", "ID=\"ubuntu\"\nID_LIKE=debian\n# a comment\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n", Release{"ubuntu", "noble"}, false},
		{"another system", "ID=fedora\nVERSION_ID=42\n", Release{}, true},
		{"testing without a codename", "ID=debian\n", Release{}, true},
		{"empty", "", Release{}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseRelease(test.text)
			if got != test.want || (err != nil) != test.wantErr {
				t.Errorf("got %+v, %v; want %+v, error %v", got, err, test.want, test.wantErr)
			}
		})
	}
}

func TestDistributionTargets(t *testing.T) {
	bookworm := Release{ID: "debian", Codename: "bookworm"}
	for _, test := range []struct {
		name    string
		release Release
		text    string
		want    []Target
	}{
		{
			"lists are there: the origin decides", bookworm,
			`Packages|http://mirror/debian/|bookworm|main|Debian|/etc/apt/sources.list.d/debian.sources:1
DEP-11|http://mirror/debian/|bookworm|main|Debian|/etc/apt/sources.list.d/debian.sources:1
Packages|http://mirror/debian/|bookworm|main|Debian|/etc/apt/sources.list.d/debian.sources:1
Packages|http://mirror/security/|bookworm-security|main|Debian|/etc/apt/sources.list.d/debian.sources:2
Packages|https://vendor/|bookworm|main|Vendor|/etc/apt/sources.list.d/vendor.list:1
`,
			[]Target{
				{"http://mirror/debian/", "bookworm", "main", "Debian", "/etc/apt/sources.list.d/debian.sources:1"},
				{"http://mirror/security/", "bookworm-security", "main", "Debian",
					"/etc/apt/sources.list.d/debian.sources:2"},
			},
		},
		{
			"no lists: suite and component decide", bookworm,
			`Packages|http://mirror/debian/|bookworm|main|$(ORIGIN)|/etc/apt/sources.list:1
Packages|http://mirror/debian/|bookworm-updates|main||/etc/apt/sources.list:2
Packages|https://vendor/|bookworm|stable||/etc/apt/sources.list.d/vendor.list:1
Packages|https://vendor/|tool-bookworm|main||/etc/apt/sources.list.d/vendor.list:2
`,
			[]Target{
				{"http://mirror/debian/", "bookworm", "main", "", "/etc/apt/sources.list:1"},
				{"http://mirror/debian/", "bookworm-updates", "main", "", "/etc/apt/sources.list:2"},
			},
		},
		{
			"Ubuntu's universe", Release{ID: "ubuntu", Codename: "noble"},
			"Packages|http://mirror/ubuntu/|noble|universe|Ubuntu|/etc/apt/sources.list.d/ubuntu.sources:1\nnonsense\n",
			[]Target{{"http://mirror/ubuntu/", "noble", "universe", "Ubuntu",
				"/etc/apt/sources.list.d/ubuntu.sources:1"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.release.Distribution(ParseTargets(test.text))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Target{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSourceLines(t *testing.T) {
	targets := []Target{{uri: "http://m/debian/", suite: "trixie", component: "main"},
		{uri: "http://m/own/", suite: "trixie", component: "main"}}
	got := SourceLines(targets, func(a Target) []string {
		if a.uri == "http://m/own/" {
			return []string{"/k/a.gpg", "/k/b.gpg"}
		}
		return nil
	})

	want := "deb http://m/debian/ trixie main\ndeb [signed-by=/k/a.gpg,/k/b.gpg] http://m/own/ trixie main\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseSignedBy(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"stanza", "Types: deb\nURIs: http://m/\nSigned-By: /usr/share/keyrings/a.gpg\n\nTypes: deb\nSigned-By: /usr/share/keyrings/a.gpg\n", []string{"/usr/share/keyrings/a.gpg"}},
		{"stanza, two files", "signed-by: /k/a.gpg, /k/b.gpg\n", []string{"/k/a.gpg", "/k/b.gpg"}},
		{"line", "deb [arch=amd64 signed-by=/k/a.asc trusted=no] http://m bookworm main\n", []string{"/k/a.asc"}},
		{"line, last option, two files", "deb [signed-by=/k/a.asc,/k/b.asc] http://m bookworm main",
			[]string{"/k/a.asc", "/k/b.asc"}},
		{"fingerprint", "Signed-By: 0123456789ABCDEF0123456789ABCDEF01234567\n", nil},
		{"key in place", "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n /notafile\n", nil},
		{"comment", "# Signed-By: /k/a.gpg\n", nil},
		{"none", "deb http://m bookworm main\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, parseSignedBy(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzParseSignedBy checks that, for any sources file, every result is an absolute path without blanks or commas. The
// paths become part of the option in brackets in a line of sources.list.
func FuzzParseSignedBy(f *testing.F) {
	f.Add("deb [signed-by=/k/a.asc] http://m s c")
	f.Add("Signed-By: /a,/b c")
	f.Add("signed-by")
	f.Add("\xffsigned-by=\xfe]")
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range parseSignedBy(text) {
			if file[0] != '/' || strings.ContainsAny(file, ", \t\n[]") {
				t.Errorf("%q from %q", file, text)
			}
		}
	})
}

func TestParseAcquire(t *testing.T) {
	text := `Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://proxy:3128/";
Acquire::http::Proxy::mirror "DIRECT";
Acquire::https::CAInfo "/etc/ssl/own.pem";
Acquire::Retries "3";
APT::Architecture "amd64";
`

	want := []string{`Acquire::http::Proxy "http://proxy:3128/";`, `Acquire::http::Proxy::mirror "DIRECT";`,
		`Acquire::https::CAInfo "/etc/ssl/own.pem";`}
	if diff := cmp.Diff(want, ParseAcquire(text)); diff != "" {
		t.Error(diff)
	}
}

func TestParseCandidate(t *testing.T) {
	for text, want := range map[string]string{
		"openjdk-17-jre-headless:\n  Installed: (none)\n  Candidate: 17.0.21+9-1~deb12u1\n  Version table:\n": "17.0.21+9-1~deb12u1",
		"tini:\n  Installed: (none)\n  Candidate: (none)\n":                                                   "",
		"": "",
	} {
		if got := ParseCandidate(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
