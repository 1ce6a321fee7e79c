package standalone

import (
	"slices"
	"strings"
	"testing"
)

func TestRecovery(t *testing.T) {
	template := func(volume, mount string) string {
		return `{` + volume + `"template":{"spec":{"volumes":[{"name":"scratch","emptyDir":{}},{"name":"claim","persistentVolumeClaim":{"claimName":"c"}},{"name":"map","configMap":{"name":"m"}}],
		"containers":[{"name":"sidecar","volumeMounts":[{"name":"claim","mountPath":"/elsewhere"}]},{"name":"master","volumeMounts":[` + mount + `]}]}}}`
	}
	const claims = `"volumeClaimTemplates":[{"metadata":{"name":"data"}}],`

	mount := func(name, path string) string { return `{"name":"` + name + `","mountPath":"` + path + `"}` }
	for name, c := range map[string]struct {
		mode, dir, template string
		warns               string
	}{
		"mode not set": {"", "/spark", template("", ""), ""},
		"NONE":         {"NONE", "/spark", template("", ""), ""},
		"another mode": {"ZOOKEEPER", "", template("", ""), ""},
		"no directory": {"FILESYSTEM", "", template("", ""),
			recoveryModeKey + ": is FILESYSTEM, but spark.deploy.recoveryDirectory is not an absolute path"},
		"relative directory": {"FILESYSTEM", "recovery", template("", ""),
			recoveryModeKey + ": is FILESYSTEM"},
		"directory without a volume": {"FILESYSTEM", "/spark", template("", ""),
			recoveryPathKey + ": \"/spark\" is not on a volume of container master"},
		"volume of the sidecar only": {"FILESYSTEM", "/elsewhere", template("", ""),
			recoveryPathKey + ": \"/elsewhere\" is not on a volume of container master"},
		"volume on a similar path": {"FILESYSTEM", "/sparkling", template(claims, mount("data", "/spark")),
			"is not on a volume"},
		"below a mounted claim template": {"FILESYSTEM", "/spark/recovery",
			template(claims, mount("data", "/spark/")), ""},
		"at the mount path itself": {"filesystem", "/spark/", template(claims, mount("data", "/spark")), ""},
		"RocksDB on a volume":      {"ROCKSDB", "/spark", template(claims, mount("data", "/spark")), ""},
		"RocksDB without a volume": {"ROCKSDB", "/other", template(claims, mount("data", "/spark")),
			"is not on a volume"},
		"on an existing claim":      {"FILESYSTEM", "/spark", template("", mount("claim", "/spark")), ""},
		"claim mounted at the root": {"FILESYSTEM", "/spark", template("", mount("claim", "/")), ""},
		"on an emptyDir": {"FILESYSTEM", "/spark", template("", mount("scratch", "/spark")),
			`is on volume "scratch", which is deleted with the master's pod`},
		"on a ConfigMap": {"FILESYSTEM", "/spark", template("", mount("map", "/spark")),
			`is on volume "map"`},
		"two nested mounts": {"FILESYSTEM", "/a/b/c",
			template(claims, mount("data", "/a")+","+mount("scratch", "/a/b")), `is on volume "scratch"`},
		"read-only": {"FILESYSTEM", "/spark",
			template(claims, `{"name":"data","mountPath":"/spark","readOnly":true}`), "is mounted read-only"},
	} {
		change := []func(*Request){counts(1, 1, 1), masterTemplate(c.template)}
		if c.mode != "" {
			change = append(change, with(recoveryModeKey, c.mode))
		}

		if c.dir != "" {
			change = append(change, with(recoveryPathKey, c.dir))
		}

		all := warningTexts(build(t, simple(change...)))
		if c.warns == "" && len(all) > 0 || c.warns != "" &&
			!slices.ContainsFunc(all, func(w string) bool { return strings.Contains(w, c.warns) }) {
			t.Errorf("%s: warnings are %q, want %q", name, all, c.warns)
		}
	}
}
