package policy

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	kjson "sigs.k8s.io/json"

	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/settings/policy/effective"
)

// labels checks the labels of the custom resource.
func (r *refusals) labels(labels map[string]string) {
	for _, required := range r.set.labels {
		value, found := labels[required.key]

		way := "set it to a value that matches " + required.value.text
		switch {
		case !found:
			r.add("metadata.labels", fmt.Sprintf("a custom resource without the label %s", required.key), "labels.required", way)
		case !required.value.re.MatchString(value):
			r.add("metadata.labels["+required.key+"]", "the value "+shown(value), "labels.required", way)
		}
	}
}

// These are keys of the Spark configuration that the rules check.
const (
	keyPackages     = "spark.jars.packages"
	keyRepositories = "spark.jars.repositories"
	keyIvySettings  = "spark.jars.ivySettings"
	keyJars         = "spark.jars"

	keyHiveJars         = "spark.sql.hive.metastore.jars"
	keyHiveRepositories = "spark.sql.maven.additionalRemoteRepositories"
	// keyPodGroup begins the keys with the pod group of Spark's Volcano step.
	keyPodGroup = "spark.kubernetes.scheduler.volcano.podGroupTemplate"
	// reference begins a part of a value that a driver replaces.
	reference = "${"
	// hivePackage stands for the packages of Hive that Spark downloads if keyHiveJars is maven.
	hivePackage = "org.apache.hive:hive-metastore:*"
)

// threatened returns the name of the first rule of the set that a setting can break if the rule does not see it, or ""
// if there is no such rule. Only settings of a driver or a server (the argument driver) change pods and packages.
func (s *set) threatened(driver bool) string {
	switch {
	case len(s.denied) > 0:
		return "sparkConf.denied"
	case len(s.required) > 0:
		return "sparkConf.required"
	case !driver:
		return ""
	case s.packages != nil:
		return "packages"
	case s.repositories != nil:
		return "repositories"
	}
	return s.aboutPods()
}

// aboutPods returns the name of the first rule of the set about pods or their number, or "" if there is no such rule.
func (s *set) aboutPods() string {
	switch {
	case s.limits.Executors != nil || len(s.sums) > 0:
		return "limits"
	case s.judgesPods():
		return "podSecurity"
	}
	return ""
}

// settings checks the Spark configuration, from all places that set it.
func (r *refusals) settings(merged func() effective.Configuration) {
	if r.set.threatened(true) == "" {
		return
	}

	m := merged()
	for _, hidden := range m.Hidden {
		if rule := r.set.threatened(hidden.Driver); rule != "" {
			r.add(hidden.Field, hidden.What, rule, hidden.Remedy)
		}
	}

	set := map[string]bool{}
	for _, setting := range m.Settings {
		if setting.Field != "" {
			r.setting(setting)
		}

		set[setting.Key] = set[setting.Key] || !setting.Outside
	}

	for _, required := range r.set.required {
		if !set[required.key] {
			r.add("spec.sparkConf", fmt.Sprintf("a Spark configuration without %s", required.key), "sparkConf.required", "set it to a value that matches "+required.value.text)
		}

		for _, setting := range m.Settings {
			if setting.Key == required.key && !required.value.re.MatchString(setting.Value) {
				r.add(cmp.Or(setting.Field, "spec.sparkConf"), fmt.Sprintf("the value %s of %s", shown(setting.Value), required.key), "sparkConf.required",
					"set it to a value that matches "+required.value.text)
			}
		}
	}
}

// setting checks a key that the user set.
func (r *refusals) setting(setting dialect.Setting) {
	field, key, value := setting.Field, setting.Key, strings.TrimSpace(setting.Value)
	if r.set.denied.matches(key) {
		r.add(field, "the key "+shown(key), "sparkConf.denied", "remove the setting")
	}

	r.download(field, key, value)

	if strings.HasPrefix(key, keyPodGroup) && r.set.priorityClasses != nil {
		r.podGroup(field, key, value)
	}

	switch rule := r.set.aboutPods(); {
	case r.set.judgesPods() && unpredictable(key, setting.Value):
		r.add(field, "the key "+key+", with which the operator cannot check the pods,", "podSecurity", "remove it, and use a pod template of the custom resource")
	case rule != "" && setting.Outside && setting.Driver && key != keyRepositories:
		r.add(field, "the key "+shown(key)+" in an option of the JVM or a variable, where the operator cannot compute its effect on pods,", rule, "set it in sparkConf")
	}
}

// download checks a key with packages or repositories.
func (r *refusals) download(field, key, value string) {
	switch key {
	case keyPackages:
		r.packages(field, value)
	case keyHiveJars:
		if value == "maven" || strings.Contains(value, reference) {
			r.packages(field, hivePackage)
		}
	case keyRepositories, keyHiveRepositories:
		r.repositories(field, value)
	case keyIvySettings:
		if r.set.repositories != nil {
			r.add(field, "the key "+key+", whose file may name any repository,", "repositories", "remove the key")
		}
	case keyJars:
		r.ivyJars(field, value)
	}
}

// podGroup checks the priority class of a pod group that a key describes (podGroupTemplateJson) or names
// (podGroupTemplateFile).
func (r *refusals) podGroup(field, key, value string) {
	var group struct {
		Spec struct {
			Class string `json:"priorityClassName"`
		} `json:"spec"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(value), &group); err != nil {
		r.add(field, "the key "+key+", whose pod group may name any priority class,", "priorityClasses", "remove the key")
	}

	r.priorityClass(field, group.Spec.Class)
}

// ivyJars checks the entries of spark.jars that are packages, such as ivy://group:artifact:version?repos=address.
func (r *refusals) ivyJars(field, jars string) {
	for _, jar := range list(jars) {
		address, ok := strings.CutPrefix(jar, "ivy://")
		if !ok {
			continue
		}

		coordinate, query, _ := strings.Cut(address, "?")
		r.packages(field, coordinate)

		if decoded, err := url.PathUnescape(query); err == nil { // Spark splits what Java has decoded
			query = decoded
		}

		for parameter := range strings.SplitSeq(query, "&") {
			if name, value, _ := strings.Cut(parameter, "="); strings.EqualFold(name, "repos") {
				r.repositories(field, value)
			}
		}
	}
}

func (r *refusals) packages(field, value string) {
	if r.set.packages == nil {
		return
	}

	for _, coordinate := range list(value) {
		if !r.set.packages.matches(coordinate) {
			r.add(field, "the package "+shown(coordinate), "packages", oneOf(*r.set.packages, "remove it"))
		}
	}
}

func (r *refusals) repositories(field, value string) {
	if r.set.repositories == nil {
		return
	}

	for _, address := range list(value) {
		if !r.set.repositories.matches(address, strings.TrimSuffix(address, "/")) || strings.Contains(address, reference) {
			r.add(field, "the repository "+shown(address), "repositories", oneOf(*r.set.repositories, "remove it"))
		}
	}
}

// list splits a list of the Spark configuration.
func list(value string) (all []string) {
	for entry := range strings.SplitSeq(value, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			all = append(all, entry)
		}
	}
	return all
}
