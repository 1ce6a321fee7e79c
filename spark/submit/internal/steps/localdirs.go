package steps

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sparkoperator/spark-operator/spark/conf"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/draft"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/names"
)

const localDirPrefix = "spark-local-dir-"

// maxLocalDirs is the maximum number of local directories of a pod. Each directory needs a volume.
const maxLocalDirs = 500

// LocalDirs adds a pod's scratch directories (LocalDirsFeatureStep). These are the mounted volumes whose names have
// the prefix for local directories or, if there are none, an emptyDir for each directory of the configuration. The
// directories keep the user's order, whereas Spark 3.x shuffles them.
func LocalDirs(d *draft.Draft) error {
	var dirs []string
	for _, m := range d.Spark.VolumeMounts {
		if strings.HasPrefix(m.Name, localDirPrefix) {
			dirs = append(dirs, m.MountPath)
		}
	}

	if len(dirs) == 0 {
		list := localDirs(d)
		if len(list) > maxLocalDirs {
			return submit.KeyErrorf("spark.local.dir", "names %d directories; the limit is %d", len(list), maxLocalDirs)
		}

		tmpfs, err := d.Conf.Bool("spark.kubernetes.local.dirs.tmpfs", false)
		if err != nil {
			return err
		}

		medium := corev1.StorageMediumDefault
		if tmpfs {
			medium = corev1.StorageMediumMemory
		}

		for i, dir := range list {
			d.Mount(corev1.Volume{Name: fmt.Sprint(localDirPrefix, i+1), VolumeSource: corev1.VolumeSource{
				EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium},
			}}, corev1.VolumeMount{MountPath: dir})
		}

		dirs = list
	}

	d.AddEnv("SPARK_LOCAL_DIRS", strings.Join(dirs, ","))
	return nil
}

func localDirs(d *draft.Draft) []string {
	text := d.Request.Environment["SPARK_LOCAL_DIRS"]
	if text == "" {
		// Spark reads this key without replacing references.
		text, _ = d.Conf.Get("spark.local.dir")
	}

	if text == "" {
		text = "/var/data/spark-" + names.LocalDirUUID(d.Request.AppID)
	}
	return conf.SplitList(text)
}
