// Package image builds the container images of the embedded Kubernetes without a container engine: the Spark image, the
// operator's image, and the two small images pause and probe.
//
// An image consists of layers. A layer is a plain tar that is written as a stream. The times, owners and order of its
// files do not depend on when or where it was built. Layers and finished archives are cached by a key of all their
// inputs. A changed script therefore rebuilds one small layer and not the whole image. Archives have the docker-archive
// format (manifest.json, configuration, layer tars), which containerd, Docker, Podman, kind and minikube load.
//
// Operating-system packages, Python packages and Go modules are fetched with the machine's own clients (apt, pip, go)
// and the configuration of these clients. This package contains no address of a registry.
package image
