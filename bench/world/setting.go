package world

import "fmt"

// Setting says in a paragraph what in a world is as in a cluster and what is not, for those who read its figures. nodes is how many are played.
func Setting(nodes int) string {
	return fmt.Sprintf("The operator runs as its chart installs it: one replica, which is elected, logs what happens (`info`), and has no limit on its requests a second; but as a process "+
		"beside the others, without a limit of CPU or memory, with its profiles served, which costs nothing until somebody asks for one, and with its metrics read once in %.0f s "+
		"while it is measured (a Prometheus asks every 15 to 60 s), which costs it 3 ms of CPU each time. The control plane differs from most: its "+
		"controller manager and scheduler may send 1,000 requests a second where Kubernetes' defaults are 20 and 50, as those would bind 8 applications of six pods a second and hide what "+
		"is measured; API server and etcd are one of each, on the same disk, and etcd does not wait for it (--unsafe-no-fsync), so that absolute figures are better than a cluster's; "+
		"all actors are administrators, whom priority and fairness do not hold up; the API server writes an audit log, with the bodies of writes where those are made again, which is a "+
		"part of its CPU. All pods lie on %d nodes, which are simulated: they are real objects that real controllers act on, and nothing runs in them.", depthEvery.Seconds(), nodes)
}
