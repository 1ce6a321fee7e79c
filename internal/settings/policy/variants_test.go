package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/pod-security-admission/api"

	"github.com/sparkoperator/spark-operator/internal/dialect"
)

// TestPodsThatCircumventedRules checks ways in which a pod once met a rule in letter only.
func TestPodsThatCircumventedRules(t *testing.T) {
	t.Parallel()

	const (
		sizes = `containers: [{name: spark, image: "spark:4", resources: {requests: {cpu: 1, memory: 550Gi}, limits: {cpu: 2, memory: 550Gi}}}`
		plain = `containers: [{name: spark, image: "spark:4"}]`
	)
	for name, c := range map[string]struct{ rule, pod, want string }{
		"a sidecar of negative size": {`limits: {memory: 100Gi}`,
			`{` + sizes + `, {name: side, image: s, resources: {requests: {memory: -1000Gi}}}]}`,
			"the sum 2200Gi of the pods' requests for memory is not allowed by the rule limits.memory"},
		"a pod overhead of negative size": {`limits: {memory: 100Gi}`, `{overhead: {memory: -1000Gi}, ` + sizes + `]}`,
			"the sum 2200Gi"},
		"limits above requests": {`limits: {hard: {limits.cpu: 6}}`, `{` + sizes + `]}`,
			"the sum 8 of the pods' limits for cpu is not allowed by the rule limits.hard[limits.cpu] of the policy p; use at most 6"},
		"no limit": {`limits: {hard: {limits.memory: 4Ti}}`, `{` + plain + `}`,
			"spec.driver: the container spark without a limit for memory is not allowed by the rule limits.hard[limits.memory] of the policy p; set its limit"},
		"no limit of a sidecar": {`limits: {hard: {limits.memory: 4Ti}}`, `{` + sizes + `, {name: side, image: s}]}`,
			"the container side without a limit for memory"},
		"no limit of an init container": {`limits: {hard: {limits.memory: 4Ti}}`,
			`{initContainers: [{name: init, image: s}], ` + sizes + `]}`,
			"the container init without a limit for memory"},
		"the limit 0": {`limits: {hard: {limits.memory: 4Ti}}`,
			`{containers: [{name: spark, image: s, resources: {requests: {memory: 1Gi}, limits: {memory: 0}}}]}`,
			"the container spark without a limit for memory"},
		"the limit 0 of the pod": {`limits: {hard: {limits.memory: 4Ti}}`,
			`{resources: {limits: {memory: "0"}}, ` + plain + `}`, "the container spark without a limit for memory"},
		"a registry in capital letters": {`images: {allowed: ["docker.io/**"]}`,
			`{containers: [{name: spark, image: EVIL/spark}]}`, `the image "EVIL/spark"`},
		"a reference in an image": {`images: {allowed: ["registry.example.com/*"]}`,
			`{containers: [{name: spark, image: "registry.example.com/${env:X}"}]}`,
			`the image "registry.example.com/${env:X}"`},
		"GPUs": {`limits: {hard: {requests.nvidia.com/gpu: 2}}`,
			`{containers: [{name: spark, image: s, resources: {limits: {nvidia.com/gpu: 1}}}]}`,
			"the sum 4 of the pods' requests for nvidia.com/gpu is not allowed by the rule limits.hard[requests.nvidia.com/gpu]"},
		"GPUs by a resource claim": {`limits: {hard: {requests.nvidia.com/gpu: 2}}`,
			`{resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}], ` + plain + `}`,
			"the resource claim gpu, whose devices the operator cannot count, is not allowed by the rule limits.hard[requests.nvidia.com/gpu] of the policy p; request nvidia.com/gpu"},
		"a runtime class": {`runtimeClasses: {allowed: [gvisor]}`, `{runtimeClassName: runc, ` + plain + `}`,
			`the runtime class "runc" is not allowed by the rule runtimeClasses of the policy p; allowed are: gvisor`},
		"a scheduler": {`schedulers: {allowed: []}`, `{schedulerName: mine, ` + plain + `}`,
			`the scheduler "mine" is not allowed by the rule schedulers of the policy p; remove it`},
		"a namespaced image": {`images: {allowed: ["registry.example.com/*"]}`,
			`{containers: [{name: spark, image: registry.example.com/evil/miner}]}`,
			`allowed are: registry.example.com/*`},
		"a registry in a path": {`images: {allowed: ["*.example.com/spark"]}`,
			`{containers: [{name: spark, image: evil.org/a.example.com/spark}]}`,
			`the image "evil.org/a.example.com/spark"`},
	} {
		got := texts(prepared(t, `{rules: [{name: p, `+c.rule+`}]}`).For(nil).Faults(subject(t, c.pod)))
		if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), c.want) {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}

	for rule, pod := range map[string]string{
		`limits: {hard: {limits.cpu: 8, limits.memory: 2200Gi, requests.cpu: 4, memory: 2200Gi, requests.nvidia.com/gpu: 0}}`: `{` + sizes + `]}`,
		`limits: {hard: {limits.nvidia.com/gpu: 1}}`: `{` + plain + `}`,
		`limits: {hard: {limits.memory: 4Gi}}`: `{resources: {limits: {memory: 1Gi}}, ` +
			plain + `}`,
		`limits: {hard: {requests.cpu: 4}}`: `{resourceClaims: [{name: gpu}], ` + plain + `}`,
		`runtimeClasses: {allowed: []}`:     `{` + plain + `}`,
		`schedulers: {allowed: []}`: `{schedulerName: default-scheduler, ` +
			plain + `}`,
		`images: {allowed: ["registry.example.com/**"]}`:            `{containers: [{name: spark, image: "registry.example.com/a/b:1@sha256:00"}]}`,
		`images: {allowed: ["registry.example.com/*/spark:*"]}`:     `{containers: [{name: spark, image: "registry.example.com/a/spark:1@sha256:00"}]}`,
		`images: {allowed: ["**"]}`:                                 `{containers: [{name: spark, image: evil.org/a/b}]}`,
		`images: {allowed: ["regexp:registry\\.example\\.com/.*"]}`: `{containers: [{name: spark, image: registry.example.com/a/b}]}`,
	} {
		if got := texts(prepared(t, `{rules: [{name: p, `+rule+`}]}`).For(nil).Faults(subject(t, pod))); len(got) > 0 {
			t.Errorf("%s refuses %s: %q", rule, pod, got)
		}
	}
}

// TestSettingsThatCircumventedRules checks keys with which Spark downloads packages, and annotates a Service, without
// the keys that the rules are named after.
func TestSettingsThatCircumventedRules(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ rule, key, value, want string }{
		"Hive's packages": {`packages: {allowed: ["org.apache.spark:*"]}`, "spark.sql.hive.metastore.jars", "maven",
			`the package "org.apache.hive:hive-metastore:*" is not allowed by the rule packages`},
		"Hive's packages, with blanks": {`packages: {allowed: ["org.apache.spark:*"]}`, "spark.sql.hive.metastore.jars",
			" maven ", `the package "org.apache.hive:hive-metastore:*"`},
		"Hive's packages, a reference": {`packages: {allowed: ["org.apache.spark:*"]}`, "spark.sql.hive.metastore.jars",
			"${spark.foo}", `the package "org.apache.hive:hive-metastore:*"`},
		"Hive's repositories, a reference": {`repositories: {allowed: ["https://maven.example.com/**"]}`,
			"spark.sql.maven.additionalRemoteRepositories", "https://maven.example.com/${spark.foo}",
			`the repository "https://maven.example.com/${spark.foo}"`},
		"an encoded name": {`repositories: {allowed: ["https://maven.example.com/**"]}`, "spark.jars",
			"ivy://a:b:1?rep%6fs=https://evil.org", `the repository "https://evil.org"`},
		"an encoded comma": {`repositories: {allowed: ["https://maven.example.com/**"]}`, "spark.jars",
			"ivy://a:b:1?repos=https://maven.example.com/%2Chttps://evil.org", `the repository "https://evil.org"`},
		"the class of a pod group": {`priorityClasses: {allowed: [low]}`,
			"spark.kubernetes.scheduler.volcano.podGroupTemplateJson", `{"spec": {"priorityClassName": "high"}}`,
			`spec.x: the priority class "high" is not allowed by the rule priorityClasses of the policy p; allowed are: low`},
		"the class of a pod group in YAML": {`priorityClasses: {allowed: [low]}`,
			"spark.kubernetes.scheduler.volcano.podGroupTemplateJson", `spec: {priorityClassName: high}`,
			`podGroupTemplateJson, whose pod group may name any priority class, is not allowed by the rule priorityClasses of the policy p; remove the key`},
		"the class of a pod group in a file": {`priorityClasses: {allowed: [low]}`,
			"spark.kubernetes.scheduler.volcano.podGroupTemplateFile", `/a.yaml`,
			`podGroupTemplateFile, whose pod group may name any priority class, is not allowed by the rule priorityClasses of the policy p; remove the key`},
		"Hive's repositories": {`repositories: {allowed: ["https://maven.example.com/**"]}`,
			"spark.sql.maven.additionalRemoteRepositories", "https://evil.org/m2",
			`the repository "https://evil.org/m2" is not allowed by the rule repositories`},
		"a host in a path of a repository": {`repositories: {allowed: ["https://*.example.com/m2"]}`,
			"spark.jars.repositories", "https://evil.org/a.example.com/m2", `the repository "https://evil.org/`},
		"a host in a query of a repository": {`repositories: {allowed: ["https://*.example.com/m2"]}`,
			"spark.jars.repositories", "https://evil.org?.example.com/m2", `the repository "https://evil.org?`},
		"a host in a fragment": {`repositories: {allowed: ["https://*.example.com/m2"]}`,
			"spark.jars.repositories", "https://evil.org#.example.com/m2", `the repository "https://evil.org#`},
		"a user before another host": {`repositories: {allowed: ["https://maven.example.com*"]}`,
			"spark.jars.repositories", "https://maven.example.com@evil.org",
			`the repository "https://maven.example.com@evil.org"`},
		"a host of the driver's Service": {`ingress: {hosts: {allowed: ["*.a.org"]}}`,
			"spark.kubernetes.driver.service.annotation.external-dns.alpha.kubernetes.io/hostname", "ui.a.org,bank.org",
			`spec.sparkConf[spark.kubernetes.driver.service.annotation.external-dns.alpha.kubernetes.io/hostname]: the host "bank.org" is not allowed by the rule ingress.hosts of the policy p; allowed are: *.a.org`},
		"configuration on the driver's Service": {`{}`,
			"spark.kubernetes.driver.service.annotation.getambassador.io/config", "x",
			`spec.sparkConf[spark.kubernetes.driver.service.annotation.getambassador.io/config]: a snippet, which can read the credentials of the ingress controller, is not allowed by the operator's setting policy.allowSnippetAnnotations`},
	} {
		rule := strings.Trim(c.rule, "{}")
		if rule != "" {
			rule = ", " + c.rule
		}

		set := dialect.Setting{Key: c.key, Value: c.value, Field: "spec.x"}
		of := subject(t, plainPod, set)
		of.Services = dialect.DriverServices(map[string]string{c.key: c.value})

		got := texts(prepared(t, `{rules: [{name: p`+rule+`}]}`).For(nil).Faults(of))
		if len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}

// TestAnnotations checks the three lists of annotations, each with every controller that has one, for Ingresses at the
// level baseline and for Services.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	const allHosts, oneHost = `{rules: [{name: p, level: baseline}]}`,
		`{rules: [{name: p, ingress: {hosts: {allowed: ["*.a.org"]}}}]}`

	refused := func(policy, kind, key, value string) string {
		asked := &dialect.Exposing{Kind: kind, Annotations: map[string]string{key: value}, AnnotationsField: "a"}
		return strings.Join(texts(prepared(t, policy).For(nil).ExposureFaults(asked)), "\n")
	}
	for _, key := range []string{
		"nginx.ingress.kubernetes.io/configuration-snippet", "nginx.ingress.kubernetes.io/server-snippet",
		"nginx.ingress.kubernetes.io/modsecurity-snippet",
		"nginx.ingress.kubernetes.io/auth-snippet", "nginx.ingress.kubernetes.io/stream-snippet",
		"nginx.ingress.kubernetes.io/auth-url",
		"nginx.ingress.kubernetes.io/auth-signin", "nginx.ingress.kubernetes.io/auth-tls-match-cn",
		"nginx.ingress.kubernetes.io/mirror-target",
		"nginx.ingress.kubernetes.io/mirror-host", "nginx.org/server-snippets", "nginx.org/location-snippets",
		"haproxy.org/backend-config-snippet", "haproxy.org/frontend-config-snippet", "haproxy.org/route-acl",
		"haproxy-ingress.github.io/config-backend", "haproxy-ingress.github.io/config-frontend",
		"ingress.kubernetes.io/config-backend", "haproxy-ingress.github.io/auth-url",
		"zalando.org/skipper-filter", "zalando.org/skipper-predicate", "zalando.org/skipper-routes",
		"getambassador.io/config", "renamed.example.com/auth-url",
	} {
		for _, kind := range []string{"Ingress", "HTTPRoute", "Service"} {
			if got := refused(`{owner: us}`, kind, key, "x"); !strings.HasPrefix(got, "a["+key+"]: a snippet, ") ||
				!strings.Contains(got, "policy.allowSnippetAnnotations (owner: us)") {
				t.Errorf("%s of a %s: %q", key, kind, got)
			}

			if got := refused(`{allowSnippetAnnotations: true, rules: [{name: p}]}`, kind, key, "x"); got != "" {
				t.Errorf("%s of a %s is refused although snippets are allowed: %q", key, kind, got)
			}
		}

		if harmlessAnnotations.matches(key) {
			t.Errorf("%s is raw and harmless", key)
		}
	}

	for _, key := range []string{
		"traefik.ingress.kubernetes.io/router.middlewares", "konghq.com/plugins", "projectcontour.io/auth-server",
		"alb.ingress.kubernetes.io/actions.a",
		"alb.ingress.kubernetes.io/conditions.a", "alb.ingress.kubernetes.io/group.name",
		"nginx.ingress.kubernetes.io/proxy-ssl-secret", "nginx.ingress.kubernetes.io/rewrite-target",
		"nginx.ingress.kubernetes.io/permanent-redirect", "nginx.ingress.kubernetes.io/auth-secret",
		"haproxy.org/request-set-header", "example.com/other",
	} {
		if got := refused(allHosts, "Ingress", key, "x"); !strings.HasPrefix(got,
			"a["+key+"]: the annotation is not allowed by the rule ingress.annotations of the policy p; allowed are: ") {
			t.Errorf("%s at the level baseline: %q", key, got)
		}

		if got := refused(`{rules: [{name: p}]}`, "Ingress", key, "x") + refused(allHosts, "Service", key,
			"x"); got != "" {
			t.Errorf("%s without the level, or of a Service: %q", key, got)
		}
	}

	for _, key := range []string{
		"kubernetes.io/tls-acme", "cert-manager.io/cluster-issuer", "nginx.ingress.kubernetes.io/proxy-read-timeout",
		"nginx.ingress.kubernetes.io/ssl-redirect",
		"nginx.ingress.kubernetes.io/proxy-body-size", "haproxy.org/timeout-server",
		"haproxy-ingress.github.io/timeout-client", "nginx.org/proxy-connect-timeout",
		"traefik.ingress.kubernetes.io/router.entrypoints", "projectcontour.io/response-timeout",
		"external-dns.alpha.kubernetes.io/ttl", "nginx.ingress.kubernetes.io/limit-rps",
	} {
		if got := refused(allHosts, "Ingress", key, "x"); got != "" {
			t.Errorf("%s at the level baseline: %q", key, got)
		}
	}

	for _, key := range []string{
		"nginx.ingress.kubernetes.io/server-alias", "haproxy-ingress.github.io/server-alias",
		"haproxy-ingress.github.io/server-alias-regex", "konghq.com/host-aliases",
		"external-dns.alpha.kubernetes.io/hostname", "external-dns.alpha.kubernetes.io/internal-hostname",
		"appgw.ingress.kubernetes.io/hostname-extension",
		"cert-manager.io/common-name", "cert-manager.io/alt-names", "dns.alpha.kubernetes.io/external",
		"dns.alpha.kubernetes.io/internal",
	} {
		for _, kind := range []string{"Ingress", "HTTPRoute", "Service"} {
			for value, host := range map[string]string{
				"ui.a.org": "", " UI.a.org. ,*.a.org": "", "": "", "bank.org": "bank.org",
				"ui.a.org, bank.org": "bank.org", "ui.a.org\nbank.org": "bank.org",
				"~^(bank.org|x.a.org)$": "~^(bank.org|x.a.org)$", "~^.*|x.a.org": "~^.*|x.a.org",
			} {
				got, want := refused(oneHost, kind, key, value), ""
				if host != "" {
					want = fmt.Sprintf("a[%s]: the host %q is not allowed by the rule ingress.hosts of the policy p; allowed are: *.a.org", key, host)
				}

				if got != want {
					t.Errorf("%s: %q of a %s: %q, want %q", key, value, kind, got, want)
				}

				if got := refused(`{rules: [{name: p, ingress: {hosts: {allowed: ["*"]}}}]}`, kind, key,
					value); got != "" {
					t.Errorf("%s: %q of a %s is refused although all hosts are allowed: %q", key, value, kind, got)
				}
			}
		}
	}
}

// TestUserNamespaces checks hostUsers: false, which lets a pod run as root only where the API server's version of the
// Pod Security Standards does. The pod is refused if any possible version refuses it and the version is unknown.
func TestUserNamespaces(t *testing.T) {
	t.Parallel()
	const root = `{hostUsers: false, securityContext: {seccompProfile: {type: RuntimeDefault}, runAsUser: 0},
		containers: [{name: spark, image: spark, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}`

	const probe = `{containers: [{name: spark, image: spark, livenessProbe: {httpGet: {host: 169.254.169.254, port: 80}}}]}`
	for _, c := range []struct {
		major, minor, emulated string
		root, probe            bool // refused
	}{
		{"", "", "", true, true}, {"1", "x", "", true, true}, {"1", "30", "", true, false},
		{"1", "32+", "", true, false}, {"1", "33", "", true, false},
		{"1", "34", "", true, true}, {"1", "35", "", false, true}, {"1", "36", "32", true, false},
		{"1", "99", "", false, true},
	} {
		for pod, want := range map[string]bool{root: c.root, probe: c.probe} {
			p := prepared(t, `{rules: [{name: p, level: restricted}, {name: q, level: baseline}]}`)
			if pod == probe {
				p = prepared(t, `{rules: [{name: q, level: baseline}]}`)
			}

			info := version.Info{Major: c.major, Minor: c.minor}
			if c.emulated != "" {
				info.EmulationMajor, info.EmulationMinor = "1", c.emulated
			}

			p.ServerVersion = ServerVersion(info)
			if got := texts(p.For(nil).Faults(subject(t, pod))); len(got) > 0 != want {
				t.Errorf("%s.%s (as %s): %q, want it refused: %t", c.major, c.minor, c.emulated, got, want)
			}
		}
	}

	if got := ServerVersion(version.Info{Major: "1", Minor: "31"}); got != api.MajorMinorVersion(1, 31) {
		t.Errorf("version %v", got)
	}
}

// TestSegments checks with generated patterns and values that in patterns of images and repositories * and ? stand for
// no slash, and that ** stands for anything. A value that matches must also match with the meaning of earlier versions.
func TestSegments(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(36, 2))
	text := func(letters string) string {
		b := make([]byte, 1+random.IntN(7))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}

	matched := 0
	for range 50_000 {
		written, value := text("ab/.*?"), text("ab/.")
		for _, wildcard := range []string{inImageSegment, inURLSegment} {
			p, err := compilePattern(written, wildcard)
			if err != nil {
				t.Fatalf("%q: %v", written, err)
			}

			double := strings.Contains(written, "**")

			if !p.re.MatchString(value) {
				continue
			}
			matched++

			if strings.Count(value, "/") != strings.Count(written, "/") && !double {
				t.Fatalf("%q matches %q", written, value)
			}

			if loose, err := compilePattern(written, anyCharacter); err != nil || !loose.re.MatchString(value) {
				t.Fatalf("%q matches %q, and did not in earlier versions", written, value)
			}
		}
	}

	if matched < 1000 {
		t.Errorf("%d matches: too few to mean anything", matched)
	}

	got := prepared(t, `rules: [{name: p, images: {allowed: ["a/*", "a/**", "b", "regexp:.*"]}, repositories: {allowed: ["https://a/?"]}, serviceAccounts: {allowed: ["*"]}}]`).SegmentPatterns()
	if diff := cmp.Diff([]string{"a/*", "https://a/?"}, got); diff != "" {
		t.Errorf("the patterns with another meaning than before (-want +got):\n%s", diff)
	}
}

// TestMoreContainersAreNeverAllowed checks with generated pods that a pod that breaks limits breaks them with any other
// container too.
func TestMoreContainersAreNeverAllowed(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(36, 3))
	rules := prepared(t, `rules: [{name: p, limits: {cores: 12, memory: 40Gi, hard: {limits.memory: 60Gi, requests.nvidia.com/gpu: 4}}}]`).For(nil)
	amounts := func() string {
		return fmt.Sprintf(`{cpu: %d, memory: %dGi, nvidia.com/gpu: %d}`, random.IntN(8)-4, random.IntN(40)-20,
			random.IntN(3)-1)
	}
	container := func(i int) string {
		return fmt.Sprintf(`{name: c%d, image: a, resources: {requests: %s, limits: %s}}`, i, amounts(), amounts())
	}

	refused := 0
	for range 300 {
		pod := container(0)
		if len(rules.Faults(subject(t, `{containers: [`+pod+`]}`))) == 0 {
			continue
		}
		refused++

		for i := range 5 {
			if more := pod + ", " + container(i+1); len(rules.Faults(subject(t, `{containers: [`+more+`]}`))) == 0 {
				t.Fatalf("%s is refused, and allowed with another container: %s", pod, more)
			}
		}
	}

	if refused < 30 {
		t.Errorf("%d pods are refused: too few to mean anything", refused)
	}
}

// TestLostLabels checks which changes of labels take away a required label.
func TestLostLabels(t *testing.T) {
	t.Parallel()
	p := prepared(t, `rules: [{name: p, labels: {required: {team: "a*", cost: "*"}}}, {name: q, selector: tier=x, labels: {required: {zone: "*"}}}]`)
	good := map[string]string{"team": "a1", "cost": "1"}

	with := func(key, value string) map[string]string {
		labels := map[string]string{"team": "a1", "cost": "1"}
		if labels[key] = value; value == "" {
			delete(labels, key)
		}
		return labels
	}
	for name, c := range map[string]struct {
		before, after map[string]string
		want          string
	}{
		"no change":             {good, good, ""},
		"another label":         {good, with("x", "y"), ""},
		"another allowed value": {good, with("team", "a2"), ""},
		"removed": {good, with("team", ""),
			"metadata.labels: a custom resource without the label team is not allowed by the rule labels.required of the policy p; set it to a value that matches a*"},
		"a refused value": {good, with("team", "b"),
			`metadata.labels[team]: the value "b" is not allowed by the rule labels.required of the policy p; set it to a value that matches a*`},
		"missing before": {with("team", ""), with("team", "b"), ""},
		"one missing, another removed": {with("team", ""), nil,
			"metadata.labels: a custom resource without the label cost is not allowed by the rule labels.required of the policy p; set it to a value that matches *"},
		"a rule of another namespace":   {with("zone", "z"), good, ""},
		"refused before and afterwards": {with("team", "c"), with("team", "b"), ""},
	} {
		if got := strings.Join(texts(p.LostLabels(map[string]string{}, c.before, c.after)), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}

	if got := p.LostLabels(map[string]string{"tier": "x"}, with("zone", "z"), good); len(got) != 1 {
		t.Errorf("a rule of the namespace: %v", got)
	}

	if got := (Policy{AllowSnippetAnnotations: true}).LostLabels(nil, good, nil); got != nil {
		t.Errorf("no rules: %v", got)
	}
}

// TestInvalidHardLimits checks names in limits.hard that the operator cannot count.
func TestInvalidHardLimits(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"pods", "count/pods", "requests.storage", "persistentvolumeclaims",
		"gold.storageclass.storage.k8s.io/requests.storage", "services", "cores"} {
		_, err := Parse(`rules: [{name: p, limits: {hard: {` + name + `: 1}}}]`)
		if err == nil || !strings.Contains(err.Error(), "policy.rules[0].limits.hard["+name+"]: Invalid value: ") ||
			!strings.Contains(err.Error(), "or use a ResourceQuota") {
			t.Errorf("%s: %v", name, err)
		}
	}

	if _, err := Parse(`rules: [{name: p, limits: {hard: {limits.cpu: -1}}}]`); err == nil ||
		!strings.Contains(err.Error(), "must not be negative") {
		t.Errorf("a negative limit: %v", err)
	}

	for _, name := range []corev1.ResourceName{"cpu", "requests.memory", "limits.ephemeral-storage", "hugepages-2Mi",
		"requests.example.com/fpga"} {
		if _, err := Parse(`rules: [{name: p, limits: {hard: {` + string(name) + `: 1}}}]`); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
