// Package image makes the container images of the embedded Kubernetes without a container engine: the Spark image, the operator's image, and
// two small ones, pause and probe.
//
// An image is a stack of layers and a layer is a plain tar, written as a stream, whose times, owners and order do not depend on when or
// where it was made. Layers and finished archives are kept below a cache directory under a key made of everything they were made from, so a
// changed script makes one small layer again and not the whole image. Archives are in the docker-archive form (manifest.json, configuration,
// layer tars), which containerd, Docker, Podman, kind and minikube load.
//
// Operating-system packages, Python packages and Go modules come through the machine's own clients (apt, pip, go) and their configuration.
// No address of a registry is written here.
package image
