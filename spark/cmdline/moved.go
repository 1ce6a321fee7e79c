package cmdline

import (
	"regexp"
	"strings"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// otherCluster matches the masters of YARN and of standalone clusters.
var otherCluster = regexp.MustCompile(`^(yarn|yarn-client|yarn-cluster|spark://.*)$`)

// yarnKeys maps keys of YARN to those of Kubernetes with the same meaning. The values of lists are joined. A key that
// ends with a dot is a prefix.
var yarnKeys = [][2]string{
	{"spark.yarn.appMasterEnv.", "spark.kubernetes.driverEnv."},
	{"spark.yarn.dist.files", "spark.files"},
	{"spark.yarn.dist.jars", "spark.jars"},
	{"spark.yarn.dist.archives", "spark.archives"},
}

// keptYarnKeys are old names of keys that Spark still reads.
var keptYarnKeys = regexp.MustCompile(`^spark\.yarn\.((driver|executor)\.memoryOverhead|principal|keytab|access\..*|kerberos\..*)$`)

// move turns a command line for YARN or a standalone cluster into one for Kubernetes' cluster mode. A warning names
// each setting that does not carry over.
func (p *parser) move() {
	raw, _ := p.conf.Get(masterKey)
	if !p.submitter.AnyCluster || !otherCluster.MatchString(raw) {
		return
	}

	p.warns.Add("--master: %s has no effect: the application runs on Kubernetes", redactedAddress(masterKey, raw))
	p.conf.Set(masterKey, submit.DefaultMaster)

	if mode, _ := p.conf.Get(deployModeKey); mode != "cluster" {
		p.warns.Add("--deploy-mode: the driver runs in the cluster, and not on this machine as in client mode")
		p.conf.Set(deployModeKey, "cluster")
	}

	for _, keys := range yarnKeys {
		for rest, value := range p.conf.Clone().WithPrefix(keys[0]) {
			key := keys[1] + rest
			if own, set := p.conf.Get(key); set && rest == "" {
				value = own + "," + value
			}

			p.conf.Set(key, value)
			p.conf.Delete(keys[0] + rest)
		}
	}

	for _, key := range p.conf.Keys() {
		if strings.HasPrefix(key, "spark.yarn.") && !keptYarnKeys.MatchString(key) {
			p.conf.Delete(key)
			p.warns.Add("%s: has no effect: only YARN reads it", conf.Shorten(key))
		}
	}

	const shuffle = "spark.shuffle.service.enabled"
	if on, _ := p.conf.Get(shuffle); strings.EqualFold(on, "true") {
		p.conf.Delete(shuffle)
		p.conf.SetIfMissing("spark.dynamicAllocation.shuffleTracking.enabled", "true")
		p.warns.Add("%s: has no effect: Kubernetes has no shuffle service; spark.dynamicAllocation.shuffleTracking.enabled replaces it", shuffle)
	}
}
