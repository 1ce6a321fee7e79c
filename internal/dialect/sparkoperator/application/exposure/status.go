package exposure

import (
	"strconv"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
	"github.com/sparkoperator/spark-operator/internal/dialect/sparkoperator"
	"github.com/sparkoperator/spark-operator/internal/lifecycle"
)

// driverInfo returns a copy of the driver info in the status (the argument known), with the current Service, address
// and link of the UI. It computes them from the argument live, which contains the existing auxiliary objects.
func driverInfo(e *sparkoperator.Exposure, known v1beta2.DriverInfo, live []lifecycle.AuxiliaryObject) v1beta2.DriverInfo {
	info := withoutUI(known)
	if service := dialect.FindObject(live, "Service", e.Service); service != nil && service.Current {
		info.WebUIServiceName, info.WebUIPort = e.Service, e.Port
		switch {
		case service.Address != "":
			info.WebUIAddress = hostPort(service.Address, e.Port)
		case known.WebUIServiceName == e.Service && known.WebUIPort == e.Port:
			info.WebUIAddress = known.WebUIAddress
		}
	}

	for _, link := range e.Links {
		if made := dialect.FindObject(live, link.Kind, link.Name); made != nil && made.Current {
			info.WebUIIngressName, info.WebUIIngressAddress = link.Name, link.Address.String()
			break
		}
	}
	return info
}

func withoutUI(info v1beta2.DriverInfo) v1beta2.DriverInfo {
	info.WebUIServiceName, info.WebUIPort, info.WebUIAddress, info.WebUIIngressName, info.WebUIIngressAddress = "", 0, "", "", ""
	return info
}

func hostPort(host string, port int32) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // IPv6
	}
	return host + ":" + strconv.Itoa(int(port))
}
