package stage

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/bounds"
	sparkv1 "github.com/sparkoperator/spark-operator/api/spark/v1"
	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Staging is the part of the verb submit that puts local files where the application's pods can read them. The verb
// calls the methods in the order in which they are declared.
type Staging struct {
	// storeURL and readAs are the values of the flags.
	storeURL, readAs string
	files            *fileSet
	store            *objectStore
	uploaded         []string // keys that this submission stored
	config           *corev1.ConfigMap
}

// storeVariable is the environment variable with the default of the flag --stage.
const storeVariable = "SPARKCTL_STAGE"

// AddFlags adds the flags of the verb.
func (s *Staging) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.storeURL, "stage", "", "`url` of the store for local files: s3://BUCKET/PREFIX?region=REGION, gs://BUCKET/PREFIX, azblob://CONTAINER/PREFIX?storage_account=ACCOUNT or file:///DIRECTORY; default: $"+storeVariable+", else a ConfigMap")
	flags.StringVar(&s.readAs, "stage-as", "", "beginning of the `url` by which Spark reads the store; default: s3a://BUCKET/PREFIX, gs://BUCKET/PREFIX, abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX or local:///DIRECTORY")
}

// Prepare finds the local files of an application and changes the application so that it reads the staged files. It
// stores nothing. The callback returns the namespace in which the application will be created.
func (s *Staging) Prepare(ctx context.Context, app *v1beta2.SparkApplication, namespace func() (string, error)) (err error) {
	if s.files, err = findFiles(app); err != nil {
		return exit.With(exit.Invalid, err)
	}

	if len(s.files.Files) == 0 {
		return nil
	}

	if s.storeURL = cmp.Or(s.storeURL, os.Getenv(storeVariable)); s.storeURL == "" {
		s.config, err = s.files.useConfigMap(app)
		return exit.With(exit.Invalid, err)
	}

	if s.store, err = openStore(ctx, s.storeURL, s.readAs, true); err != nil {
		return exit.Errorf(exit.Usage, "--stage: %w", explained(err))
	}

	if app.Namespace, err = namespace(); err != nil {
		return err
	}
	return exit.With(exit.Invalid, s.store.Use(s.files, app))
}

// Describe prints where a dry run would put the files.
func (s *Staging) Describe(streams terminal.Streams) {
	where := s.storeURL
	switch {
	case len(s.files.Files) == 0:
		return
	case s.config != nil:
		where = "the ConfigMap " + s.config.Name
	}

	text := fmt.Sprintf("%s (%s) would be put into %s", bounds.Count(len(s.files.Files), "local file"), sizeText(s.files.Size()), where)
	fmt.Fprintln(streams.Err, terminal.Wrap("note: ", text, streams.Width))
}

// Upload stores the files in the object store, if there is one.
func (s *Staging) Upload(ctx context.Context, streams terminal.Streams, namespace string) (err error) {
	if s.store == nil {
		return nil
	}

	bar := progressBar{streams: streams}
	s.uploaded, err = s.store.Upload(ctx, s.files, namespace, bar.show)
	bar.end()
	return exit.With(exit.Cluster, err)
}

// Undo deletes the files that this submission stored, because its application was not created. Files that another
// application of the namespace names remain.
func (s *Staging) Undo(ctx context.Context, c client.Client, app *v1beta2.SparkApplication) error {
	if len(s.uploaded) == 0 {
		return nil
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout) // also after Ctrl-C
	defer cancel()

	remaining, err := applications(ctx, c, app.Namespace)
	if err == nil {
		_, err = s.store.remove(ctx, app, s.uploaded, remaining)
	}
	return remain(err)
}

// undoTimeout bounds the time that Undo takes.
const undoTimeout = 10 * time.Second

// Attach completes the staging after the application has been created. If the files are in a ConfigMap, Attach creates
// the ConfigMap. If they are in a store, Attach uploads missing files again, because the deletion of another
// application may have deleted them in the meantime.
func (s *Staging) Attach(ctx context.Context, c client.Client, app *v1beta2.SparkApplication) error {
	if s.store != nil {
		_, err := s.store.Upload(ctx, s.files, app.Namespace, func(*localFile, int64, bool) {})
		return exit.With(exit.Cluster, err)
	}

	if s.config == nil {
		return nil
	}

	if err := ensureConfigMap(ctx, c, s.config, app); err != nil {
		return exit.Errorf(exit.Cluster, "the local files were not put into ConfigMap %s, so the driver does not start; delete the application and submit it again: %w",
			s.config.Name, err)
	}
	return nil
}

// Close releases the connections of the store.
func (s *Staging) Close() {
	if s.store != nil {
		_ = s.store.Close() // nothing is written any more
	}
}

// HasFiles reports whether the store has files that the verb submit has put there for an application.
func HasFiles(app client.Object) bool { return app.GetAnnotations()[filesAnnotation] != "" }

// Unstage deletes the files of a deleted object from the store into which the verb submit has put them.
func Unstage(ctx context.Context, c client.Client, object client.Object) error {
	if !HasFiles(object) {
		return nil
	}

	remaining, err := applications(ctx, c, object.GetNamespace())
	if err == nil {
		_, err = removeFiles(ctx, object, remaining)
	}
	return remain(err)
}

// applications returns the applications of a namespace, of both APIs: sparkctl convert keeps the annotation. An API
// that the cluster does not have, or of which the user may not list the applications, is left out.
func applications(ctx context.Context, c client.Client, namespace string) (found []client.Object, err error) {
	for _, list := range []client.ObjectList{&v1beta2.SparkApplicationList{}, &sparkv1.SparkApplicationList{}} {
		err := c.List(ctx, list, client.InNamespace(namespace))
		if exit.NoDefinition(err) || apierrors.IsForbidden(err) {
			continue
		}

		if err != nil {
			return nil, err
		}

		err = meta.EachListItem(list, func(item runtime.Object) error {
			found = append(found, item.(client.Object))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// remain wraps an error in a message that the staged files remain in the store.
func remain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the staged files remain in the store: %w", err)
}
