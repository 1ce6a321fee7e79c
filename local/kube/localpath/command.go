// Package localpath provisions PersistentVolumes as directories on the cluster's only node.
package localpath

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

// NewCommand returns the program local-path-provisioner. It runs until SIGTERM.
func NewCommand() *cobra.Command {
	var kubeconfig, dir, node string
	cmd := &cobra.Command{
		Use:          "local-path-provisioner",
		Short:        "Provision PersistentVolumes from a directory of the node",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("kubeconfig: %w", err)
			}

			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("kubeconfig: %w", err)
			}

			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("directory of volumes: %w", err)
			}

			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return run(ctx, client, dir, node)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "path of the kubeconfig for the API server")
	flags.StringVar(&dir, "dir", "", "directory of the node that holds one subdirectory for each volume")
	flags.StringVar(&node, "node", "", "name of the node that has the directory")
	return cmd
}

// run creates and deletes volumes until the context ends.
func run(ctx context.Context, client kubernetes.Interface, dir, node string) error {
	factory := informers.NewSharedInformerFactory(client, 10*time.Minute)
	core := factory.Core().V1()
	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()

	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})

	p := &provisioner{
		client: client, dir: dir, node: node,
		claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		classes: factory.Storage().V1().StorageClasses().Lister(),
		events:  broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "local-path-provisioner"}),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[item](100*time.Millisecond, 30*time.Second)),
	}
	for kind, informer := range map[kind]cache.SharedIndexInformer{
		claim: core.PersistentVolumeClaims().Informer(), volume: core.PersistentVolumes().Informer(),
	} {
		if _, err := informer.AddEventHandler(p.enqueue(kind)); err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
	}

	factory.Start(ctx.Done())

	for informer, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("initial list of %v: %w", informer, ctx.Err())
		}
	}
	go func() {
		<-ctx.Done()
		p.queue.ShutDown()
	}()
	// One worker suffices. Two could create the same volume twice.
	for p.next(ctx) {
	}
	return nil
}
