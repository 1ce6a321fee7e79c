package stage

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/cli/exit"
	"github.com/sparkoperator/spark-operator/internal/cli/terminal"
)

// Staging is the part of the verb submit that puts local files where the application's pods can read them. The verb
// calls the methods in the order in which they are declared.
type Staging struct {
	// storeURL and readAs are the values of the flags.
	storeURL, readAs string
	files            *Set
	store            *Store
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
// stores nothing. The function namespace returns the namespace in which the application will be created.
func (s *Staging) Prepare(ctx context.Context, app *v1beta2.SparkApplication, namespace func() (string, error)) (err error) {
	if s.files, err = Find(app); err != nil {
		return exit.Errorf(exit.Invalid, "%w; name a file of this machine, local:///PATH for a file of the image, or a URL that the driver can read", err)
	}
	if len(s.files.Files) == 0 {
		return nil
	}
	if s.storeURL = cmp.Or(s.storeURL, os.Getenv(storeVariable)); s.storeURL == "" {
		s.config, err = s.files.UseConfigMap(app)
		return exit.With(exit.Invalid, err)
	}
	if s.store, err = Open(ctx, s.storeURL, s.readAs); err != nil {
		return exit.Errorf(exit.Usage, "--stage: %w", err)
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
	text := fmt.Sprintf("%d local files (%s) would be put into %s", len(s.files.Files), Bytes(s.files.Size()), where)
	fmt.Fprintln(streams.Err, terminal.Wrap("note: ", text, streams.Width))
}

// Upload stores the files in the object store, if there is one.
func (s *Staging) Upload(ctx context.Context, streams terminal.Streams, namespace string) error {
	if s.store == nil {
		return nil
	}
	bar := progressBar{streams: streams}
	return exit.With(exit.Cluster, s.store.Upload(ctx, s.files, namespace, bar.show))
}

// Attach creates the ConfigMap of a created application, if it has one.
func (s *Staging) Attach(ctx context.Context, c client.Client, app *v1beta2.SparkApplication) error {
	if s.config == nil {
		return nil
	}
	if err := EnsureConfigMap(ctx, c, s.config, app); err != nil {
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

// progressBar shows the progress of uploads: one line for each file, which is drawn again on a terminal.
type progressBar struct {
	streams terminal.Streams
	drawn   int // per cent
}

// barWidth is the number of columns of the bar.
const barWidth = 20

// show is a Progress.
func (b *progressBar) show(f *File, stored int64, existed bool) {
	name, size := f.Name(), Bytes(f.Size)
	switch {
	case existed:
		fmt.Fprintf(b.streams.Err, "%s (%s) is in the store\n", name, size)
	case b.streams.Width == 0:
		if stored == f.Size {
			fmt.Fprintf(b.streams.Err, "%s (%s) stored\n", name, size)
		}
	default:
		percent := int(100 * stored / max(1, f.Size))
		if percent == b.drawn && stored < f.Size {
			return
		}
		b.drawn = percent
		full := barWidth * percent / 100
		end := ""
		if stored == f.Size {
			end = "\n"
			b.drawn = 0
		}
		fmt.Fprintf(b.streams.Err, "\r%s%s %3d%% %s (%s)%s", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), percent, name, size, end)
	}
}

// Unstage deletes the files of a deleted object from the store into which the verb submit has put them.
func Unstage(ctx context.Context, c client.Client, object client.Object) error {
	app, ok := object.(*v1beta2.SparkApplication)
	if !ok || app.Annotations[Annotation] == "" {
		return nil
	}
	var list v1beta2.SparkApplicationList
	err := c.List(ctx, &list, client.InNamespace(app.Namespace))
	if err == nil {
		remaining := make([]*v1beta2.SparkApplication, len(list.Items))
		for i := range list.Items {
			remaining[i] = &list.Items[i]
		}
		_, err = Remove(ctx, app, remaining)
	}
	if err != nil {
		return fmt.Errorf("the staged files remain in the store: %w", err)
	}
	return nil
}
