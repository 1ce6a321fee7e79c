package connect

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
)

// The default ports of a server and their names. The configuration can change the ports of the server, but not the
// ports of its Services: the Service for clients always has the port ServerPort, and the Service of the web UI always
// has the port UIPort.
const (
	DriverPort       = 7078
	BlockManagerPort = 7079
	UIPort           = 4040
	ServerPort       = 15002

	DriverPortName       = "driver-rpc"
	BlockManagerPortName = "blockmanager"
	UIPortName           = "web-ui"
	serverPortName       = "spark-connect-server"
)

const (
	driverPortKey       = "spark.driver.port"
	blockManagerPortKey = "spark.driver.blockManager.port"
	uiPortKey           = "spark.ui.port"
	serverPortKey       = "spark.connect.grpc.binding.port"
)

// innerPorts is the number of ports that only the server's executors use. The result of portsOf begins with these
// ports.
const innerPorts = 2

// port is one of the four ports of a server.
type port struct {
	key string
	// service is the number and name is the name of the Service's port. container is the name of the container's port,
	// which has at most 15 characters.
	service         int32
	name, container string
	// protocol is the Service's appProtocol.
	protocol string
	// number is the port on which the server listens.
	number int32
}

// portsOf returns the ports on which a server listens: the ports that the user set, or the defaults. The result begins
// with the ports that only executors use, followed by the ports of the web UI and of clients. portsOf returns an error
// for duplicate ports, and for the port zero (any port), which neither a Service nor a probe could find.
func portsOf(c *conf.Conf) ([]port, error) {
	ports := []port{
		{key: driverPortKey, service: DriverPort, name: DriverPortName, container: DriverPortName, protocol: "tcp"},
		{key: blockManagerPortKey, service: BlockManagerPort, name: BlockManagerPortName, container: BlockManagerPortName, protocol: "tcp"},
		{key: uiPortKey, service: UIPort, name: UIPortName, container: UIPortName, protocol: "http"},
		{key: serverPortKey, service: ServerPort, name: serverPortName, container: "spark-connect", protocol: "grpc"},
	}

	taken := map[int32]string{}
	for i := range ports {
		p := &ports[i]

		n, err := c.Int(p.key, int(p.service))
		if err != nil {
			return nil, submit.AsError(err)
		}

		if n < 1 || n > 65535 {
			return nil, submit.KeyErrorf(p.key, "should be a port from 1 to 65535, but is %s", conf.Quote(p.key, strconv.Itoa(n)))
		}

		p.number = int32(n)
		if other, ok := taken[p.number]; ok {
			return nil, submit.KeyErrorf(p.key, "is port %d, which %s already uses", n, other)
		}

		taken[p.number] = p.key
	}
	return ports, nil
}

// addPorts adds the server's ports to the ports of the container, which come from the pod template. It omits a port if
// the container already has a TCP port with this number. It omits only the port's name if another port of the container
// has that name.
func addPorts(c *corev1.Container, ports []port) {
	declared, named := map[int32]bool{}, map[string]bool{}
	for _, p := range c.Ports {
		if cmp.Or(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
			declared[p.ContainerPort] = true
		}

		named[p.Name] = true
	}

	for _, p := range ports {
		if declared[p.number] {
			continue
		}

		add := corev1.ContainerPort{Name: p.container, ContainerPort: p.number, Protocol: corev1.ProtocolTCP}
		if named[add.Name] {
			add.Name = ""
		}

		c.Ports = append(c.Ports, add)
	}
}

// uiPort returns the port of the web UI.
func uiPort(ports []port) port { return ports[innerPorts] }

// serverPort returns the number of the port for clients.
func serverPort(ports []port) int32 { return ports[len(ports)-1].number }
