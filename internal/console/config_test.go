package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConfiguration checks the defaults of a configuration file, and that errors name the field and the way out.
func TestConfiguration(t *testing.T) {
	t.Parallel()

	load := func(text string) (*Config, error) {
		file := filepath.Join(t.TempDir(), "console.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadConfig(file)
	}

	c, err := load("tls: {certFile: a, keyFile: b}\nsessions: {idle: 10m}")
	if err != nil || c.Listen != ":8443" || c.Sessions.Idle.Duration != 10*time.Minute || c.Sessions.Lifetime.Duration != 8*time.Hour {
		t.Errorf("the configuration is %+v: %v", c, err)
	}

	for text, want := range map[string]string{
		"host: [a]":              `unknown field "host"`,
		"Hosts: [a]":             `unknown field "Hosts"`,
		"tls: {certFile: a}":     "set both certFile and keyFile",
		"sessions: {idle: -1m}":  "sessions",
		"sessions: {idle: soon}": "soon",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}

	short := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(short, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for want, proxy := range map[string]*ProxyConfig{
		"set secretFile or from":      {},
		"write an address":            {From: []string{"10.0.0.1"}},
		"has less than 16 characters": {SecretFile: short},
	} {
		if _, err := proxy.proxy(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", proxy, err, want)
		}
	}
}
