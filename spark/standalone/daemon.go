package standalone

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// prelude is the beginning of both scripts. It reads the files that Spark's own start scripts read, and sets a locale
// if there is none, since text beyond ASCII would be lost otherwise. It contains no text from the user, and no "$(" or
// "$$", which Kubernetes would expand.
const prelude = `: "${SPARK_HOME:=/opt/spark}"
export SPARK_HOME
[ -n "$LC_ALL$LC_CTYPE$LANG" ] || export LC_ALL=C.UTF-8
[ ! -f "$SPARK_HOME/sbin/spark-config.sh" ] || . "$SPARK_HOME/sbin/spark-config.sh"
[ ! -f "$SPARK_HOME/bin/load-spark-env.sh" ] || . "$SPARK_HOME/bin/load-spark-env.sh"
init=
if command -v tini >/dev/null; then init="tini -s --"; fi
`

// masterScript executes the master. The argument $1 is the master's port, $2 is the port of its web UI. The script sets
// the master's host name as sbin/start-master.sh would.
const masterScript = prelude + `unset SPARK_MASTER_PORT SPARK_MASTER_WEBUI_PORT
exec $init "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.master.Master --host "${SPARK_MASTER_HOST:-` + "`hostname -f 2>/dev/null || hostname`" + `}" --port "$1" --webui-port "$2"
`

// workerScript executes a worker. The argument $1 is the master's URL, $2 is the port of the worker's web UI. The
// script unsets SPARK_WORKER_PORT if its value is not a number, because Kubernetes sets a variable of this name to an
// address if there is a Service named spark-worker.
const workerScript = prelude + `unset SPARK_WORKER_WEBUI_PORT
case "$SPARK_WORKER_PORT" in *[!0-9]*) unset SPARK_WORKER_PORT ;; esac
exec $init "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.worker.Worker --webui-port "$2" "$1"
`

// port is a port of a daemon. If known is false, the number is only the default, and Spark chooses the daemon's actual
// port when it starts.
type port struct {
	name   string
	number int32
	known  bool
}

// daemon sets command, arguments, options, ports and readiness probe of the container, so that the container runs its
// daemon.
func (d *draft) daemon(m *member) error {
	c := m.container()
	var script string
	var args []string
	var ports []port
	var probed port

	options := "SPARK_WORKER_OPTS"
	if m.role == RoleMaster {
		options = "SPARK_MASTER_OPTS"
		web, rest := d.port(portWeb, masterUIKey, masterUIPort), d.port(portREST, restKey, restPort)
		probed = port{portSpark, masterPort, true}
		ports = []port{web, probed, rest}
		script, args = masterScript, []string{strconv.Itoa(masterPort), strconv.Itoa(int(web.number))}
	} else {
		probed = d.port(portWeb, workerUIKey, workerUIPort)
		ports = []port{probed}
		script, args = workerScript, []string{masterURL(d.r.Name), strconv.Itoa(int(probed.number))}

		addEnv(c, "SPARK_LOG_DIR", "/opt/spark/work/logs")
	}

	d.warnEnv(m)
	d.addOptions(c, options)
	c.Command = append(slices.Clip(c.Command), "bash")

	c.Args = append(slices.Clip(c.Args), append([]string{"-c", script, m.role}, args...)...)
	for _, p := range ports {
		if err := addPort(m, c, p); err != nil {
			return err
		}
	}

	if c.ReadinessProbe == nil && probed.known {
		c.ReadinessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(probed.number)}},
			PeriodSeconds: 5, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	return nil
}

// ChangesCommand reports whether a template adds to the command or to the arguments that Build gives to the container
// of a daemon.
func ChangesCommand(c *corev1.Container) bool { return len(c.Command) != 1 || len(c.Args) != 5 }

// port returns the port that the key sets, or the default number if the key is not set or is not a fixed port.
func (d *draft) port(name, key string, number int32) port {
	text, ok := d.conf.Get(key)
	if !ok {
		return port{name, number, true}
	}

	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	if err != nil || n == 0 {
		d.warns.OfKey(key, "is not a fixed port from 1 to 65535; the Service leads to port %d", number)
		return port{name, number, false}
	}
	return port{name, int32(n), true}
}

// addEnv adds a variable unless the template has a variable of that name.
func addEnv(c *corev1.Container, name, value string) {
	if envOf(c, name) == nil {
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value})
	}
}

// addOptions appends arguments that name the option files to the variable with the daemon's options (SPARK_MASTER_OPTS
// or SPARK_WORKER_OPTS). The configuration in these files overrides the template's options, because the JVM uses the
// last occurrence of an option. If the template sets the variable from a source (valueFrom), addOptions moves the
// source to the variable SPARK_TEMPLATE_OPTS, and the daemon's variable refers to it.
func (d *draft) addOptions(c *corev1.Container, name string) {
	const from = "SPARK_TEMPLATE_OPTS"

	e := envOf(c, name)
	switch {
	case e == nil:
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: d.optionFiles()})
	case e.ValueFrom != nil:
		e.Name = from
		c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: "$(" + from + ") " + d.optionFiles()})
	default:
		e.Value = strings.TrimSpace(e.Value + " " + d.optionFiles())
	}
}

// ignoredEnv maps each role to the environment variables that Spark's start scripts read but the scripts of this
// package ignore. Each variable is mapped to the end of a warning, which gives the reason or the alternative.
var ignoredEnv = map[string]map[string]string{
	RoleMaster: {"SPARK_MASTER_PORT": "the Service always has port 7077", "SPARK_MASTER_WEBUI_PORT": "set " + masterUIKey},
	RoleWorker: {"SPARK_WORKER_WEBUI_PORT": "set " + workerUIKey, "SPARK_WORKER_INSTANCES": "each pod is one worker; use more workers"},
}

func (d *draft) warnEnv(m *member) {
	for _, e := range m.container().Env {
		if instead, ok := ignoredEnv[m.role][e.Name]; ok {
			d.warns.OfField(m.field, "variable %s of container %s has no effect: %s", e.Name, m.role, instead)
		}
	}
}

// addPort declares a port unless the template already declares it under the same name.
func addPort(m *member, c *corev1.Container, p port) error {
	for _, have := range c.Ports {
		tcp := have.Protocol == "" || have.Protocol == corev1.ProtocolTCP
		switch {
		case have.Name == p.name && (have.ContainerPort != p.number || !tcp):
			return fieldError(m.field+".template.spec.containers", "ports of container %s: %q is port %d of the daemon; give the other port another name", c.Name, p.name, p.number)
		case have.ContainerPort == p.number && tcp && have.Name != p.name:
			return fieldError(m.field+".template.spec.containers", "ports of container %s: the Service finds port %d of the daemon by the name %q; use that name, or remove the port",
				c.Name, p.number, p.name)
		case have.Name == p.name:
			return nil
		}
	}

	c.Ports = append(c.Ports, corev1.ContainerPort{Name: p.name, ContainerPort: p.number, Protocol: corev1.ProtocolTCP})
	return nil
}
