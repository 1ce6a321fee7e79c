// Package image builds the container images of sparklocal's clusters without a container engine: the Spark image, the
// operator's image, and the two small images pause and probe.
//
// An image consists of layers. A layer is a plain tar, which is written as a stream. The times, owners and order of the
// files in a layer do not depend on when or where the layer is built. Layers and finished archives are cached by a key,
// which is a hash of all their inputs. A changed script therefore rebuilds one small layer and not the whole image.
// Archives have the docker-archive format (manifest.json, configuration, layer tars), which containerd, Docker, Podman,
// kind and minikube load.
//
// Operating-system packages, Python packages and Go modules are fetched with the machine's own clients (apt, pip, go)
// and the configuration of these clients. This package contains no address of a registry.
package image
