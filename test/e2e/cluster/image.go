package cluster

// The name under which `sparklocal image operator` makes the operator's image.
const (
	ImageRegistry   = "docker.io"
	ImageRepository = "sparkoperator/spark-operator"
	ImageTag        = "dev"
)
