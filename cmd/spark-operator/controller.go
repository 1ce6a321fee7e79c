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

	"github.com/sparkoperator/spark-operator/internal/ground/goruntime"
	"github.com/sparkoperator/spark-operator/internal/ground/telemetry"
	"github.com/sparkoperator/spark-operator/internal/process/operator"
	"github.com/sparkoperator/spark-operator/internal/settings/config/peer"
)

type startOptions struct {
	config     string
	kubeconfig string
	flags      peer.Flags
}

func startController(ctx context.Context, options *startOptions, stderr io.Writer) error {
	goSettings, err := goruntime.Set()
	if err != nil {
		return err
	}

	cfg, unused, err := options.flags.Load(options.config)
	if err != nil {
		return err
	}

	log, err := telemetry.NewLogger(stderr, cfg.Logging.Level, cfg.Logging.Format)
	if err != nil {
		return err
	}

	useLogger(log)
	logUnused(log, unused, os.LookupEnv)

	if cfg.Logging.Configuration {
		log.Info("Configuration", "configuration", cfg.String())
	}

	for _, warning := range cfg.Warnings() {
		log.Error(warning, "A setting of the configuration has no effect; all others are in effect")
	}

	rc, err := restConfig(options.kubeconfig)
	if err != nil {
		return err
	}

	log.Info("Starting", "version", currentVersion().version, "revision", currentVersion().revision,
		"namespaces", cfg.Namespaces.Names, "namespaceSelector", cfg.Namespaces.Selector,
		"leaderElection", *cfg.LeaderElection.Enabled, "apiServer", rc.Host,
		"maxProcs", goSettings.MaxProcs, "gcPercent", goSettings.GCPercent, "heapReserveMiB", goSettings.HeapReserveMiB)

	op, err := operator.NewOperator(ctx, cfg, operator.Environment{
		Rest: rc, Log: log, Registerer: ctrlmetrics.Registry, Version: currentVersion().version,
	})
	if err != nil {
		return err
	}

	if err := op.Start(ctx); err != nil {
		return err
	}

	log.Info("Stopped")
	return nil
}

// logUnused logs settings of other operators that this operator accepts but that have no effect: flags, properties and
// environment variables. It does not log their values, which may be secrets.
func logUnused(log logr.Logger, given []peer.Unused, environment func(string) (string, bool)) {
	for _, setting := range given {
		if setting.Property {
			log.Info("Property has no effect, or not the whole effect", "property", setting.Name, "why", setting.Why)
			continue
		}

		log.Info("Flag has no effect", "flag", "--"+setting.Name, "why", setting.Why)
	}

	for _, name := range slices.Sorted(maps.Keys(peer.IgnoredEnvironment)) {
		if value, found := environment(name); found && value != "" {
			log.Info("Environment variable has no effect", "variable", name, "why", peer.IgnoredEnvironment[name])
		}
	}
}

// useLogger sends the logs of the libraries to the operator's log.
func useLogger(log logr.Logger) {
	ctrllog.SetLogger(log)
	klog.SetLogger(log.WithName("client-go"))
	slog.SetDefault(slog.New(logr.ToSlogHandler(log)))
}

// restConfig returns the configuration for access to the API server. It reads the kubeconfig file at path. If path is
// empty, it reads the file that the variable KUBECONFIG names. Without this variable, it uses the pod's service
// account.
func restConfig(path string) (*rest.Config, error) {
	if path == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		rc, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("the operator does not run in a cluster, and neither --kubeconfig nor KUBECONFIG is set: %w", err)
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
