package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// pinned is the label that excludes an image from the kubelet's garbage collection.
const pinned = "io.cri-containerd.pinned=pinned"

// Load imports the images in the given tars into the cluster in dir. It calls step after each tar.
func Load(ctx context.Context, dir string, tars []string, step func(name string, took time.Duration)) error {
	spec, err := ReadSpec(dir)
	if err != nil {
		return err
	}

	if spec == nil {
		return fmt.Errorf("no cluster in %s: start one with `sparklocal up`", dir)
	}

	if spec.Node == nil {
		return fmt.Errorf("the cluster in %s has no node, so it cannot run images: start one without --control-plane-only", dir)
	}

	for _, tar := range tars {
		if _, err := os.Stat(tar); err != nil {
			return fmt.Errorf("image: %w", err)
		}

		began := time.Now()

		if err := spec.load(ctx, tar); err != nil {
			return err
		}

		step(filepath.Base(tar), time.Since(began))
	}
	return nil
}

// load imports the images of a tar and pins them. If the container runtime already has all of these images, load only
// gives them the names in the tar, because another import of a Spark image would take long.
func (s *Spec) load(ctx context.Context, tar string) error {
	names, err := s.nameLoadedImages(ctx, tar)
	if err != nil {
		return err
	}

	if names == nil {
		out, err := s.ctr(ctx, "images", "import", tar)
		if err != nil {
			return err
		}

		names = parseImport(out)
	}

	for _, name := range names {
		if _, err := s.ctr(ctx, "images", "label", name, pinned); err != nil {
			return err
		}
	}
	return nil
}

// nameLoadedImages handles a tar whose images the container runtime already has. It gives these images the names in the
// tar, and returns the names. It returns nil if the container runtime lacks an image of the tar, or if the tar does not
// have the format of docker save.
func (s *Spec) nameLoadedImages(ctx context.Context, tar string) ([]string, error) {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(tar) })
	if err != nil {
		// The tar has another format or is broken. If it is broken, the import returns the error.
		return nil, nil //nolint:nilerr // see above
	}

	out, err := s.ctr(ctx, "images", "ls")
	if err != nil {
		return nil, err
	}

	have := parseImageList(out)

	var names []string
	for _, m := range manifest {
		// The CRI plugin of containerd also names each image by the digest of its configuration.
		id := "sha256:" + digestPattern.FindString(m.Config)

		target, ok := have[id]
		if !ok || len(m.RepoTags) == 0 {
			return nil, nil
		}

		for _, name := range m.RepoTags {
			names = append(names, name)
			if have[name] == target {
				continue
			}

			if _, err := s.ctr(ctx, "images", "tag", "--force", id, name); err != nil {
				return nil, err
			}
		}
	}
	return names, nil
}

var digestPattern = regexp.MustCompile(`[0-9a-f]{64}`)

// parseImageList parses the output of `ctr images ls`. It returns the digest of the manifest for each image name.
func parseImageList(out string) map[string]string {
	have := map[string]string{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) >= 3 && strings.HasPrefix(fields[2], "sha256:") {
			have[fields[0]] = fields[2]
		}
	}
	return have
}

// parseImport returns the image names in the output of `ctr images import`. A line with an image has this form:
//
//	unpacking NAME (sha256:...)...done
func parseImport(out string) []string {
	var names []string
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "unpacking" {
			names = append(names, fields[1])
		}
	}
	return names
}

func (s *Spec) ctr(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "ctr", append([]string{"--address", s.Node.containerdSocket(), "--namespace", "k8s.io"}, args...)...)
	cmd.Env = s.environment()

	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}
