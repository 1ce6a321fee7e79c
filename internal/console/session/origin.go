package session

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Foreign reports whether a page of another site has caused a request. Browsers send Sec-Fetch-Site or, for requests
// that can change something, Origin. Programs send neither, and no cookie by themselves.
//
// Sec-Fetch-Site decides alone, because the Origin of a form may be "null" although the page is of the same site. The
// policy no-referrer has this effect, and once made each sign-in in Chromium fail.
func Foreign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}

	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}

	parsed, err := url.Parse(origin)
	return err != nil || parsed.Host != r.Host
}

// KnownHost reports whether a request names one of the hosts, as HOST or HOST:PORT. A page of another name that was
// bound to the console's address (DNS rebinding) would be of the same origin for the browser. Without hosts, every host
// is known. A host that begins with *. stands for all names below it (Gateway API, hostnames of an HTTPRoute).
func KnownHost(r *http.Request, hosts []string) bool {
	return len(hosts) == 0 || slices.ContainsFunc(hosts, func(host string) bool {
		if suffix, wildcard := strings.CutPrefix(host, "*"); wildcard && strings.HasPrefix(suffix, ".") {
			return len(r.Host) > len(suffix) && strings.HasSuffix(r.Host, suffix)
		}
		return r.Host == host
	})
}
