package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// These placeholders replace the values in a recording that differ from run to run. Each identifier has the same length
// as the value that it replaces, so that Spark truncates names at the same place. Tests pass the placeholders to
// native.Build to get comparable objects.
const (
	// AppID replaces spark.app.id.
	AppID = "spark-00000000000000000000000000000000"
	// PrefixID replaces the unique id in the prefix of the objects' names. If nothing of the application's name remains
	// before the id and the id starts with a digit, Spark replaces this digit with an x. In a recording, the first
	// character of such an id is always an x.
	PrefixID = "0000000000000001"
	// ConfigMapID replaces the unique id in the name of the driver's ConfigMap.
	ConfigMapID = "0000000000000002"
	// ServiceID replaces the unique id of a Service whose prefixed name would be too long.
	ServiceID = "0000000000000003"
	// UUID replaces the UUID in SPARK_LOCAL_DIRS and in directories of uploaded files.
	UUID = "00000000-0000-0000-0000-000000000000"
	// SubmitTime replaces spark.app.submitTime (in milliseconds).
	SubmitTime = "1700000000000"
	// Date replaces the date in the second line of spark.properties, without "#".
	Date = "Thu Jan 01 00:00:00 UTC 1970"
	// Version replaces the value of the label spark-version if this value is the recorded version. Versions that
	// otherwise send the same requests can then share a recording.
	Version = "X.Y.Z"
)

const (
	versionLabel = "spark-version"
	nameLabel    = "spark-app-name"
	appIDLabel   = "spark-app-selector"
	properties   = "spark.properties"
)

var (
	appIDForm     = regexp.MustCompile(`^spark-[0-9a-f]{32}$`)
	configMapForm = regexp.MustCompile(`^spark-drv-([0-9a-f]{16})-conf-map$`)
	serviceForm   = regexp.MustCompile(`^spark-([0-9a-f]{16})-driver-svc$`)
	// prefixForm matches names of objects that consist of a prefix and a known suffix. The suffix identifies the
	// prefix.
	prefixForm = regexp.MustCompile(`(?:^|-)([0-9a-fx][0-9a-f]{15})-(?:driver|driver-svc|policy|kubernetes-credentials|driver-podspec-conf-map|` +
		`hadoop-config|krb5-file|kerberos-keytab|delegation-tokens|driver-pvc-[0-9]+)$`)
	uuidForm       = regexp.MustCompile(`(/spark-|spark-upload-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	localDirForm   = regexp.MustCompile(`^spark-local-dir-[0-9]+$`)
	submitTimeForm = regexp.MustCompile(`(?m)^spark\.app\.submitTime=\d{13}$`)
	dateForm       = regexp.MustCompile(`^#\w{3} \w{3} \d\d [\d:]{8} \S+ \d{4}$`)
)

// Normalise replaces the random values in the requests of one run of spark-submit. It also replaces each value that
// consists only of the Spark version. All other differences between two runs remain, so that a comparison reveals them.
// The resulting bodies are JSON with sorted keys. Normalise returns an error if a body is not a JSON object.
func Normalise(version string, requests []Request) ([]Request, error) {
	objects := make([]map[string]any, len(requests))
	for i, r := range requests {
		if len(r.Body) == 0 {
			continue
		}

		in := json.NewDecoder(bytes.NewReader(r.Body))
		in.UseNumber()

		if err := in.Decode(&objects[i]); err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
		}
	}

	for _, object := range objects {
		if object["kind"] == "Pod" {
			sortLocalDirs(object)
		}
	}

	ids := identifiers(requests, objects)

	out := make([]Request, len(requests))
	for i, r := range requests {
		out[i] = Request{Method: r.Method, Path: ids.Replace(r.Path)}
		if objects[i] == nil {
			continue
		}

		text := bytes.Buffer{}
		to := json.NewEncoder(&text)
		to.SetEscapeHTML(false)

		if err := to.Encode(rewrite("", objects[i], version, ids)); err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
		}

		out[i].Body = bytes.TrimSpace(text.Bytes())
	}
	return out, nil
}

// sortLocalDirs sorts the local directories of a pod, because their order is random. Every Spark version shuffles these
// directories and then numbers their volumes (LocalDirsFeatureStep). A user's volume can have a name of the same form.
// Its mount is recognized by additional fields, because Spark's mounts have only a name and a path. sortLocalDirs does
// not change the mounts of users.
func sortLocalDirs(pod map[string]any) {
	spec, _ := pod["spec"].(map[string]any)

	containers, _ := spec["containers"].([]any)
	for _, container := range containers {
		container, _ := container.(map[string]any)

		env, _ := container["env"].([]any)
		for _, variable := range env {
			variable, _ := variable.(map[string]any)
			if dirs, ok := variable["value"].(string); ok && variable["name"] == "SPARK_LOCAL_DIRS" {
				list := strings.Split(dirs, ",")
				slices.Sort(list)
				variable["value"] = strings.Join(list, ",")
			}
		}
		var mounts []map[string]any
		var paths []string

		all, _ := container["volumeMounts"].([]any)
		for _, mount := range all {
			mount, _ := mount.(map[string]any)

			name, _ := mount["name"].(string)
			if dir, ok := mount["mountPath"].(string); ok && localDirForm.MatchString(name) && len(mount) == 2 {
				mounts, paths = append(mounts, mount), append(paths, dir)
			}
		}

		slices.Sort(paths)

		for i, mount := range mounts {
			mount["mountPath"] = paths[i]
		}
	}
}

// identifiers finds the random ids by their roles and returns a replacer for them.
func identifiers(requests []Request, objects []map[string]any) *strings.Replacer {
	roles := map[string]string{}
	for i, object := range objects {
		metadata, _ := object["metadata"].(map[string]any)

		name, _ := metadata["name"].(string)
		if name == "" {
			name = requests[i].Path[strings.LastIndexByte(requests[i].Path, '/')+1:]
		}

		labels, _ := metadata["labels"].(map[string]any)
		if id, ok := labels[appIDLabel].(string); ok && appIDForm.MatchString(id) {
			roles[id] = AppID
		}

		if found := configMapForm.FindStringSubmatch(name); found != nil {
			roles[found[1]] = ConfigMapID
		} else if found := serviceForm.FindStringSubmatch(name); found != nil && !isNamedSpark(objects) {
			roles[found[1]] = ServiceID
		} else if found := prefixForm.FindStringSubmatchIndex(name); found != nil {
			id, placeholder := name[found[2]:found[3]], PrefixID
			if found[2] == 0 {
				placeholder = "x" + PrefixID[1:]
			}

			roles[id] = placeholder
		}
	}

	var pairs []string
	for id, placeholder := range roles {
		pairs = append(pairs, id, placeholder)
	}
	return strings.NewReplacer(pairs...)
}

// isNamedSpark reports whether the application is named "spark". For such an application, the name of a driver Service
// is ambiguous. It begins with "spark-" and an id, both if Spark uses the application's usual prefix, and if Spark
// shortens a name that would be too long.
func isNamedSpark(objects []map[string]any) bool {
	return slices.ContainsFunc(objects, func(object map[string]any) bool {
		metadata, _ := object["metadata"].(map[string]any)
		labels, _ := metadata["labels"].(map[string]any)
		return object["kind"] == "Pod" && labels[nameLabel] == "spark"
	})
}

// rewrite returns a value in which every string is normalised. The parameter key is the key of the value in its object.
func rewrite(key string, value any, version string, ids *strings.Replacer) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, element := range value {
			out[ids.Replace(key)] = rewrite(key, element, version, ids)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			out[i] = rewrite("", element, version, ids)
		}
		return out
	case string:
		switch {
		case key == versionLabel && value == version:
			return Version
		case key == properties:
			value = normaliseProperties(value)
		}
		return uuidForm.ReplaceAllString(ids.Replace(value), "${1}"+UUID)
	default:
		return value
	}
}

// normaliseProperties sorts the lines of a spark.properties file after the two comment lines at its start, because Java
// writes the properties in the random order of a hash table. It also replaces the date and the submit time. Sorting
// single lines is correct, because java.util.Properties never continues a property on the next line: it writes a line
// break as \n.
func normaliseProperties(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")

	comments := 0
	for comments < len(lines) && comments < 2 && strings.HasPrefix(lines[comments], "#") {
		if dateForm.MatchString(lines[comments]) {
			lines[comments] = "#" + Date
		}
		comments++
	}

	slices.Sort(lines[comments:])
	return submitTimeForm.ReplaceAllString(strings.Join(lines, "\n")+"\n", "spark.app.submitTime="+SubmitTime)
}
