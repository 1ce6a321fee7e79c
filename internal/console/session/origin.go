package session

import (
	"net/http"
	"net/url"
	"slices"
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
// is known.
func KnownHost(r *http.Request, hosts []string) bool {
	return len(hosts) == 0 || slices.Contains(hosts, r.Host)
}
