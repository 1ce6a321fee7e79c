package cmdline

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sparkoperator/spark-operator/spark/podtemplate"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// files reads the submitter's files that the command line names, and puts their contents into the Request.
func (p *parser) files() error {
	for _, part := range []func() error{p.templates, p.credentials, p.kerberos, p.podGroup, p.hadoopConf, p.confFiles} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) templates() error {
	var err error
	if p.r.DriverTemplate, err = p.template("spark.kubernetes.driver.podTemplateFile"); err != nil {
		return err
	}

	p.r.ExecutorTemplate, err = p.template("spark.kubernetes.executor.podTemplateFile")
	return err
}

// template reads a pod template and converts it to JSON (podtemplate.FromFile). The value of key is the path or the URI
// of the template. If only spark-submit's own file system clients could read the file, template returns nil and keeps
// the key in the configuration.
func (p *parser) template(key string) ([]byte, error) {
	if !p.conf.Has(key) {
		return nil, nil
	}

	file, err := p.templatePath(key)
	if err != nil || file == "" {
		return nil, err
	}

	data, err := p.readText(file)
	if err != nil {
		return nil, submit.KeyErrorf(key, "%v", err)
	}

	if data, err = podtemplate.FromFile(data, p.submitter.SparkVersion); err != nil {
		return nil, submit.KeyErrorf(key, "%s %v", file, err)
	}

	p.conf.Delete(key)
	return data, nil
}

// templatePath returns the path of a pod template. The value of key may be a path or, unlike the values for other
// files, a URI. If it is a URI that does not name a local file, the result is empty.
func (p *parser) templatePath(key string) (string, error) {
	text, err := p.conf.String(key, "")
	if err != nil {
		return "", err
	}

	uri, problem := p.resolve(key, text)
	if problem != "" {
		return "", submit.KeyErrorf(key, "%s", problem)
	}

	u, err := url.Parse(uri)
	if err != nil {
		return "", submit.KeyErrorf(key, "%s is not a valid URI", p.conf.Quote(key, text))
	}

	if u.Scheme != "file" && u.Scheme != "local" {
		p.onlyByJVM(submit.KeyErrorf(key, "%s can be read only with a client of its file system; download it, and name the local file", p.conf.Quote(key, text)))
		return "", nil
	}
	return p.absolute(u.Path), nil
}

// credentials reads the files with which the driver authenticates to the API server
// (DriverKubernetesCredentialsFeatureStep). Like Spark, it does not replace references such as ${spark.x} in the paths
// of these files.
func (p *parser) credentials() error {
	for _, c := range []struct {
		key  string
		into *[]byte
	}{
		{credentialsPrefix + "caCertFile", &p.r.DriverCredentials.CACert},
		{credentialsPrefix + "clientKeyFile", &p.r.DriverCredentials.ClientKey},
		{credentialsPrefix + "clientCertFile", &p.r.DriverCredentials.ClientCert},
	} {
		file, ok := p.conf.Get(c.key)
		if !ok {
			continue
		}

		data, err := p.readFile(file)
		if err != nil {
			return submit.KeyErrorf(c.key, "%v", err)
		}

		if len(data) == 0 {
			return submit.KeyErrorf(c.key, "%s is empty", p.absolute(file))
		}

		*c.into = data
		p.conf.Delete(c.key)
	}
	return nil
}

// kerberos reads krb5.conf, and the keytab unless it is in the image (KerberosConfDriverFeatureStep).
func (p *parser) kerberos() error {
	const krb5 = kerberosPrefix + "krb5.path"
	if p.conf.Has(krb5) {
		file, err := p.conf.String(krb5, "")
		if err != nil {
			return err
		}

		data, err := p.readText(file)
		if err != nil {
			return submit.KeyErrorf(krb5, "%v", err)
		}

		p.r.Krb5Conf = &submit.File{Name: path.Base(p.absolute(file)), Content: data}
		p.conf.Delete(krb5)
	}
	const keytab, old = "spark.kerberos.keytab", "spark.yarn.keytab"

	key, file, ok := p.conf.Lookup(keytab)
	if !ok || strings.HasPrefix(file, "local:") {
		return nil
	}

	data, err := p.readFile(file)
	if err != nil {
		return submit.KeyErrorf(key, "%v", err)
	}

	p.r.Keytab = &submit.File{Name: path.Base(p.absolute(file)), Content: data}
	p.conf.Delete(keytab, old)
	return nil
}

// podGroup reads the file of Volcano's PodGroup if the configuration lists Spark's feature step for Volcano. Without
// this step the key has no effect, and Build warns about it.
func (p *parser) podGroup() error {
	steps, err := p.conf.List("spark.kubernetes.driver.pod.featureSteps", nil)
	if err != nil || !slices.Contains(steps, volcanoClass) {
		return err
	}

	file, ok := p.conf.Get(volcanoFileKey)
	if !ok {
		return nil
	}

	if p.r.PodGroupTemplate, err = p.readFile(file); err != nil {
		return submit.KeyErrorf(volcanoFileKey, "%v", err)
	}

	p.conf.Delete(volcanoFileKey)
	return nil
}

// hadoopConf reads every file of HADOOP_CONF_DIR (HadoopConfDriverFeatureStep).
func (p *parser) hadoopConf() error {
	const variable, key = "HADOOP_CONF_DIR", "spark.kubernetes.hadoop.configMapName"

	dir := p.submitter.Environment[variable]
	if dir == "" {
		return nil
	}

	if p.conf.Has(key) {
		return submit.KeyErrorf(key, "cannot be used together with %s of the environment; unset one of them", variable)
	}

	files, err := p.readDir(variable, dir)
	if err != nil {
		return err
	}

	if len(files) == 0 {
		p.warns.Add("%s: %s contains no files", variable, p.absolute(dir))
		return nil
	}

	p.r.HadoopConfFiles = make(map[string]string, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data, err := p.text(path.Join(p.absolute(dir), name), files[name])
		if err != nil {
			return submit.FieldErrorf(variable, "%v", err)
		}

		p.r.HadoopConfFiles[name] = string(data)
	}
	return nil
}

// confFiles reads the files of SPARK_CONF_DIR that the driver gets (KubernetesClientUtils.loadSparkConfDirFiles). Build
// decides which of them fit into a ConfigMap.
func (p *parser) confFiles() error {
	dir := p.confDir()
	if home, ok := p.conf.Get("spark.home"); ok && dir == "" {
		dir = path.Join(home, "conf")
	}

	files, err := p.readDir("SPARK_CONF_DIR", dir)
	if err != nil {
		return err
	}

	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch {
		case submit.SkipsConfFile(name):
		case !utf8.Valid(files[name]):
			p.warns.Add("SPARK_CONF_DIR: %s: is left out: it is not UTF-8 text", name)
		default:
			if p.r.ConfFiles == nil {
				p.r.ConfFiles = map[string]string{}
			}

			p.r.ConfFiles[name] = string(files[name])
		}
	}
	return nil
}

// readText reads a file whose content becomes text in a ConfigMap.
func (p *parser) readText(file string) ([]byte, error) {
	data, err := p.readFile(file)
	if err != nil {
		return nil, err
	}
	return p.text(p.absolute(file), data)
}

// text returns the content of file as text. Spark up to 4.0 decodes bytes that are not UTF-8 as U+FFFD; Spark 4.1 and
// later reject such bytes.
func (p *parser) text(file string, data []byte) ([]byte, error) {
	if utf8.Valid(data) {
		return data, nil
	}

	if p.major > 4 || p.major == 4 && p.minor >= 1 {
		return nil, fmt.Errorf("%s is not UTF-8 text, which a ConfigMap requires; convert the file to UTF-8", file)
	}

	p.warns.Add("%s: is not UTF-8 text: invalid bytes are replaced by U+FFFD", file)
	return []byte(string([]rune(string(data)))), nil
}

func (p *parser) readFile(file string) ([]byte, error) {
	if file == "" {
		return nil, errors.New("needs the path of a file")
	}

	if p.submitter.ReadFile == nil {
		return nil, errors.New("names a file, but files of the submitting machine cannot be read; write the content of the file into the application's spec instead")
	}

	data, err := p.submitter.ReadFile(p.absolute(file))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", p.absolute(file), err)
	}
	return data, nil
}

// readDir returns the files of the directory dir. If dir is empty, readDir returns no files. The error contains the
// parameter `variable`, the name of the environment variable that contains the path of the directory.
func (p *parser) readDir(variable, dir string) (map[string][]byte, error) {
	if dir == "" || p.submitter.ReadDir == nil {
		return nil, nil
	}

	files, err := p.submitter.ReadDir(p.absolute(dir))
	if err != nil {
		return nil, submit.FieldErrorf(variable, "%s cannot be read: %v", p.absolute(dir), err)
	}
	return files, nil
}
