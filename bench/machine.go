package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/sparkoperator/spark-operator/bench/figure"
	"github.com/sparkoperator/spark-operator/bench/jvm"
)

// machine says what a run is measured on: without it no figure means anything. What cannot be found out is left out.
func machine() map[string]string {
	facts := map[string]string{"cores": strconv.Itoa(runtime.NumCPU()), "system": runtime.GOOS + "/" + runtime.GOARCH}
	add := func(name, value string) {
		if value != "" {
			facts[name] = value
		}
	}
	add("processor", field("/proc/cpuinfo", `(?m)^model name\s*:\s*(.+)$`))
	if kb, err := strconv.ParseInt(field("/proc/meminfo", `(?m)^MemTotal:\s*(\d+) kB$`), 10, 64); err == nil {
		add("memory", fmt.Sprintf("%.0f GiB", float64(kb)/(1<<20)))
	}
	add("kernel", field("/proc/sys/kernel/osrelease", `^(\d+\.\d+\.\d+)`))
	return facts
}

// versions are those of what is measured: the Go that compiles it, and the Kubernetes and etcd that sparklocal is made of.
func versions(root string) map[string]string {
	pinned := filepath.Join(root, "local", "kube", "go.mod")
	return map[string]string{
		"Go":         strings.TrimPrefix(runtime.Version(), "go"),
		"Kubernetes": field(pinned, `(?m)^\s*k8s\.io/kubernetes v(\S+)`),
		"etcd":       field(pinned, `(?m)^\s*go\.etcd\.io/etcd/server/v3 v(\S+)`),
	}
}

// submitted are the versions of Spark whose spark-submit a run measured.
func submitted(run *figure.Run) []string {
	return slices.DeleteFunc(jvm.Versions(), func(version string) bool {
		_, found := run.Value(figure.Figure{Scenario: figure.Submit, Case: figure.SubmitCase(version, 1), Name: figure.SubmitCPU}.ID())
		return !found
	})
}

// revision is the commit that a binary was built of, as Go noted it, with a mark where files differed from it.
func revision(binary string) string {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "an unknown commit"
	}
	facts := map[string]string{}
	for _, s := range info.Settings {
		facts[s.Key] = s.Value
	}
	commit := facts["vcs.revision"]
	if commit == "" {
		return "an unknown commit"
	}
	commit = commit[:min(7, len(commit))]
	if facts["vcs.modified"] == "true" {
		commit += "-dirty"
	}
	return commit
}

// field is what the first group of a pattern matches in a file; empty where nothing does.
func field(file, pattern string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		return ""
	}
	return strings.TrimSpace(string(found[1]))
}

// commit names the commit that is measured, with a mark where files differ from it.
func commit(root string) string {
	text, err := exec.Command("git", "-C", root, "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return "" // no repository: an unpacked archive
	}
	return strings.TrimSpace(string(text))
}
