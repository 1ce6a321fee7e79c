package policy

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// known compiles patterns for keys of annotations.
func known(texts ...string) (all patterns) {
	for _, text := range texts {
		compiled, err := compilePattern(text, anyCharacter)
		if err != nil {
			panic(err) // the lists below are valid
		}

		all = append(all, compiled)
	}
	return all
}

// rawAnnotations are annotations whose value becomes configuration of a proxy, or makes it send requests to any
// address: ingress-nginx and F5's nginx (nginx.org), HAProxy's and jcmoraisjr's HAProxy controllers, Skipper,
// Ambassador. Most of these controllers can be installed with another prefix, so the name counts.
var rawAnnotations = known(
	"*-snippet", "*-snippets", "*/config-*", "*/auth-url", "*/auth-signin", "*/auth-external", "*/auth-proxy-set-headers", "*/auth-tls-match-cn", "*/mirror-*",
	"*/route-acl", "*/skipper-filter", "*/skipper-predicate", "*/skipper-routes", "getambassador.io/config",
)

// harmlessAnnotations are the annotations of Ingresses and routes that the level baseline allows. They tune time-outs,
// sizes, redirects and limits, or name hosts, which the rule ingress.hosts checks.
var harmlessAnnotations = known(
	"kubernetes.io/tls-acme", "cert-manager.io/*", "acme.cert-manager.io/*", "external-dns.alpha.kubernetes.io/*", "*/server-alias",
	"*/ssl-redirect", "*/force-ssl-redirect", "*/backend-protocol", "*/allowlist-source-range", "*/whitelist-source-range", "*/denylist-source-range",
	"*/proxy-body-size", "*/client-max-body-size", "*/proxy-buffer-size", "*/proxy-buffering", "*/proxy-request-buffering", "*/proxy-http-version",
	"*/*-timeout", "*/timeout-*", "*/limit-*", "*/affinity", "*/affinity-mode", "*/session-cookie-name", "*/session-cookie-max-age", "*/session-cookie-expires",
	"traefik.ingress.kubernetes.io/router.entrypoints", "traefik.ingress.kubernetes.io/router.tls", "projectcontour.io/websocket-routes", "app.kubernetes.io/*",
)

// hostAnnotations are annotations whose value lists hosts: those that a proxy serves, that a name server answers for,
// or that a certificate is valid for.
var hostAnnotations = known(
	"*/server-alias", "*/server-alias-regex", "*/host-aliases", "*/hostname", "*/hostnames", "*/*-hostname", "*/hostname-*",
	"dns.alpha.kubernetes.io/*", "cert-manager.io/common-name", "cert-manager.io/alt-names",
)

// hostName matches names of hosts, also with a wildcard. An alias in ingress-nginx may also be a regular expression.
var hostName = regexp.MustCompile(`^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// annotatedHosts checks the hosts that annotations name.
func (r *refusals) annotatedHosts(asked *dialect.Exposing) {
	for _, key := range slices.Sorted(maps.Keys(asked.Annotations)) {
		if !hostAnnotations.matches(key) {
			continue
		}

		for _, host := range strings.FieldsFunc(asked.Annotations[key], func(c rune) bool { return c == ',' || c <= ' ' }) {
			plain := strings.TrimSuffix(strings.ToLower(host), ".")
			if !hostName.MatchString(plain) {
				plain = "*" // an expression may match any host
			}

			if !r.set.hosts.matches(plain) {
				r.add(annotationField(asked, key), "the host "+shown(host), "ingress.hosts", oneOf(*r.set.hosts, "remove it"))
			}
		}
	}
}

// annotationField returns the field of an annotation. A key of the Spark configuration already ends with its name.
func annotationField(asked *dialect.Exposing, key string) string {
	if strings.HasSuffix(asked.AnnotationsField, key+"]") {
		return asked.AnnotationsField
	}
	return asked.AnnotationsField + "[" + key + "]"
}
