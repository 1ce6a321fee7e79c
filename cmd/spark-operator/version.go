package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the operator's version. The linker sets it with -X main.version=... If it is empty, currentVersion uses
// the version that Go recorded in the binary.
var version string

type versionInfo struct {
	version, revision, goVersion, platform string
}

func currentVersion() versionInfo {
	info := versionInfo{version: version, goVersion: runtime.Version(), platform: runtime.GOOS + "/" + runtime.GOARCH}

	build, ok := debug.ReadBuildInfo()
	if !ok {
		build = &debug.BuildInfo{}
	}

	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			info.revision = setting.Value
		}
	}

	info.version = cmp.Or(info.version, build.Main.Version, "(devel)")
	info.revision = cmp.Or(info.revision, "unknown")
	return info
}

// String returns the version on one line, in a form for people and for bug reports.
func (v versionInfo) String() string {
	return fmt.Sprintf("spark-operator %s (revision %s, %s, %s)", v.version, v.revision, v.goVersion, v.platform)
}
