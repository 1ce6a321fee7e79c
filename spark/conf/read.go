package conf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Error is a value that cannot be read as what it should be.
type Error struct {
	// Key is the configuration key as the user wrote it, an old name included.
	Key string
	// Err says what is wrong with the value.
	Err error
}

// Error names the key first.
func (e *Error) Error() string { return e.Key + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// aliases are the old names that Spark's typed reads still honour, newest first (the withAlternative of its config entries).
var aliases = map[string][]string{
	"spark.driver.memoryOverhead":             {"spark.yarn.driver.memoryOverhead"},
	"spark.executor.memoryOverhead":           {"spark.yarn.executor.memoryOverhead"},
	"spark.kerberos.keytab":                   {"spark.yarn.keytab"},
	"spark.kerberos.principal":                {"spark.yarn.principal"},
	"spark.kerberos.relogin.period":           {"spark.yarn.kerberos.relogin.period"},
	"spark.kerberos.access.hadoopFileSystems": {"spark.yarn.access.hadoopFileSystems"},
}

// Lookup finds key or, if it has no value, one of its old names. It returns the raw text and the name that held it.
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

// read is the way of every typed read: old names, substitution, then parse. A key without value gives def. An error of parse shows the
// value as shown gives it: as the user wrote it, because what a reference brings may be the secret of another key.
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

// String reads text with old names and substitution. An error means references that cannot be replaced (see Expand).
func (c *Conf) String(key, def string) (string, error) {
	return read(c, key, def, func(s string, _ func() string) (string, error) { return s, nil })
}

// Int reads a 32-bit whole number.
func (c *Conf) Int(key string, def int) (int, error) {
	return read(c, key, def, func(s string, shown func() string) (int, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil {
			return 0, fmt.Errorf("should be a whole number, but is %s", shown())
		}
		return int(n), nil
	})
}

// Float reads a number with fraction, as Spark's double entries do.
func (c *Conf) Float(key string, def float64) (float64, error) {
	return read(c, key, def, func(s string, shown func() string) (float64, error) {
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || strings.ContainsAny(s, "_xXpP") {
			return 0, fmt.Errorf("should be a number, but is %s", shown())
		}
		return f, nil
	})
}

// Bool reads "true" or "false" in any case, blanks around allowed.
func (c *Conf) Bool(key string, def bool) (bool, error) {
	return read(c, key, def, func(s string, shown func() string) (bool, error) {
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, fmt.Errorf("should be true or false, but is %s", shown())
	})
}

// Size reads an amount of memory and returns it in units of unit, rounded down as Spark does (1000k in MiB is 0). A number without
// suffix is in units of unit; so is def.
func (c *Conf) Size(key string, def int64, unit Unit) (int64, error) {
	return read(c, key, def, func(s string, shown func() string) (int64, error) {
		n, err := parseSize(s, shown, unit)
		return n / int64(unit), err
	})
}

// Duration reads a time. A number without suffix is in units of unit; def is a duration as it is.
func (c *Conf) Duration(key string, def, unit time.Duration) (time.Duration, error) {
	return read(c, key, def, func(s string, shown func() string) (time.Duration, error) { return parseDuration(s, shown, unit) })
}

// List reads comma-separated text: every item trimmed, empty ones dropped.
func (c *Conf) List(key string, def []string) ([]string, error) {
	return read(c, key, def, func(s string, _ func() string) ([]string, error) { return SplitList(s), nil })
}

// SplitList splits at commas, trims every item and drops empty ones (Spark's Utils.stringToSeq).
func SplitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// errCycle is a reference that leads back to itself.
var errCycle = errors.New("the reference leads back to itself")

// Limits of a substitution. Spark has none, but here the text is a tenant's and the memory is not: forty short keys, each naming the one
// before it twice, are a terabyte.
const (
	maxExpanded = 1 << 20
	maxDepth    = 32
)

// Expand replaces references in text as Spark's typed reads do: "${spark.x}" by that key's value (old names and Spark's defaults for the
// keys a submission reads), "${env:NAME}" by the declared environment (see WithEnvironment). A reference to nothing stays as it is, and so
// does "${system:...}": there is no JVM to ask. References inside a replacement are replaced too. Errors: a cycle, replacements within
// replacements more than 32 deep, and a text that becomes longer than 1 MiB, the most that a ConfigMap holds.
func (c *Conf) Expand(text string) (string, error) {
	room := maxExpanded - len(text)
	return c.expand(text, nil, &room)
}

// expand replaces the references in text; path are those that led here. Every value is taken off room as it is read, before its own
// references are replaced, so that room bounds the work too: references that end in empty values make no text, but as much work.
func (c *Conf) expand(text string, path []string, room *int) (string, error) {
	var b strings.Builder
	for {
		start := strings.Index(text, "${")
		if start < 0 {
			break
		}
		end := strings.IndexByte(text[start:], '}')
		if end < 0 {
			break
		}
		end += start
		b.WriteString(text[:start])
		ref := text[start+2 : end]
		value, ok := c.resolve(ref)
		switch {
		case !ok:
			// Spark's pattern takes the first "${" up to the first "}"; what is no reference stays and is not looked at again.
			b.WriteString(text[start : end+1])
		default:
			if slices.Contains(path, ref) {
				return "", fmt.Errorf("${%s}: %w", Shorten(ref), errCycle)
			}
			if len(path) >= maxDepth {
				return "", fmt.Errorf("${%s}: the references lead more than %d deep; write the value out", Shorten(path[0]), maxDepth)
			}
			if *room -= len(value); *room < 0 {
				return "", fmt.Errorf("${%s}: with its references replaced the value is longer than %d bytes", Shorten(ref), maxExpanded)
			}
			inner, err := c.expand(value, append(path, ref), room)
			if err != nil {
				return "", err
			}
			b.WriteString(inner)
		}
		text = text[end+1:]
	}
	b.WriteString(text)
	return b.String(), nil
}

// defaults are what "${key}" gives for keys that are not set: only entries with a default that a submission meets.
var defaults = map[string]string{
	"spark.driver.cores":                            "1",
	"spark.driver.memory":                           "1g",
	"spark.executor.memory":                         "1g",
	"spark.executor.cores":                          "1",
	"spark.kubernetes.namespace":                    "default",
	"spark.kubernetes.container.image.pullPolicy":   "IfNotPresent",
	"spark.kubernetes.memoryOverheadFactor":         "0.1",
	"spark.kubernetes.local.dirs.tmpfs":             "false",
	"spark.kubernetes.submission.waitAppCompletion": "true",
}

func (c *Conf) resolve(ref string) (string, bool) {
	prefix, name, found := strings.Cut(ref, ":")
	switch {
	case found && prefix == "env":
		if c == nil {
			return "", false
		}
		v, ok := c.env[name]
		return v, ok
	case strings.HasPrefix(ref, "spark."):
		if _, v, ok := c.Lookup(ref); ok {
			return v, true
		}
		v, ok := defaults[ref]
		return v, ok
	}
	return "", false
}
