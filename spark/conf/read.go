package conf

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error is the error of a typed read: the value of a key cannot be parsed.
type Error struct {
	// Key is the configuration key as the user wrote it, which may be an old name.
	Key string
	// Err says what is wrong with the value.
	Err error
}

// Error returns the key, then the cause.
func (e *Error) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// aliases maps a key to its old names, newest first. Like Spark, the typed reads accept these names (withAlternative of
// Spark's config entries).
var aliases = map[string][]string{
	"spark.memory.offHeap.enabled":            {"spark.unsafe.offHeap"},
	"spark.driver.memoryOverhead":             {"spark.yarn.driver.memoryOverhead"},
	"spark.executor.memoryOverhead":           {"spark.yarn.executor.memoryOverhead"},
	"spark.kerberos.keytab":                   {"spark.yarn.keytab"},
	"spark.kerberos.principal":                {"spark.yarn.principal"},
	"spark.kerberos.relogin.period":           {"spark.yarn.kerberos.relogin.period"},
	"spark.kerberos.access.hadoopFileSystems": {"spark.yarn.access.hadoopFileSystems", "spark.yarn.access.namenodes"},
}

// CurrentName returns the present name of a key if key is an old name, else key itself.
func CurrentName(key string) string {
	for current, old := range aliases {
		if slices.Contains(old, key) {
			return current
		}
	}
	return key
}

// Lookup returns the raw text of key. If key has no value, Lookup tries the old names of key, and returns the text of
// the first old name that has a value. It also returns the name under which it found the text.
func (c *Conf) Lookup(key string) (name, value string, ok bool) {
	if v, ok := c.Get(key); ok {
		return key, v, true
	}

	for _, old := range aliases[key] {
		if v, ok := c.Get(old); ok {
			return old, v, true
		}
	}
	return key, "", false
}

// read implements all typed reads: it looks up the key and its old names, replaces references, and parses the text. It
// returns def if the key has no value.
//
// The function shown returns the value as the user wrote it, for messages. Messages must not quote text itself: after
// the replacement of references, it may contain the secret of another key.
func read[T any](c *Conf, key string, def T, parse func(text string, shown func() string) (T, error)) (T, error) {
	name, raw, ok := c.Lookup(key)
	if !ok {
		return def, nil
	}

	text, err := c.Expand(raw)
	if err == nil {
		var v T
		if v, err = parse(text, func() string { return Quote(name, raw) }); err == nil {
			return v, nil
		}
	}
	var zero T
	return zero, &Error{Key: name, Err: err}
}

// String returns the text of key after substitution. It returns an error if Expand does, for example for a cycle of
// references.
func (c *Conf) String(key, def string) (string, error) {
	return read(c, key, def, func(s string, _ func() string) (string, error) { return s, nil })
}

// Int reads a 32-bit integer.
func (c *Conf) Int(key string, def int) (int, error) {
	return read(c, key, def, func(s string, shown func() string) (int, error) {
		n, err := strconv.ParseInt(trim(s), 10, 32)
		if err != nil {
			return 0, fmt.Errorf("should be a whole number, but is %s", shown())
		}
		return int(n), nil
	})
}

// Float reads a floating-point number as Spark reads its settings of type double. It accepts the texts that
// java.lang.Double accepts, including a suffix d or f, but no hexadecimal digits. "NaN" and "Infinity" are valid
// numbers; a number that is too large becomes infinite.
func (c *Conf) Float(key string, def float64) (float64, error) {
	return read(c, key, def, func(s string, shown func() string) (float64, error) {
		text := trim(s)
		if n := len(text); n > 1 && strings.ContainsRune("dDfF", rune(text[n-1])) && strings.ContainsRune("0123456789.", rune(text[n-2])) {
			text = text[:n-1]
		}

		f, err := strconv.ParseFloat(text, 64)

		digits := strings.TrimLeft(text, "+-")
		if word := strings.Trim(digits, "0123456789.eE+-") != ""; word && digits != "NaN" && digits != "Infinity" {
			return 0, fmt.Errorf("should be a number, but is %s", shown())
		}

		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, fmt.Errorf("should be a number, but is %s", shown())
		}
		return f, nil
	})
}

// Bool reads "true" or "false" in upper, lower or mixed case. Blanks around the word are allowed.
func (c *Conf) Bool(key string, def bool) (bool, error) {
	return read(c, key, def, func(s string, shown func() string) (bool, error) {
		switch strings.ToLower(trim(s)) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, fmt.Errorf("should be true or false, but is %s", shown())
	})
}

// Size reads an amount of memory and returns it in multiples of unit, rounded down as Spark does (1000k in MiB is 0). A
// number without suffix counts multiples of unit. The default def counts multiples of unit too.
func (c *Conf) Size(key string, def int64, unit Unit) (int64, error) {
	return read(c, key, def, func(s string, shown func() string) (int64, error) {
		n, err := parseSize(s, shown, unit)
		return n / int64(unit), err
	})
}

// Duration reads a duration. A number without suffix counts multiples of unit. The default def is an ordinary
// time.Duration.
func (c *Conf) Duration(key string, def, unit time.Duration) (time.Duration, error) {
	return read(c, key, def, func(s string, shown func() string) (time.Duration, error) { return parseDuration(s, shown, unit) })
}

// maxItems is the maximum number of items in a list. It equals the limit for the values of a whole spec. Spark has no
// limit, but tenants write the text, and all tenants share the operator's memory.
const maxItems = 10_000

// List reads comma-separated text. It trims every item and drops empty items. It returns an error if the text has more
// than 10,000 items, including empty ones.
func (c *Conf) List(key string, def []string) ([]string, error) {
	return read(c, key, def, func(s string, _ func() string) ([]string, error) {
		if n := strings.Count(s, ",") + 1; n > maxItems {
			return nil, fmt.Errorf("has %d items; the limit is %d", n, maxItems)
		}
		return SplitList(s), nil
	})
}

// trim works like java.lang.String.trim: it removes the blank (U+0020) and all characters with lower codes from both
// ends of a text. It does not remove blanks beyond ASCII.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
}

// SplitList splits at commas, trims every item and drops empty ones (Spark's Utils.stringToSeq).
func SplitList(text string) []string {
	if text == "" {
		return nil
	}

	items := make([]string, 0, strings.Count(text, ",")+1)
	for item := range strings.SplitSeq(text, ",") {
		if item = trim(item); item != "" {
			items = append(items, item)
		}
	}

	if len(items) == 0 {
		return nil
	}
	return items
}

// errCycle is the error for a reference that leads back to itself.
var errCycle = errors.New("the reference leads back to itself")

// The limits of a substitution. Spark has none, but here tenants write the text, and all tenants share the operator's
// memory: forty short keys, each of which refers twice to the key before it, expand to a terabyte.
const (
	maxExpanded   = 256 << 10
	maxReferences = 4096 // in one text
	maxDepth      = 32
)

// reference matches "${name}" or "${prefix:name}". A name has at least one character and no blanks; a brace may be its
// first character. This is Spark's own pattern.
var reference = regexp.MustCompile(`\$\{(?:(\w+?):)?([^ \t\n\x0B\f\r]+?)\}`)

// Expand replaces references in text as Spark's typed reads do:
//
//   - "${spark.x}" becomes the value of the key spark.x. If the key is not set, the value of an old name counts, or
//     else Spark's default, for the keys that a submission reads.
//   - "${env:NAME}" becomes the variable NAME of the declared environment (see WithEnvironment).
//   - "${system:name}" becomes the declared system property (see WithSystemProperties).
//
// A reference that cannot be resolved stays unchanged. References inside a replacement are replaced too.
//
// Expand returns an error for a cycle, for replacements nested more than 32 deep, for more than 4,096 references in a
// text, and for more than 256 KiB of replacements. No usable value is that long, because Linux allows at most 128 KiB
// for one argument or variable.
func (c *Conf) Expand(text string) (string, error) {
	room := maxExpanded
	return c.expand(text, nil, &room)
}

// ExpandAll expands the values of all keys for which wanted returns true. A value stays unchanged if its expansion
// fails. After 1 MiB of replacements all further values stay unchanged, because together they would not fit into a
// ConfigMap.
func (c *Conf) ExpandAll(wanted func(key string) bool) {
	total := 1 << 20
	for key, value := range c.All() {
		if !strings.Contains(value, "${") || !wanted(key) {
			continue
		}

		room := min(maxExpanded, total)
		before := room

		replaced, err := c.expand(value, nil, &room)
		if total -= before - room; err == nil {
			c.Set(key, replaced)
		}
	}
}

// expand replaces the references in text. The parameter `path` lists the references through which expand reached text.
// The parameter `room` is the total length in bytes that further replacements may have. expand subtracts the length of
// each value from *room before it replaces the references in that value. The limit therefore also bounds the time: a
// value whose references expand to nothing adds no text, but it takes time.
func (c *Conf) expand(text string, path []string, room *int) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}

	if n := strings.Count(text, "${"); n > maxReferences {
		return "", fmt.Errorf("has %d references such as ${name}; the limit is %d", n, maxReferences)
	}
	var b strings.Builder

	done := 0
	for _, at := range reference.FindAllStringSubmatchIndex(text, -1) {
		prefix, name := "", text[at[4]:at[5]]
		if at[2] >= 0 {
			prefix = text[at[2]:at[3]]
		}

		value, ok := c.resolve(prefix, name)
		if !ok {
			// Text that is not a known reference stays and is not scanned again.
			continue
		}

		ref := text[at[0]+2 : at[1]-1]
		if slices.Contains(path, ref) {
			return "", fmt.Errorf("${%s}: %w", Shorten(ref), errCycle)
		}

		if len(path) >= maxDepth {
			return "", fmt.Errorf("${%s}: references are nested more than %d deep; write out the value", Shorten(path[0]), maxDepth)
		}

		if *room -= len(value); *room < 0 {
			return "", fmt.Errorf("${%s}: the replacements in a value are longer than %d bytes; write out the value, or make it shorter", Shorten(ref), maxExpanded)
		}

		inner, err := c.expand(value, append(path, ref), room)
		if err != nil {
			return "", err
		}

		b.WriteString(text[done:at[0]])
		b.WriteString(inner)

		done = at[1]
	}

	b.WriteString(text[done:])
	return b.String(), nil
}

// Unresolved returns the references to environment variables or system properties that remain in the value of key
// because nothing declares the variables or properties. It returns the references as the user wrote them.
func (c *Conf) Unresolved(key string) []string {
	text, err := c.String(key, "")
	if err != nil {
		return nil
	}

	var refs []string
	for _, match := range reference.FindAllStringSubmatch(text, -1) {
		if match[1] == "env" || match[1] == "system" {
			refs = append(refs, match[0])
		}
	}
	return refs
}

// defaults maps keys to Spark's default values, which replace "${key}" if the key is not set. It contains only keys
// whose defaults matter to a submission.
var defaults = map[string]string{
	"spark.driver.cores":                                        "1",
	"spark.driver.memory":                                       "1g",
	"spark.executor.memory":                                     "1g",
	"spark.executor.cores":                                      "1",
	"spark.dynamicAllocation.enabled":                           "false",
	"spark.dynamicAllocation.minExecutors":                      "0",
	"spark.ui.port":                                             "4040",
	"spark.blockManager.port":                                   "0",
	"spark.kubernetes.namespace":                                "default",
	"spark.kubernetes.container.image.pullPolicy":               "IfNotPresent",
	"spark.kubernetes.configMap.maxSize":                        "1048576",
	"spark.kubernetes.driver.master":                            "https://kubernetes.default.svc",
	"spark.kubernetes.driver.service.deleteOnTermination":       "true",
	"spark.kubernetes.driver.service.ipFamilies":                "IPv4",
	"spark.kubernetes.driver.service.ipFamilyPolicy":            "SingleStack",
	"spark.kubernetes.local.dirs.tmpfs":                         "false",
	"spark.kubernetes.memoryOverheadFactor":                     "0.1",
	"spark.kubernetes.securityContext.allowPrivilegeEscalation": "false",
	"spark.kubernetes.submission.waitAppCompletion":             "true",
}

// fallbacks maps a key to another key. If the first key is not set, its value is the value of the other key (Spark's
// FallbackConfigEntry). A key that is added here may be needed in FallbackKey of package internal/dialect/platform too.
var fallbacks = map[string]string{
	"spark.driver.blockManager.port":                                     "spark.blockManager.port",
	"spark.dynamicAllocation.initialExecutors":                           "spark.dynamicAllocation.minExecutors",
	"spark.kubernetes.driver.container.image":                            "spark.kubernetes.container.image",
	"spark.kubernetes.executor.container.image":                          "spark.kubernetes.container.image",
	"spark.kubernetes.driver.securityContext.allowPrivilegeEscalation":   "spark.kubernetes.securityContext.allowPrivilegeEscalation",
	"spark.kubernetes.executor.securityContext.allowPrivilegeEscalation": "spark.kubernetes.securityContext.allowPrivilegeEscalation",
}

func (c *Conf) resolve(prefix, name string) (string, bool) {
	if c == nil {
		c = &Conf{}
	}

	switch prefix {
	case "env":
		v, ok := c.env[name]
		return v, ok
	case "system":
		v, ok := c.system[name]
		return v, ok
	case "":
		if !strings.HasPrefix(name, "spark.") {
			return "", false
		}

		if _, v, ok := c.Lookup(name); ok {
			return v, true
		}

		if other, ok := fallbacks[name]; ok {
			return c.resolve("", other)
		}

		v, ok := defaults[name]
		return v, ok
	}
	return "", false
}
