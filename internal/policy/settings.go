package policy

import (
	"fmt"
	"strings"

	"github.com/sparkoperator/spark-operator/dialect"
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

// These are keys of the Spark configuration that the rules check. javaOptions is the common ending of several such
// keys.
const (
	keyPackages     = "spark.jars.packages"
	keyRepositories = "spark.jars.repositories"
	keyIvySettings  = "spark.jars.ivySettings"
	keyJars         = "spark.jars"
	javaOptions     = "JavaOptions"

	keyHiveJars         = "spark.sql.hive.metastore.jars"
	keyHiveRepositories = "spark.sql.maven.additionalRemoteRepositories"
	// hivePackage stands for the packages of Hive that Spark downloads if keyHiveJars is maven.
	hivePackage = "org.apache.hive:hive-metastore:*"
)

// settings checks the Spark configuration.
func (r *refusals) settings(subject *dialect.Subject) {
	s := r.set
	if len(s.denied) == 0 && len(s.required) == 0 && s.packages == nil && s.repositories == nil {
		return
	}
	values := map[string]dialect.Setting{}
	for _, setting := range subject.Settings() {
		values[setting.Key] = setting
		if setting.Field != "" {
			r.setting(setting)
		}
	}
	for _, required := range s.required {
		setting, found := values[required.key]
		way := "set it to a value that matches " + required.value.text
		switch {
		case !found:
			r.add("spec.sparkConf", fmt.Sprintf("a Spark configuration without %s", required.key), "sparkConf.required", way)
		case !required.value.re.MatchString(setting.Value):
			field := setting.Field
			if field == "" {
				field = "spec.sparkConf"
			}
			r.add(field, fmt.Sprintf("the value %s of %s", shown(setting.Value), required.key), "sparkConf.required", way)
		}
	}
}

// setting checks a key that the user set.
func (r *refusals) setting(setting dialect.Setting) {
	r.key(setting.Field, setting.Key)
	switch {
	case setting.Key == keyPackages:
		r.packages(setting.Field, setting.Value)
	case setting.Key == keyHiveJars && setting.Value == "maven":
		r.packages(setting.Field, hivePackage)
	case setting.Key == keyRepositories, setting.Key == keyHiveRepositories:
		r.repositories(setting.Field, setting.Value)
	case setting.Key == keyIvySettings && r.set.repositories != nil:
		r.add(setting.Field, "the key "+keyIvySettings+", whose file may name any repository,", "repositories", "remove the key")
	case setting.Key == keyJars:
		r.ivyJars(setting)
	case strings.HasPrefix(setting.Key, "spark.driver.") && strings.HasSuffix(setting.Key, javaOptions):
		// A driver reads its system properties as Spark configuration.
		for option := range strings.FieldsSeq(setting.Value) {
			if property, ok := strings.CutPrefix(strings.Trim(option, `"'`), "-D"); ok {
				key, _, _ := strings.Cut(property, "=")
				r.key(setting.Field, key)
			}
		}
	}
}

// key checks a key of the Spark configuration.
func (r *refusals) key(field, key string) {
	if r.set.denied.matches(key) {
		r.add(field, "the key "+shown(key), "sparkConf.denied", "remove the setting")
	}
}

// ivyJars checks the entries of spark.jars that are packages, such as ivy://group:artifact:version?repos=address.
func (r *refusals) ivyJars(setting dialect.Setting) {
	for _, jar := range list(setting.Value) {
		address, ok := strings.CutPrefix(jar, "ivy://")
		if !ok {
			continue
		}
		coordinate, query, _ := strings.Cut(address, "?")
		r.packages(setting.Field, coordinate)
		for parameter := range strings.SplitSeq(query, "&") {
			if name, value, _ := strings.Cut(parameter, "="); strings.EqualFold(name, "repos") {
				r.repositories(setting.Field, value)
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
		if spellings := []string{address, strings.TrimSuffix(address, "/")}; !r.set.repositories.matches(spellings...) {
			r.add(field, "the repository "+shown(address), "repositories", oneOf(*r.set.repositories, "remove it", spellings...))
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
