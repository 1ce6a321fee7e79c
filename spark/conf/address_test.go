package conf

import (
	"strings"
	"testing"
)

// TestHideAddresses checks that HideAddresses removes the credentials from the addresses in a message.
func TestHideAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                     "",
		"local:///opt/a.jar":                                   "local:///opt/a.jar",
		"s3a://bucket/a.jar":                                   "s3a://bucket/a.jar",
		"s3a://bucket/a@1.jar":                                 "s3a://bucket/a@1.jar",
		"https://host:8443/a@b.jar":                            "https://host:8443/a@b.jar",
		"https://user:word@host:80/a.jar":                      "https://host:80/a.jar",
		"s3a://KEY:sec/ret@bucket/a.jar":                       "s3a://bucket/a.jar",
		"https://token@host/a.jar#x":                           "https://host/a.jar#x",
		"https://host/a.jar?sig=abc&se=1":                      "https://host/a.jar?...",
		"https://u:p@host?q=a@b":                               "https://host?...",
		"k8s://https://admin:pw@10.0.0.1:43":                   "k8s://https://10.0.0.1:43",
		"jdbc:postgresql://u:p@db/x?password=y":                "jdbc:postgresql://db/x?...",
		"https://a:b@h/1.jar,https://c:d@h/2.jar?x=y and more": "https://h/1.jar,https://h/2.jar?... and more",
		`"https://a:b@h/1?x" is no jar`:                        `"https://h/1?..." is no jar`,
		"abfss://container@account.dfs.core.windows.net/a.jar": "abfss://account.dfs.core.windows.net/a.jar",
	} {
		if got := HideAddresses(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}

		if got := Shorten(text); got != want {
			t.Errorf("shortened, %s: %s, want %s", text, got, want)
		}
	}

	if got := Quote("spark.jars", "https://u:p@host/a.jar?sig=s"); got != `"https://host/a.jar?..."` {
		t.Errorf("quoted: %s", got)
	}
}

// TestShortenLongTexts checks that Shorten searches only the beginning of a long text for addresses, with the same
// result as a search of the whole text.
func TestShortenLongTexts(t *testing.T) {
	for _, unit := range []string{"https://user:word@host/a.jar?sig=s,", "s3a://KEY:sec/ret@bucket/a.jar ",
		"local:///n.jar,", "no address ", "ä"} {
		long := strings.Repeat(unit, 2*searchedLimit/len(unit))

		whole := HideAddresses(long)
		if got, want := Shorten(long), strings.ToValidUTF8(whole[:shownLimit], "")+"..."; got != want {
			t.Errorf("%s...: %s, want %s", unit, got, want)
		}
	}
	// One address whose user part ends beyond the searched text.
	for _, rest := range []string{"", ",https://b:c@h/2.jar"} {
		text := "https://user:" + strings.Repeat("x", 2*searchedLimit) + "@host/a.jar" + rest
		if got := Shorten(text); strings.Contains(got, "user") || strings.Contains(got, "xx") {
			t.Errorf("the user is shown: %s", got)
		}
	}

	if got := Shorten("https://host/a.jar?" + strings.Repeat("x", 2*searchedLimit)); got != "https://host/a.jar?..." {
		t.Errorf("a long query: %s", got)
	}
}

func BenchmarkShortenLongList(b *testing.B) {
	text := strings.Repeat("local:///n1.jar,", 32<<10)
	for b.Loop() {
		Shorten(text)
	}
}
