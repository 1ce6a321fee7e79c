package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sparkoperator/spark-operator/internal/config/peer"
	"github.com/sparkoperator/spark-operator/internal/operator"
	"github.com/sparkoperator/spark-operator/internal/telemetry"
)

type startOptions struct {
	config     string
	kubeconfig string
	flags      peer.Flags
}

func startController(ctx context.Context, options *startOptions, stderr io.Writer) error {
	cfg, unused, err := options.flags.Load(options.config)
	if err != nil {
		return err
	}
	log, err := telemetry.NewLogger(stderr, cfg.Logging.Level, cfg.Logging.Format)
	if err != nil {
		return err
	}
	useLogger(log)
	tellUnused(log, unused, os.LookupEnv)
	if cfg.Logging.Configuration {
		log.Info("the configuration", "configuration", cfg.String())
	}
	for _, doubt := range cfg.Doubts() {
		log.Error(doubt, "the configuration asks for what will not work; everything else does")
	}
	rc, err := restConfig(options.kubeconfig)
	if err != nil {
		return err
	}
	log.Info("starting", "version", currentVersion().version, "revision", currentVersion().revision,
		"namespaces", cfg.Namespaces.Names, "namespaceSelector", cfg.Namespaces.Selector, "leaderElection", *cfg.LeaderElection.Enabled, "apiServer", rc.Host)
	op, err := operator.NewOperator(ctx, cfg, operator.Environment{
		Rest: rc, Log: log, Registerer: ctrlmetrics.Registry, Version: currentVersion().version, CPU: usedCPU, Hogs: (&cores{}).spread,
	})
	if err != nil {
		return err
	}
	if err := op.Start(ctx); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// tellUnused says once what of other operators' flags, properties and environment was given and has no effect. Values are not told.
func tellUnused(log logr.Logger, given []peer.Unused, environment func(string) (string, bool)) {
	for _, one := range given {
		if one.Property {
			log.Info("a property has no effect", "property", one.Name, "why", one.Why)
			continue
		}
		log.Info("a flag has no effect", "flag", "--"+one.Name, "why", one.Why)
	}
	for _, name := range slices.Sorted(maps.Keys(peer.IgnoredEnvironment)) {
		if value, found := environment(name); found && value != "" {
			log.Info("an environment variable has no effect", "variable", name, "why", peer.IgnoredEnvironment[name])
		}
	}
}

// useLogger makes one log of ours and of the libraries'.
func useLogger(log logr.Logger) {
	ctrllog.SetLogger(log)
	klog.SetLogger(log.WithName("client-go"))
	slog.SetDefault(slog.New(logr.ToSlogHandler(log)))
}

// restConfig finds the API server: the file that is named, else those of KUBECONFIG, else the pod's service account.
func restConfig(path string) (*rest.Config, error) {
	if path == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("not in a cluster, and neither --kubeconfig nor KUBECONFIG is given: %w", err)
		}
		return rc, nil
	}
	files := clientcmd.NewDefaultClientConfigLoadingRules()
	files.ExplicitPath = path
	rc, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(files, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return rc, nil
}
